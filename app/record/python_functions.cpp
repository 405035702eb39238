#include "app/record/python_functions.h"

#include "app/record/find_function.h"
#include "app/record/hidden_calls.h"
#include "app/record/module_calls.h"
#include "app/record/phases.h"
#include "app/record/plugin_functions.h"
#include "app/record/python_api.h"
#include "app/record/python_calls.h"
#include "app/record/python_ends.h"
#include "app/record/python_frames.h"
#include "app/record/python_stacks.h"
#include "app/record/recorder.h"
#include "core/base/mutex.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace tilescope::record {

namespace {

/// The functions of Python's C API that are used. PyObject* is void* here.
struct Api {
    void* (*newFunction)(PythonMethod*, void* self, void* module) = nullptr;
    void* (*newBool)(long value) = nullptr;
    int (*parse)(void* tuple, const char* format, ...) = nullptr;
    void* (*newNumber)(unsigned long long value) = nullptr;
    unsigned long long (*numberOf)(void* number) = nullptr;

    bool load()
    {
        return findFunction(newFunction, "PyCFunction_NewEx") && findFunction(newBool, "PyBool_FromLong") &&
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

void* stopStacks(void* /*self*/, void* /*none*/)
{
    PythonStacks::stop();
    return api.newBool(1);
}

void* prepareCalls(void* /*self*/, void* number)
{
    return api.newBool(prepareWatchedCalls(api.numberOf(number)) ? 1 : 0);
}

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

bool makePythonFunctions(PythonFunctions& functions) noexcept
{
    struct Entry {
        void* PythonFunctions::*object;
        PythonMethod method;
    };
    using F = PythonFunctions;
    static Entry entries[] = {{&F::name, {"name", &nameObject, kTuple, nullptr}},
                              {&F::forget, {"forget", &forgetObject, kTuple, nullptr}},
                              {&F::enter, {"enter", &enter, kOneArgument, nullptr}},
                              {&F::leave, {"leave", &leave, kOneArgument, nullptr}},
                              {&F::watch, {"watch", &watch, kTuple, nullptr}},
                              {&F::fact, {"fact", &noteFact, kTuple, nullptr}},
                              {&F::hold, {"hold", &noteHeld, kTuple, nullptr}},
                              {&F::collective, {"collective", &startCollective, kTuple, nullptr}},
                              {&F::collected, {"collected", &endCollective, kTuple, nullptr}},
                              {&F::frames, {"frames", &frames, kTuple, nullptr}},
                              {&F::prepareCalls, {"prepare_calls", &prepareCalls, kOneArgument, nullptr}},
                              {&F::phase, {"phase", &watchedPhase, kTuple, nullptr}},
                              {&F::around, {"around", &watchedCall, kTuple, nullptr}},
                              {&F::beginStep, {"begin_step", &beginOptimizerStep, kTuple, nullptr}},
                              {&F::endStep, {"end_step", &endOptimizerStep, kTuple, nullptr}},
                              {&F::ownSteps, {"own_steps", &leaveStepsToProgram, kTuple, nullptr}},
                              {&F::watchEnds, {"watch_ends", &watchEnds, kTuple, nullptr}},
                              {&F::hideCalls, {"hide_calls", &hideCalls, kOneArgument, nullptr}},
                              {&F::checkStacks, {"check_stacks", &checkStacks, kOneArgument, nullptr}},
                              {&F::startStacks, {"start_stacks", &startStacks, kTuple, nullptr}},
                              {&F::stopStacks, {"stop_stacks", &stopStacks, kTuple, nullptr}},
                              {&F::tasks, {"tasks", &askForTasks, kOneArgument, nullptr}}};
    if (!api.load())
        return false;
    functions = {};
    functions.plugin = &pluginFunctions();
    for (Entry& entry : entries) {
        functions.*entry.object = api.newFunction(&entry.method, nullptr, nullptr);
        if (!(functions.*entry.object))
            return false;
    }
    return true;
}

} // namespace tilescope::record
