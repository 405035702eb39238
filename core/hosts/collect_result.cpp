#include "core/hosts/collect_result.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/paths.h"
#include "core/session/protocol/wake_event.h"
#include "core/store/file/writer_lock.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_reader.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

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
    const fs::path folder = fs::absolute(outputPath(file)).parent_path();
    std::error_code error;
    if (!fs::is_directory(folder, error))
        throw Error{.what = "its folder does not exist",
                    .where = file.string(),
                    .remedy = "create it, or name another file"};
    if (access(folder.c_str(), W_OK | X_OK) != 0)
        throw Error{.what = std::string("its folder cannot be written (") + std::strerror(errno) + ")",
                    .where = file.string(),
                    .remedy = "name a file in another folder"};
    if (fs::exists(file, error))
        store::RunReader{file}.runIds(); // throws where it is not a recording, or damaged
}

namespace {

/// Another process may begin to write the file between the look and the merge.
store::MergeOutcome mergedInTurn(const std::vector<fs::path>& files, const fs::path& file,
                                 const std::stop_token& stop)
{
    constexpr int kAttempts = 20;
    for (int attempt = 1;; ++attempt) {
        waitForOtherWriter(file, stop);
        try {
            return store::merge(files, file);
        } catch (const Error&) {
            if (attempt == kAttempts || !store::WriterLock::isHeld(file))
                throw;
        }
    }
}

} // namespace

Arrival collectResult(RemoteHost& host, RemoteJob& job, const fs::path& file, const fs::path& copies,
                      const FetchWatch& watch, std::stop_token stop)
{
    const std::string name = host.host().name;
    std::vector<fs::path> files;
    std::int64_t runs = 0;
    Arrival arrival;
    for (const RemoteJob::Result& result : job.results(stop)) {
        const FetchedFile fetched = fetchResult(host, job.id(), result.name, copies, watch, stop);
        runs += verified(fetched.file, "the recording of " + name + " arrived damaged").runs;
        arrival.received += fetched.received;
        files.push_back(fetched.file);
    }
    const store::MergeOutcome merged = mergedInTurn(files, file, stop);
    if (merged.added + merged.present != runs)
        throw Error{.what = "does not hold all runs of " + name,
                    .where = file.string(),
                    .remedy = "fetch them again",
                    .kind = ErrorKind::Failure};
    verified(file, "is damaged after the runs of " + name + " were added");
    job.remove(stop);
    std::error_code ignored;
    for (const fs::path& copy : files)
        fs::remove_all(copy.parent_path(), ignored);
    arrival.runs = merged.added;
    return arrival;
}

} // namespace tilescope::hosts
