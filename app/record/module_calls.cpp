#include "app/record/module_calls.h"

#include "app/record/find_function.h"
#include "app/record/hidden_calls.h"
#include "app/record/python_functions.h"
#include "app/record/recorder.h"

#include <atomic>
#include <cstddef>
#include <cstring>

namespace tilescope::record {

namespace {

/// The functions of Python's C API that are used.
struct Api {
    PythonCall callFunction = nullptr;                     ///< Python calls its functions through it
    void (*setCall)(void* function, PythonCall) = nullptr; ///< from Python 3.12 on
    int (*isTrue)(void* object) = nullptr;
    void (*release)(void* object) = nullptr;

    /// \param function  a function object, of which every Python tells its call in one of two ways
    bool load(void* function)
    {
        if (release)
            return true;
        findFunction(setCall, "PyFunction_SetVectorcall");
        PythonCall (*callOf)(void*) = nullptr;
        if (findFunction(callOf, "PyVectorcall_Function")) // exported by every Python that hides the other
            callFunction = callOf(function);
        return (callFunction || findFunction(callFunction, "_PyFunction_Vectorcall")) &&
               findFunction(isTrue, "PyObject_IsTrue") && findFunction(release, "Py_DecRef");
    }
};
Api api;

std::atomic<bool> isWatching{false};
void* nameModule = nullptr;
void* tellReturned = nullptr; ///< null once it is satisfied

enum class Answer { No, Yes, Raised };

/// Calls with one argument; the interpreter's lock is held and no error is pending. Raised: one is, of the program, whose
/// handler of a signal ran meanwhile.
Answer ask(void* callable, void* argument)
{
    void* answer = callHidden(callable, argument);
    if (!answer)
        return Answer::Raised;
    const bool yes = api.isTrue(answer) == 1;
    api.release(answer);
    return yes ? Answer::Yes : Answer::No;
}

void* callModule(void* function, void* const* arguments, std::size_t count, void* names)
{
    if ((!Recorder::isRecording() && !Recorder::startInChild()) || (count & kCallCountMask) == 0)
        return api.callFunction(function, arguments, count, names);
    void* module = arguments[0];
    if (!enterObject(module)) {
        if (ask(nameModule, module) == Answer::Raised)
            return nullptr;
        enterObject(module);
    }
    void* result = api.callFunction(function, arguments, count, names);
    if (!leaveObject(module) || !result || !tellReturned)
        return result;
    const Answer answer = ask(tellReturned, result);
    if (answer == Answer::Yes)
        tellReturned = nullptr;
    if (answer == Answer::Raised) {
        api.release(result);
        return nullptr;
    }
    return result;
}

/// The word of a function object that holds its call; null if there is none or more than one. Its offset differs
/// between versions of Python.
PythonCall* placeOfCall(void* function, std::size_t bytes)
{
    PythonCall* found = nullptr;
    for (std::size_t at = 0; at + sizeof(PythonCall) <= bytes; at += sizeof(PythonCall)) {
        auto* word = reinterpret_cast<PythonCall*>(static_cast<char*>(function) + at);
        if (*word != api.callFunction)
            continue;
        if (found)
            return nullptr;
        found = word;
    }
    return found;
}

} // namespace

bool replaceCall(void* function, std::size_t bytes, PythonCall call) noexcept
{
    if (!api.load(function))
        return false;
    PythonCall* place = placeOfCall(function, bytes);
    if (!place)
        return false;
    if (api.setCall)
        api.setCall(function, call);
    else
        *place = call;
    return *place == call;
}

void* callReplaced(void* function, void* const* arguments, std::size_t count, void* names)
{
    return api.callFunction(function, arguments, count, names);
}

bool watchCalls(void* function, std::size_t bytes, void* nameAll, void* returned) noexcept
{
    nameModule = nameAll;
    tellReturned = returned;
    isWatching.store(replaceCall(function, bytes, &callModule));
    return watchesCalls();
}

bool watchesCalls() noexcept
{
    return isWatching.load();
}

} // namespace tilescope::record
