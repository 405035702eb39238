#pragma once

#include "core/exchange/import/trace_builder.h"

#include <functional>

namespace tilescope::cli {

/// The user ended the program's work with a signal. Not an Error: main ends without a message.
struct Cancelled {
    static constexpr int kExitCode = 130;
};

/// Runs `work` with a watch that draws the share done on standard error, if it is a terminal, and cancels at the
/// first SIGINT, SIGTERM or SIGHUP.
/// \throws Cancelled  after such a signal, whatever `work` throws
void withImportProgress(const std::function<void(const exchange::ImportWatch&)>& work);

} // namespace tilescope::cli
