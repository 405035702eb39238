#include "app/cli/import_progress.h"

#include "app/cli/notes.h"
#include "core/session/protocol/stop_signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <iostream>

namespace tilescope::cli {

void withImportProgress(const std::function<void(const exchange::ImportWatch&)>& work)
{
    const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
    const bool draws = isatty(STDERR_FILENO) != 0 && !isQuiet();
    std::atomic<int> shown = -1; // per cent; threads of an importer may call the watch
    const auto watch = [&](double done) {
        const int percent = static_cast<int>(100 * done);
        if (draws && shown.exchange(percent) != percent)
            std::fprintf(stderr, "\rimporting %3d %%", percent);
        return !signals.first().stop_requested();
    };
    const auto erase = [&] {
        if (draws && shown >= 0)
            std::fputs("\r\033[K", stderr);
    };
    try {
        work(watch);
    } catch (...) {
        erase();
        if (signals.first().stop_requested())
            throw Cancelled{};
        throw;
    }
    erase();
}

} // namespace tilescope::cli
