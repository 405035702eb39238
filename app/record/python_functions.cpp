#include "app/record/python_functions.h"

#include "app/record/nested_ranges.h"
#include "app/record/recorder.h"
#include "core/base/mutex.h"

#include <dlfcn.h>

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

    template <class Function> static bool find(Function& function, const char* name)
    {
        function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
        return function != nullptr;
    }
    bool load()
    {
        return find(newFunction, "PyCFunction_NewEx") && find(newBool, "PyBool_FromLong") &&
               find(parse, "PyArg_ParseTuple") && find(addressOf, "PyLong_AsVoidPtr");
    }
};
Api api;

/// Names of objects by their address. Never destroyed: Python may call to the last.
struct Names {
    Mutex mutex;
    std::unordered_set<std::string> texts GUARDED_BY(mutex); ///< their addresses stay
    std::unordered_map<const void*, const std::string*> ofObjects GUARDED_BY(mutex);
};

Names& names()
{
    static auto* const all = new Names;
    return *all;
}

// What ranges of Python objects have in common, so that they nest among themselves.
constexpr char kDomain = 0;

thread_local int openObjects = 0;

void* nameObject(void* /*self*/, void* tuple)
{
    void* object = nullptr;
    const char* text = nullptr;
    if (!api.parse(tuple, "Os", &object, &text))
        return nullptr;
    try {
        Names& all = names();
        const MutexLock lock(all.mutex);
        all.ofObjects[object] = &*all.texts.emplace(text).first;
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

void* enterObject(void* /*self*/, void* object)
{
    // Also the answer of a forked child, in which another thread may have held the lock.
    if (!Recorder::isRecording())
        return api.newBool(1);
    const std::string* name = nullptr;
    {
        Names& all = names();
        const MutexLock lock(all.mutex);
        const auto found = all.ofObjects.find(object);
        if (found == all.ofObjects.end())
            return api.newBool(0);
        name = found->second;
    }
    if (openNested(&kDomain, object, *name) >= 0)
        ++openObjects;
    return api.newBool(1);
}

void* leaveObject(void* /*self*/, void* object)
{
    if (openObjects > 0 && closeNested(&kDomain, object) >= 0)
        --openObjects;
    return api.newBool(openObjects == 0 ? 1 : 0);
}

} // namespace

bool makePythonFunctions(PythonFunctions& functions) noexcept
{
    static Method methods[] = {{"name", &nameObject, kTuple, nullptr},
                               {"forget", &forgetObject, kOneArgument, nullptr},
                               {"enter", &enterObject, kOneArgument, nullptr},
                               {"leave", &leaveObject, kOneArgument, nullptr}};
    if (!api.load())
        return false;
    functions = {.name = api.newFunction(&methods[0], nullptr, nullptr),
                 .forget = api.newFunction(&methods[1], nullptr, nullptr),
                 .enter = api.newFunction(&methods[2], nullptr, nullptr),
                 .leave = api.newFunction(&methods[3], nullptr, nullptr)};
    return functions.name && functions.forget && functions.enter && functions.leave;
}

} // namespace tilescope::record
