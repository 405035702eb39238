#include "app/record/python_ends.h"

#include "app/record/python_api.h"
#include "app/record/recorder.h"

#include <array>
#include <string_view>

namespace tilescope::record {

namespace {

// The C function of a built-in function that takes its arguments as an array.
using FastCall = void* (*)(void* self, void* const* arguments, std::ptrdiff_t count, void* names);

constexpr std::array<std::string_view, 3> kNames{"_exit", "execv", "execve"};
constexpr std::size_t kExit = 0;
std::array<PythonMethod, kNames.size()> methods{}; // live as long as the process
std::array<FastCall, kNames.size()> originals{};

void noteExit(void* status)
{
    const PythonApi* api = PythonApi::ofThisProcess();
    const long number = status ? api->number(status) : -1;
    if (number == -1 && (!status || api->hasError())) {
        api->clearError();
        return; // the call will say what is wrong
    }
    Recorder::endedWith(static_cast<int>(number));
}

template <std::size_t Which>
void* flushAndCall(void* self, void* const* arguments, std::ptrdiff_t count, void* names)
{
    if constexpr (Which == kExit)
        noteExit(count > 0 ? arguments[0] : nullptr);
    else
        Recorder::flush(); // the program goes on if the other one cannot be started
    return originals[Which](self, arguments, count, names);
}

constexpr std::array<FastCall, kNames.size()> kReplacements{&flushAndCall<0>, &flushAndCall<1>,
                                                            &flushAndCall<2>};

/// Gives a built-in function another C function if its layout is as expected: PyCFunctionObject begins with a PyMethodDef*.
bool replace(const PythonApi& api, void* function, std::size_t headerBytes, std::size_t which)
{
    const int flags = api.flagsOf(function);
    void* const called = api.functionOf(function);
    if (!called || (flags & kFastCall) == 0) {
        api.clearError();
        return false;
    }
    auto** place = reinterpret_cast<PythonMethod**>(static_cast<char*>(function) + headerBytes);
    const PythonMethod* method = *place;
    if (reinterpret_cast<void*>(method->function) != called || method->flags != flags ||
        kNames[which] != method->name)
        return false;
    if (reinterpret_cast<FastCall>(called) == kReplacements[which])
        return true;
    originals[which] = reinterpret_cast<FastCall>(called);
    methods[which] = *method;
    methods[which].function =
        reinterpret_cast<void* (*)(void*, void*)>(reinterpret_cast<void*>(kReplacements[which]));
    *place = &methods[which];
    return true;
}

} // namespace

void* watchEnds(void* /*self*/, void* tuple) noexcept
{
    const PythonApi* api = PythonApi::ofThisProcess();
    std::ptrdiff_t headerBytes = 0;
    std::array<void*, kNames.size()> functions{};
    if (!api->parse(tuple, "nOOO", &headerBytes, &functions[0], &functions[1], &functions[2]))
        return nullptr;
    bool all = true;
    for (std::size_t i = 0; i < functions.size(); ++i)
        all = replace(*api, functions[i], static_cast<std::size_t>(headerBytes), i) && all;
    return api->newBool(all ? 1 : 0);
}

} // namespace tilescope::record
