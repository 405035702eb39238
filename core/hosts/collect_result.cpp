#include "core/hosts/collect_result.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/paths.h"
#include "core/session/protocol/wake_event.h"
#include "core/store/file/writer_lock.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_reader.h"

#include <poll.h>

#include <array>
#include <string>
#include <utility>

namespace tilescope::hosts {

namespace fs = std::filesystem;

namespace {

/// \throws Stopped
void waitForOtherWriter(const fs::path& file, const std::stop_token& stop)
{
    const session::WakeEvent wake;
    const std::stop_callback onStop(stop, [&wake] { wake.signal(); });
    while (store::WriterLock::isHeld(file)) {
        constexpr int kLookAgainMs = 300;
        pollfd watched{wake.descriptor(), POLLIN, 0};
        poll(&watched, 1, kLookAgainMs);
        if (stop.stop_requested())
            throw Stopped{};
    }
}

/// \throws Error  `file` is damaged
store::VerifyReport verified(const fs::path& file, const std::string& what)
{
    store::VerifyReport report = store::verify(file);
    if (!report.ok())
        throw Error{.what = what + " (" + report.problems.front() + ")",
                    .where = file.string(),
                    .remedy = "the runs are still there: fetch them again, into another file if it stays so",
                    .kind = ErrorKind::Failure};
    return report;
}

} // namespace

fs::path copiesFolder()
{
    const fs::path cache = userCacheDirectory();
    if (cache.empty())
        throw Error{.what = "neither XDG_CACHE_HOME nor HOME is set",
                    .where = "cache",
                    .remedy = "set HOME to your home folder",
                    .kind = ErrorKind::Environment};
    return cache / "remote";
}

void requireResultFile(const fs::path& file)
{
    outputPath(file);
    std::error_code error;
    if (fs::exists(file, error))
        store::RunReader{file}.runIds(); // throws where it is not a recording, or damaged
}

Arrival collectResult(RemoteHost& host, RemoteJob& job, const fs::path& file, const fs::path& copies,
                      const FetchWatch& watch, std::stop_token stop)
{
    const std::string name = host.host().name;
    const FetchedFile fetched = fetchResult(host, job.id(), copies, watch, stop);
    const store::VerifyReport arrived =
        verified(fetched.file, "the recording of " + name + " arrived damaged");
    waitForOtherWriter(file, stop);
    const store::MergeOutcome merged = store::merge(std::array{fetched.file}, file);
    if (merged.added + merged.present != arrived.runs)
        throw Error{.what = "does not hold all runs of " + name,
                    .where = file.string(),
                    .remedy = "fetch them again",
                    .kind = ErrorKind::Failure};
    verified(file, "is damaged after the runs of " + name + " were added");
    job.remove(stop);
    std::error_code ignored;
    fs::remove_all(fetched.file.parent_path(), ignored);
    return {.runs = merged.added, .received = fetched.received};
}

} // namespace tilescope::hosts
