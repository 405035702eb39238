// A listener of LibTorch's operators that does nothing. What it costs a program is the least that any recorder of operators costs.
// It is built like the recorder's plug-in and loaded by observed.py.

#include "core/trace/host/observed_views.h"

#include <ATen/record_function.h>

at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;

/// \param inputs  1: with the inputs of operators, whose shapes a recorder needs
/// \param views   0: not of views
extern "C" __attribute__((visibility("default"))) void observe(int inputs, int views)
{
    at::RecordFunctionCallback callback(
        [](const at::RecordFunction&) { return std::unique_ptr<at::ObserverContext>(); },
        [](const at::RecordFunction&, at::ObserverContext*) {});
    callback.needsInputs(inputs != 0).scopes({at::RecordScope::FUNCTION});
    handle = at::addGlobalCallback(callback);
    tilescope::trace::setViewsObserved(views != 0);
}

extern "C" __attribute__((visibility("default"))) void ignore()
{
    at::removeCallback(handle);
}
