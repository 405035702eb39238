#include "core/hosts/result_arrivals.h"

#include "core/base/error.h"
#include "core/hosts/remote_file.h"
#include "core/hosts/remote_job.h"
#include "core/store/file/writer_lock.h"
#include "core/store/maintenance/maintenance.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

namespace tilescope::hosts {

namespace fs = std::filesystem;

ResultArrivals::ResultArrivals(const RemoteHost& host, std::string job, fs::path file, fs::path copies,
                               std::function<void(std::int64_t)> onArrival)
    : host_(host.withoutProgress()), job_(std::move(job)), file_(std::move(file)), copies_(std::move(copies)),
      onArrival_(std::move(onArrival)), thread_([this](const std::stop_token& stop) { work(stop); })
{
}

ResultArrivals::~ResultArrivals() = default;

void ResultArrivals::pointEnded()
{
    {
        const MutexLock lock(mutex_);
        hasNews_ = true;
    }
    wake_.notifyAll();
}

Arrival ResultArrivals::finish()
{
    thread_.request_stop();
    if (thread_.joinable())
        thread_.join();
    return arrival_;
}

void ResultArrivals::work(const std::stop_token& stop)
{
    using Clock = std::chrono::steady_clock;
    for (;;) {
        {
            MutexLock lock(mutex_);
            wake_.wait(lock, stop, [this]() REQUIRES(mutex_) { return hasNews_; });
            if (stop.stop_requested())
                return;
            hasNews_ = false;
        }
        const auto began = Clock::now();
        try {
            collect(stop);
        } catch (const Stopped&) {
            return;
        } catch (const Error&) { // what is missing arrives at the end, where failures are said
        } catch (const std::exception&) {
        }
        // A large recording is compared as a whole: at most a fifth of the time.
        constexpr std::chrono::duration<double> kLeast{0.5};
        constexpr double kShare = 4;
        const std::chrono::duration<double> took = Clock::now() - began;
        MutexLock lock(mutex_);
        wake_.sleep(lock, stop, std::max(kLeast, kShare * took));
        if (stop.stop_requested())
            return;
    }
}

void ResultArrivals::collect(const std::stop_token& stop)
{
    const RemoteJob job(host_, job_);
    std::vector<fs::path> files;
    for (const RemoteJob::Result& result : job.results(stop, 1)) {
        std::string& stamp = stamps_[result.name];
        if (stamp == result.stamp)
            continue;
        const FetchedFile fetched = fetchResult(host_, job_, result.name, copies_, {}, stop, 1);
        files.push_back(fetched.file);
        arrival_.received += fetched.received;
        stamp = result.stamp;
    }
    if (files.empty() || store::WriterLock::isHeld(file_)) {
        stamps_.clear();
        return;
    }
    const std::int64_t runs =
        store::merge(files, file_, store::RunNumbers::Next, store::MergedRuns::Ended).added;
    arrival_.runs += runs;
    if (runs > 0 && onArrival_)
        onArrival_(runs);
}

} // namespace tilescope::hosts
