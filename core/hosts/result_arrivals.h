#pragma once

#include "core/base/mutex.h"
#include "core/hosts/collect_result.h"
#include "core/hosts/remote_host.h"

#include <filesystem>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <thread>

namespace tilescope::hosts {

/// Adds the runs of a sweep that goes on there to a local file, soon after each has ended, from a thread of its own. What
/// fails is left to collectResult() at the end: an unreachable host, a file that another process writes. Nothing is
/// removed there.
class ResultArrivals {
public:
    /// \param host       is connected; copied
    /// \param copies     copiesFolder()
    /// \param onArrival  called in the thread after runs were added; their number
    ResultArrivals(const RemoteHost& host, std::string job, std::filesystem::path file,
                   std::filesystem::path copies, std::function<void(std::int64_t runs)> onArrival = {});
    ~ResultArrivals();
    ResultArrivals(const ResultArrivals&) = delete;
    ResultArrivals& operator=(const ResultArrivals&) = delete;

    /// A point has ended there. Any thread.
    void pointEnded();
    /// Ends the thread.
    /// \return  what was added
    Arrival finish();

private:
    void work(const std::stop_token& stop);
    void collect(const std::stop_token& stop);

    RemoteHost host_; ///< of the thread
    std::string job_;
    std::filesystem::path file_;
    std::filesystem::path copies_;
    std::function<void(std::int64_t)> onArrival_;
    std::map<std::string, std::string> stamps_; ///< of recordings that were fetched
    Arrival arrival_;
    Mutex mutex_;
    StoppableCondition wake_;
    bool hasNews_ GUARDED_BY(mutex_) = false;
    std::jthread thread_; ///< last: it ends before the rest goes
};

} // namespace tilescope::hosts
