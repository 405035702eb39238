#include "app/record/python_functions.h"

#include "app/record/find_function.h"
#include "app/record/hidden_calls.h"
#include "app/record/messages.h"
#include "app/record/module_calls.h"
#include "app/record/phases.h"
#include "app/record/plugin_functions.h"
#include "app/record/python_api.h"
#include "app/record/python_calls.h"
#include "app/record/python_ends.h"
#include "app/record/python_frames.h"
#include "app/record/python_stacks.h"
#include "app/record/recorder.h"
#include "app/record/torch_probe.h"
#include "core/base/mutex.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace tilescope::record {

namespace {

/// The functions of Python's C API that are used. PyObject* is void* here.
struct Api {
    void* (*newBool)(long value) = nullptr;
    int (*parse)(void* tuple, const char* format, ...) = nullptr;
    void* (*newNumber)(unsigned long long value) = nullptr;
    unsigned long long (*numberOf)(void* number) = nullptr;
    const char* (*textOf)(void* text, std::ptrdiff_t* bytes) = nullptr;
    void* (*giveLock)() = nullptr;
    void (*takeLock)(void* thread) = nullptr;
    void* (*newModule)(void* definition, int version) = nullptr;
    int (*declareLock)(void* module, void* use) = nullptr; ///< of a Python that has no lock

    bool load()
    {
        findFunction(declareLock, "PyUnstable_Module_SetGIL");
        return findFunction(newModule, "PyModule_Create2") &&
               findFunction(textOf, "PyUnicode_AsUTF8AndSize") &&
               findFunction(giveLock, "PyEval_SaveThread") &&
               findFunction(takeLock, "PyEval_RestoreThread") && findFunction(newBool, "PyBool_FromLong") &&
               findFunction(parse, "PyArg_ParseTuple") &&
               findFunction(newNumber, "PyLong_FromUnsignedLongLong") &&
               findFunction(numberOf, "PyLong_AsUnsignedLongLongMask");
    }
};
Api api;

/// The name of an object's ranges.
struct Name {
    const std::string* text = nullptr;
    bool isModule = false;
    int generation = 0;
};

/// Names of objects by their address. Never destroyed: Python may call to the last.
struct Names {
    Mutex mutex;
    std::unordered_set<std::string> texts GUARDED_BY(mutex); ///< their addresses stay
    std::unordered_map<const void*, Name> ofObjects GUARDED_BY(mutex);
    /// Higher in each forked child. Modules are named in it once more, for its recording to know their parameters.
    std::atomic<int> generation{0};
    std::atomic<std::uint64_t> changes{1}; ///< of `ofObjects` and `generation`

    void noteChange() { changes.fetch_add(1, std::memory_order_release); }
};

Names& names()
{
    static auto* const all = new Names;
    return *all;
}

/// Names that a thread has looked up since the last change. Objects are named before the first step, so that a step takes
/// neither the mutex nor the table.
struct KnownNames {
    struct Entry {
        const void* object = nullptr;
        std::uint64_t changes = 0;
        Name name;
    };
    static constexpr std::size_t kEntries = 512;
    std::array<Entry, kEntries> entries;

    Entry& of(const void* object)
    {
        constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
        return entries[(reinterpret_cast<std::uintptr_t>(object) * kOdd >> 32) % kEntries];
    }
};
constinit thread_local KnownNames knownNames;

/// The name of an object in this process; without a text if it has none.
Name nameOf(const void* object)
{
    Names& all = names();
    KnownNames::Entry& known = knownNames.of(object);
    const std::uint64_t changes = all.changes.load(std::memory_order_acquire);
    if (known.object == object && known.changes == changes)
        return known.name;
    Name name;
    {
        const MutexLock lock(all.mutex);
        if (const auto found = all.ofObjects.find(object); found != all.ofObjects.end())
            name = found->second;
    }
    if (name.isModule && name.generation != all.generation.load(std::memory_order_relaxed))
        name = {};
    known = {.object = object, .changes = changes, .name = name};
    return name;
}

void* nameObject(void* /*self*/, void* tuple)
{
    void* object = nullptr;
    const char* text = nullptr;
    int isModule = 0;
    if (!api.parse(tuple, "Osp", &object, &text, &isModule))
        return nullptr;
    try {
        Names& all = names();
        const MutexLock lock(all.mutex);
        all.ofObjects[object] = {&*all.texts.emplace(text).first, isModule != 0, all.generation.load()};
        all.noteChange();
    } catch (...) {
        return api.newBool(0); // no memory: it has no ranges
    }
    return api.newBool(1);
}

/// The callback of a weak reference, after the address: the reference follows it.
void* forgetObject(void* /*self*/, void* tuple)
{
    unsigned long long address = 0;
    void* reference = nullptr;
    if (!api.parse(tuple, "K|O", &address, &reference))
        return nullptr;
    const void* object = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address));
    Names& all = names();
    const MutexLock lock(all.mutex);
    all.ofObjects.erase(object);
    all.noteChange();
    return api.newBool(1);
}

void* enter(void* /*self*/, void* object)
{
    return api.newBool(enterObject(object) ? 1 : 0);
}

void* leave(void* /*self*/, void* object)
{
    return api.newBool(leaveObject(object) ? 1 : 0);
}

void* watch(void* /*self*/, void* tuple)
{
    void* function = nullptr;
    std::ptrdiff_t bytes = 0;
    void* nameAll = nullptr;
    void* returned = nullptr;
    if (!api.parse(tuple, "OlOO", &function, &bytes, &nameAll, &returned))
        return nullptr;
    return api.newBool(watchCalls(function, static_cast<std::size_t>(bytes), nameAll, returned) ? 1 : 0);
}

void* checkNodeObject(void* /*self*/, void* tuple)
{
    void* object = nullptr;
    std::ptrdiff_t headerBytes = 0;
    unsigned long long sequence = 0;
    if (!api.parse(tuple, "OlK", &object, &headerBytes, &sequence))
        return nullptr;
    return api.newBool(checkNode(object, static_cast<std::size_t>(headerBytes), sequence) ? 1 : 0);
}

void* noteFact(void* /*self*/, void* tuple)
{
    const char* key = nullptr;
    const char* value = nullptr;
    if (!api.parse(tuple, "ss", &key, &value))
        return nullptr;
    Recorder::noteFact(key, value);
    return api.newBool(1);
}

void* noteHeld(void* /*self*/, void* tuple)
{
    const char* category = nullptr;
    unsigned long long address = 0;
    long long bytes = 0;
    const char* name = nullptr;
    const char* shape = nullptr;
    const char* dtype = nullptr;
    int device = -1;
    if (!api.parse(tuple, "sKLsssi", &category, &address, &bytes, &name, &shape, &dtype, &device))
        return nullptr;
    Recorder::noteHeld({.category = category,
                        .address = address,
                        .bytes = bytes,
                        .name = name,
                        .shape = shape,
                        .dtype = dtype,
                        .device = device});
    return api.newBool(1);
}

void* startCollective(void* /*self*/, void* tuple)
{
    const char* op = nullptr;
    const char* group = nullptr;
    const char* ranks = nullptr;
    const char* dtype = nullptr;
    long long sequence = -1;
    long long bytes = -1;
    int size = 0;
    int peer = -1;
    if (!api.parse(tuple, "ssssLLii", &op, &group, &ranks, &dtype, &sequence, &bytes, &size, &peer))
        return nullptr;
    return api.newNumber(Recorder::startCollective({.op = op,
                                                    .group = group,
                                                    .ranks = ranks,
                                                    .dtype = dtype,
                                                    .sequence = sequence,
                                                    .bytes = bytes,
                                                    .groupSize = size,
                                                    .peer = peer}));
}

/// The callback of a future, after the number: the future follows it.
void* endCollective(void* /*self*/, void* tuple)
{
    unsigned long long number = 0;
    void* future = nullptr;
    if (!api.parse(tuple, "K|O", &number, &future))
        return nullptr;
    Recorder::endCollective(number);
    return api.newBool(1);
}

void* frames(void* /*self*/, void* /*none*/)
{
    return api.newBool(recordFrames() ? 1 : 0);
}

void* checkStacks(void* /*self*/, void* number)
{
    std::string reason;
    try {
        reason = PythonStacks::check(static_cast<int>(api.numberOf(number)));
    } catch (...) {
        reason = "there is no memory";
    }
    if (!reason.empty())
        Recorder::noteFact("host_samples", "Python stacks were not read: " + reason);
    return api.newBool(reason.empty() ? 1 : 0);
}

void* startStacks(void* /*self*/, void* /*none*/)
{
    PythonStacks::start();
    return api.newBool(1);
}

void* noteLoading(void* /*self*/, void* tuple)
{
    long process = 0;
    unsigned long long owner = 0;
    unsigned long long waits = 0;
    unsigned long long fetch = 0;
    unsigned long long otherFetch = 0;
    if (!api.parse(tuple, "lKKKK", &process, &owner, &waits, &fetch, &otherFetch))
        return nullptr;
    PythonStacks::addLoading(static_cast<std::uint32_t>(process), owner, waits, {fetch, otherFetch});
    return api.newBool(1);
}

void* stopStacks(void* /*self*/, void* /*none*/)
{
    PythonStacks::stop();
    return api.newBool(1);
}

/// Whether the caller runs in the interpreter that the process began with; before Python 3.9 it is not known.
bool isMainInterpreter()
{
    void* (*current)() = nullptr;
    void* (*first)() = nullptr;
    return !findFunction(current, "PyInterpreterState_Get") ||
           !findFunction(first, "PyInterpreterState_Main") || current() == first();
}

void* prepareCalls(void* /*self*/, void* number)
{
    // A module that one interpreter has loaded appears in others without a call of its own.
    const PythonApi* python = PythonApi::ofThisProcess();
    if (python && !isMainInterpreter()) {
        python->setError(*python->typeError, "the recorder does not support subinterpreters");
        return nullptr;
    }
    return api.newBool(prepareWatchedCalls(api.numberOf(number)) ? 1 : 0);
}

void* startRecording(void* /*self*/, void* /*none*/)
{
    bool isStarted = false;
    {
        const MutexLock lock(Recorder::startGuard());
        isStarted = Recorder::start();
    }
    return api.newBool(isStarted ? 1 : 0);
}

void* tell(void* /*self*/, void* message)
{
    std::ptrdiff_t bytes = 0;
    const char* text = api.textOf(message, &bytes); // valid as long as the message
    if (!text)
        return nullptr;
    void* thread = api.giveLock();
    takeMessage({text, static_cast<std::size_t>(bytes)});
    api.takeLock(thread);
    return api.newBool(1);
}

void* pluginAddress(void* /*self*/, void* /*none*/)
{
    return api.newNumber(reinterpret_cast<std::uintptr_t>(&pluginFunctions()));
}

/// PyModuleDef without its head, which is zero: an object and three words.
struct ModuleDefinition {
    const char* name;
    const char* documentation;
    std::ptrdiff_t bytes;
    PythonMethod* methods;
    std::array<void*, 4> others;
};
constexpr std::size_t kWord = sizeof(void*);
constexpr std::size_t kObjectBytes = 2 * kWord;
constexpr std::size_t kUnlockedObjectBytes = 4 * kWord; ///< of a Python that has no lock

} // namespace

void forgetOpenObjects() noexcept
{
    forgetPhases();
    names().generation.fetch_add(1);
    names().noteChange();
}

Mutex& namesMutex()
{
    return names().mutex;
}

bool enterObject(const void* object) noexcept
{
    if (!Recorder::isRecording() && !Recorder::startInChild())
        return true;
    const Name name = nameOf(object);
    if (!name.text)
        return false;
    if (!name.text->empty())
        enterRange(object, *name.text, name.isModule);
    return true;
}

bool leaveObject(const void* object) noexcept
{
    return leaveRange(object);
}

void* makePythonModule() noexcept
{
    if (!api.load())
        return nullptr;
    static PythonMethod methods[] = {{"name", &nameObject, kTuple, nullptr},
                                     {"forget", &forgetObject, kTuple, nullptr},
                                     {"enter", &enter, kOneArgument, nullptr},
                                     {"leave", &leave, kOneArgument, nullptr},
                                     {"watch", &watch, kTuple, nullptr},
                                     {"check_node", &checkNodeObject, kTuple, nullptr},
                                     {"fact", &noteFact, kTuple, nullptr},
                                     {"hold", &noteHeld, kTuple, nullptr},
                                     {"collective", &startCollective, kTuple, nullptr},
                                     {"collected", &endCollective, kTuple, nullptr},
                                     {"frames", &frames, kTuple, nullptr},
                                     {"prepare_calls", &prepareCalls, kOneArgument, nullptr},
                                     {"phase", &watchedPhase, kTuple, nullptr},
                                     {"around", &watchedCall, kTuple, nullptr},
                                     {"begin_step", &beginOptimizerStep, kTuple, nullptr},
                                     {"end_step", &endOptimizerStep, kTuple, nullptr},
                                     {"own_steps", &leaveStepsToProgram, kTuple, nullptr},
                                     {"watch_ends", &watchEnds, kTuple, nullptr},
                                     {"hide_calls", &hideCalls, kOneArgument, nullptr},
                                     {"check_stacks", &checkStacks, kOneArgument, nullptr},
                                     {"start_stacks", &startStacks, kTuple, nullptr},
                                     {"stop_stacks", &stopStacks, kTuple, nullptr},
                                     {"loads", &noteLoading, kTuple, nullptr},
                                     {"tasks", &askForTasks, kOneArgument, nullptr},
                                     {"start", &startRecording, kTuple, nullptr},
                                     {"tell", &tell, kOneArgument, nullptr},
                                     {"plugin", &pluginAddress, kTuple, nullptr},
                                     {"hidden", &hiddenCall, kOneArgument, nullptr},
                                     {"step_hooks", &stepHooks, kTuple, nullptr},
                                     {nullptr, nullptr, 0, nullptr}};
    constexpr std::size_t kHeadWords = 3;
    alignas(kWord) static std::array<std::byte,
                                     kUnlockedObjectBytes + kHeadWords * kWord + sizeof(ModuleDefinition)>
        memory{};
    const std::size_t head = (api.declareLock ? kUnlockedObjectBytes : kObjectBytes) + kHeadWords * kWord;
    new (&memory[head]) ModuleDefinition{
        .name = "_tilescope", .documentation = nullptr, .bytes = -1, .methods = methods, .others = {}};
    constexpr int kStableVersion = 3; // PYTHON_ABI_VERSION
    void* module = api.newModule(memory.data(), kStableVersion);
    if (module && api.declareLock)
        api.declareLock(module, reinterpret_cast<void*>(std::uintptr_t{1})); // Py_MOD_GIL_NOT_USED
    return module;
}

} // namespace tilescope::record
