#include "app/record/python_functions.h"

#include "app/record/find_function.h"
#include "app/record/module_calls.h"
#include "app/record/nested_ranges.h"
#include "app/record/plugin_functions.h"
#include "app/record/python_frames.h"
#include "app/record/recorder.h"
#include "core/base/mutex.h"
#include "core/trace/host/host_log.h"
#include "core/trace/host/path_tree.h"

#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace tilescope::record {

namespace {

/// PyMethodDef, whose layout is part of Python's stable ABI.
struct Method {
    const char* name;
    void* (*function)(void* self, void* argument);
    int flags;
    const char* documentation;
};
constexpr int kOneArgument = 8; // METH_O
constexpr int kTuple = 1;       // METH_VARARGS

/// The functions of Python's C API that are used. PyObject* is void* here.
struct Api {
    void* (*newFunction)(Method*, void* self, void* module) = nullptr;
    void* (*newBool)(long value) = nullptr;
    int (*parse)(void* tuple, const char* format, ...) = nullptr;
    void* (*addressOf)(void* number) = nullptr;
    void* (*newNumber)(unsigned long long value) = nullptr;
    unsigned long long (*numberOf)(void* number) = nullptr;

    bool load()
    {
        return findFunction(newFunction, "PyCFunction_NewEx") && findFunction(newBool, "PyBool_FromLong") &&
               findFunction(parse, "PyArg_ParseTuple") && findFunction(addressOf, "PyLong_AsVoidPtr") &&
               findFunction(newNumber, "PyLong_FromUnsignedLongLong") &&
               findFunction(numberOf, "PyLong_AsUnsignedLongLongMask");
    }
};
Api api;

/// The name of an object's ranges.
struct Name {
    const std::string* text = nullptr;
    bool isModule = false;
};

/// Names of objects by their address. Never destroyed: Python may call to the last.
struct Names {
    Mutex mutex;
    std::unordered_set<std::string> texts GUARDED_BY(mutex); ///< their addresses stay
    std::unordered_map<const void*, Name> ofObjects GUARDED_BY(mutex);
};

Names& names()
{
    static auto* const all = new Names;
    return *all;
}

// The common domain of ranges of Python objects, so that they nest among themselves.
constexpr char kDomain = 0;
// Key of the ranges `forward`.
constexpr char kForward = 0;

thread_local int openObjects = 0;
thread_local const void* forwardOf = nullptr; ///< the object around which a range `forward` is open

/// Whether the calling thread is in a step, and in no range of the program within it.
bool isDirectlyInStep() noexcept
{
    static const trace::PathNode* const step =
        trace::PathTree::instance().child(trace::PathTree::instance().root(), "step");
    return trace::HostLogs::here().path == step->id;
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
        all.ofObjects[object] = {&*all.texts.emplace(text).first, isModule != 0};
    } catch (...) {
        return api.newBool(0); // no memory: it has no ranges
    }
    return api.newBool(1);
}

void* forgetObject(void* /*self*/, void* number)
{
    const void* object = api.addressOf(number);
    Names& all = names();
    const MutexLock lock(all.mutex);
    all.ofObjects.erase(object);
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

void* endCollective(void* /*self*/, void* number)
{
    Recorder::endCollective(api.numberOf(number));
    return api.newBool(1);
}

void* frames(void* /*self*/, void* /*none*/)
{
    return api.newBool(recordFrames() ? 1 : 0);
}

} // namespace

void forgetOpenObjects() noexcept
{
    openObjects = 0;
    forwardOf = nullptr;
}

Mutex& namesMutex()
{
    return names().mutex;
}

bool enterObject(const void* object) noexcept
{
    if (!Recorder::isRecording() && !Recorder::startInChild())
        return true;
    Name name;
    {
        Names& all = names();
        const MutexLock lock(all.mutex);
        const auto found = all.ofObjects.find(object);
        if (found == all.ofObjects.end())
            return false;
        name = found->second;
    }
    if (name.text->empty())
        return true;
    if (name.isModule && openObjects == 0 && isDirectlyInStep() &&
        openNested(&kDomain, &kForward, "forward") >= 0)
        forwardOf = object;
    if (openNested(&kDomain, object, *name.text) >= 0)
        ++openObjects;
    return true;
}

bool leaveObject(const void* object) noexcept
{
    if (openObjects > 0 && closeNested(&kDomain, object) >= 0)
        --openObjects;
    if (openObjects == 0 && forwardOf == object) {
        closeNested(&kDomain, &kForward);
        forwardOf = nullptr;
    }
    return openObjects == 0;
}

bool makePythonFunctions(PythonFunctions& functions) noexcept
{
    static Method methods[] = {{"name", &nameObject, kTuple, nullptr},
                               {"forget", &forgetObject, kOneArgument, nullptr},
                               {"enter", &enter, kOneArgument, nullptr},
                               {"leave", &leave, kOneArgument, nullptr},
                               {"watch", &watch, kTuple, nullptr},
                               {"fact", &noteFact, kTuple, nullptr},
                               {"hold", &noteHeld, kTuple, nullptr},
                               {"frames", &frames, kTuple, nullptr},
                               {"collective", &startCollective, kTuple, nullptr},
                               {"collected", &endCollective, kOneArgument, nullptr}};
    if (!api.load())
        return false;
    const auto make = [](int which) { return api.newFunction(&methods[which], nullptr, nullptr); };
    functions = {.name = make(0),
                 .forget = make(1),
                 .enter = make(2),
                 .leave = make(3),
                 .watch = make(4),
                 .fact = make(5),
                 .hold = make(6),
                 .collective = make(8),
                 .collected = make(9),
                 .frames = make(7),
                 .plugin = &pluginFunctions()};
    return functions.name && functions.forget && functions.enter && functions.leave && functions.watch &&
           functions.fact && functions.hold && functions.collective && functions.collected &&
           functions.frames;
}

} // namespace tilescope::record
