#include "core/machine/sample_evaluation.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>

namespace tilescope::machine {

namespace {

constexpr std::uint64_t kSamplesForConstants = 100;

} // namespace

SampleEvaluation::SampleEvaluation(std::shared_ptr<SamplingFunctions> library, int device,
                                   std::vector<std::string> metrics, std::size_t constants, int threads)
    : library_(std::move(library)), device_(device), metrics_(std::move(metrics)), constants_(constants)
{
    for (int i = 0; i < threads; ++i) {
        hosts_.push_back(std::make_unique<HostMetrics>(*library_, device_));
        hosts_.back()->configuration(metrics_); // it evaluates only metrics that were added to it
    }
    for (const auto& host : hosts_) {
        try {
            threads_.emplace_back([this, &host] { run(*host); });
        } catch (const std::system_error&) {
            if (threads_.empty())
                throw;
            break; // fewer do it, too
        }
        pthread_setname_np(threads_.back().native_handle(), "tilescope-pm-ev");
    }
}

SampleEvaluation::~SampleEvaluation()
{
    {
        const MutexLock lock(mutex_);
        ends_ = true;
    }
    changed_.notifyAll();
    for (std::thread& thread : threads_)
        thread.join();
}

bool SampleEvaluation::hasRoom() const
{
    const MutexLock lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& job : jobs_)
        bytes += job->samples.image.size();
    return bytes < kMostWaiting;
}

void SampleEvaluation::give(DecodedSamples samples)
{
    {
        const MutexLock lock(mutex_);
        jobs_.push_back(std::make_unique<Job>());
        jobs_.back()->samples = std::move(samples);
    }
    changed_.notifyAll();
}

std::optional<DecodedSamples> SampleEvaluation::take(bool waits)
{
    std::unique_ptr<Job> job;
    {
        MutexLock lock(mutex_);
        if (jobs_.empty())
            return {};
        if (waits)
            changed_.wait(lock, [this]() REQUIRES(mutex_) { return jobs_.front()->isDone; });
        if (!jobs_.front()->isDone)
            return {};
        job = std::move(jobs_.front());
        jobs_.pop_front();
    }
    if (job->error)
        std::rethrow_exception(job->error);
    return std::move(job->samples);
}

void SampleEvaluation::run(HostMetrics& host)
{
    MutexLock lock(mutex_);
    while (!ends_) {
        const auto next = std::ranges::find(jobs_, false, [](const auto& job) { return job->isBegun; });
        if (next == jobs_.end()) {
            changed_.wait(lock, [this]() REQUIRES(mutex_) {
                return ends_ || std::ranges::any_of(jobs_, [](const auto& job) { return !job->isBegun; });
            });
            continue;
        }
        Job& job = **next; // it stays until it is done
        job.isBegun = true;
        lock.unlock();
        std::exception_ptr error;
        try {
            evaluate(host, job.samples);
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        job.error = error;
        job.isDone = true;
        changed_.notifyAll();
    }
}

void SampleEvaluation::evaluate(HostMetrics& host, DecodedSamples& samples) const
{
    const auto begin = std::chrono::steady_clock::now();
    std::vector<const char*> names = pointersOf(metrics_);
    samples.values.assign(samples.times.size() * names.size(), 0);
    for (std::size_t i = 0; i < samples.times.size(); ++i) {
        auto evaluated = cupti::sized<cupti::EvaluateParams>();
        evaluated.host = host.host();
        evaluated.image = samples.image.data();
        evaluated.imageSize = samples.image.size();
        evaluated.range = i;
        evaluated.metrics = names.data();
        evaluated.count = names.size() - (samples.before + i < kSamplesForConstants ? 0 : constants_);
        evaluated.values = samples.values.data() + i * names.size();
        library_->require(library_->call("cuptiProfilerHostEvaluateToGpuValues", evaluated),
                          "evaluate a sample", device_);
    }
    samples.spent = std::chrono::steady_clock::now() - begin;
}

} // namespace tilescope::machine
