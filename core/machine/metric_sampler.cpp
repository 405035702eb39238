#include "core/machine/metric_sampler.h"

#include "core/base/current_error.h"
#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/machine/cupti_sampling.h"
#include "core/machine/metric_choice.h"
#include "core/machine/metric_log.h"
#include "core/machine/nvml_device.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <future>
#include <iterator>
#include <limits>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace tilescope::machine {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(20);   // until the program has loaded CUPTI
constexpr auto kEmpty = std::chrono::milliseconds(100); // between readings of the hardware's buffer
constexpr auto kLookForTurn = std::chrono::milliseconds(20);
constexpr auto kLeastPause = std::chrono::milliseconds(1);

/// Measured with the metrics: a constant.
constexpr const char* kPeak = "dram__bytes_read.sum.peak_sustained_elapsed.per_second";

/// Whether a program uses a device, as far as NVML tells.
bool isUsed(int device)
{
    const Nvml* nvml = Nvml::instance();
    const Nvml::Device handle = nvml ? deviceOf(*nvml, device) : nullptr;
    return !handle || !nvml->computeProcesses(handle).empty();
}

std::string joined(const std::vector<std::string>& words)
{
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::string intervalText(Nanoseconds interval)
{
    return quantity::withUnit(static_cast<double>(interval.count()), quantity::Unit::Nanoseconds);
}

/// What CUPTI's clock, which may be set like the host's wall clock, lacks to that of the recording.
class ClockOffset {
public:
    /// \return  the offset, in ns
    std::int64_t measure(const SamplingLibrary& library)
    {
        constexpr int kTries = 5; // this thread may be interrupted
        std::int64_t best = std::numeric_limits<std::int64_t>::max();
        std::int64_t measured = 0;
        for (int i = 0; i < kTries; ++i) {
            const std::int64_t before = nanosecondsOf(TraceClock::now());
            const std::int64_t theirs = library.now();
            const std::int64_t length = nanosecondsOf(TraceClock::now()) - before;
            if (theirs == 0 || length >= best)
                continue;
            best = length;
            measured = before + length / 2 - theirs;
        }
        if (!isKnown_ || std::abs(measured - offset_) > best)
            offset_ = measured;
        isKnown_ = true;
        return offset_;
    }

private:
    std::int64_t offset_ = 0;
    bool isKnown_ = false;
};

/// Signals are for the thread that passes them on to the program. Those that say that this thread failed are not blocked:
/// the kernel would end the process without a handler.
class SignalsBlocked {
public:
    SignalsBlocked()
    {
        sigset_t all;
        sigfillset(&all);
        for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
            sigdelset(&all, own);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    sigset_t before_{};
};

} // namespace

/// What the thread does, step by step.
class MetricSampler::Work {
public:
    explicit Work(MetricRequest request) : request_(std::move(request)) {}

    /// Begins as far as possible; call it again after the returned time. None: there is nothing to do any more.
    std::optional<Clock::duration> advance()
    {
        try {
            if (!driver_) {
                driver_.emplace(request_.driver);
                sources_.resize(static_cast<std::size_t>(driver_->devices()));
                for (int i = 0; i < driver_->devices(); ++i)
                    result_.uuids.push_back(driver_->uuid(i));
            }
            if (!library_) {
                const std::filesystem::path cupti = request_.cupti();
                if (cupti.empty())
                    return kLook;
                library_.emplace(cupti);
            }
            if (!request_.mayRun) {
                followAll();
                return kEmpty;
            }
            takeTurn();
            return kLookForTurn;
        } catch (const Error& error) {
            result_.whyNot = error.sentence();
        } catch (...) {
            result_.whyNot = currentError().sentence();
        }
        giveTurn();
        return {};
    }

    SampledMetrics finish()
    {
        std::vector<std::string> sampled;
        stopAll();
        for (std::size_t device = 0; device < sources_.size(); ++device) {
            Source& source = sources_[device];
            end(source);
            if (!source.wasSampled)
                continue;
            result_.samples += source.log->samples();
            result_.dropped += source.log->dropped();
            result_.lost += source.log->lost();
            sampled.push_back("GPU " + std::to_string(device));
            std::ranges::move(source.log->take(), std::back_inserter(result_.tracks));
        }
        if (library_ && sampled.empty() && result_.whyNot.empty())
            addReason("no program used a GPU");
        if (!library_ && result_.whyNot.empty())
            addReason("no program loaded CUPTI, as each does that uses a GPU and is recorded");
        if (!sampled.empty())
            result_.summary = counted(static_cast<std::int64_t>(names_.size()), "metric") + " of " +
                              joined(sampled) + " every " + intervalText(request_.interval) + ": " +
                              counted(result_.samples, "sample");
        if (times_.samples > 0) {
            const auto samples = static_cast<double>(times_.samples);
            result_.decoding = static_cast<double>(times_.decoding.count()) / samples;
            result_.evaluating = static_cast<double>(times_.evaluating.count()) / samples;
        }
        const MutexLock lock(peakMutex_);
        if (hasOnePeak_)
            result_.dramPeak = peak_;
        return std::move(result_);
    }

private:
    struct Source {
        std::unique_ptr<DeviceSampling> sampling;
        std::optional<MetricLog> log;   ///< none: the metrics are not chosen yet
        std::vector<std::string> cupti; ///< CUPTI's names of the metrics, and kPeak if hasPeak
        bool isRefused = false;
        bool wasSampled = false;
        bool hasPeak = false;
        double peak = 0;
    };

    /// Emptying the hardware's buffer takes half of the time in which it fills at the usual interval: of several GPUs, each has a
    /// thread for that.
    void followAll()
    {
        struct Reading {
            Source* source;
            std::future<void> done;
        };
        offset_ = clock_.measure(*library_);
        std::vector<Reading> readings;
        const bool areSeveral = std::ranges::count_if(sources_, [](const Source& source) {
                                    return source.sampling != nullptr;
                                }) > 1;
        for (Source& source : sources_)
            if (areSeveral && source.sampling)
                readings.push_back({&source, readBeside(source)});
        std::vector<const Source*> areRead;
        for (Reading& reading : readings) {
            areRead.push_back(reading.source);
            guarded(*reading.source, [&] { reading.done.get(); });
        }
        for (std::size_t device = 0; device < sources_.size(); ++device)
            if (std::ranges::find(areRead, &sources_[device]) == areRead.end())
                follow(static_cast<int>(device));
    }

    /// Starting takes half a second, in which what the other devices sample would find no room.
    void startBeside(int device, Source& source)
    {
        std::vector<Source*> others;
        for (Source& other : sources_)
            if (other.sampling)
                others.push_back(&other);
        std::atomic<bool> isStarted = false;
        std::vector<std::future<void>> readings;
        try {
            for (Source* const other : others)
                readings.push_back(std::async(std::launch::async, [this, other, &isStarted] {
                    for (; !isStarted; std::this_thread::sleep_for(kLookForTurn))
                        read(*other);
                }));
        } catch (const std::system_error&) { // there can be no more threads
        }
        std::exception_ptr failure;
        try {
            start(device, source);
        } catch (...) {
            failure = std::current_exception();
        }
        isStarted = true;
        for (std::size_t i = 0; i < readings.size(); ++i)
            guarded(*others[i], [&] { readings[i].get(); });
        if (failure)
            std::rethrow_exception(failure);
    }

    std::future<void> readBeside(Source& source)
    {
        const auto work = [this, &source] { read(source); };
        try {
            return std::async(std::launch::async, work);
        } catch (const std::system_error&) { // there can be no more threads
            return std::async(std::launch::deferred, work);
        }
    }

    /// A failure of CUPTI ends the sampling of the device.
    template <class Step> void guarded(Source& source, Step step)
    {
        try {
            step();
        } catch (const Error& error) {
            addReason(error.sentence());
            source.isRefused = true;
            source.sampling.reset();
        }
    }

    /// Samples until it is another's turn.
    void takeTurn()
    {
        if (hasStopped_)
            return;
        Nanoseconds busy{0};
        for (const Source& source : sources_)
            if (source.log)
                busy = std::max(busy, request_.interval * source.log->busy());
        if (std::ranges::all_of(sources_, &Source::isRefused) || !request_.mayRun(busy)) {
            stopAll();
            for (Source& source : sources_)
                end(source);
            return giveTurn();
        }
        const Clock::time_point now = Clock::now();
        if (now - followed_ < kEmpty)
            return;
        followed_ = now;
        followAll();
    }

    void giveTurn()
    {
        if (request_.hasStopped && !std::exchange(hasStopped_, true))
            request_.hasStopped();
    }

    /// All at the same time: reading what one has left takes a while.
    void stopAll()
    {
        for (Source& source : sources_)
            if (source.sampling)
                source.sampling->stop();
        if (library_)
            offset_ = clock_.measure(*library_);
    }

    void end(Source& source)
    {
        if (!source.sampling)
            return;
        try {
            read(source);
        } catch (const Error& error) {
            addReason(error.sentence());
        }
        const SamplingTimes times = source.sampling->times();
        times_.samples += times.samples;
        times_.decoding += times.decoding;
        times_.evaluating += times.evaluating;
        source.sampling.reset();
    }

    void follow(int device)
    {
        Source& source = sources_[static_cast<std::size_t>(device)];
        if (source.isRefused)
            return;
        guarded(source, [&] {
            if (source.sampling)
                read(source);
            else if (sources_.size() == 1 || isUsed(device))
                startBeside(device, source);
        });
    }

    void start(int device, Source& source)
    {
        if (!source.log)
            choose(device, source);
        if (!source.log)
            return;
        source.sampling = library_->start(device, source.cupti, source.hasPeak ? 1 : 0, request_.interval);
        source.wasSampled = true;
    }

    void choose(int device, Source& source)
    {
        const PassesOf passes = [&](std::span<const std::string> metrics) {
            return library_->passes(device, metrics);
        };
        const MetricChoice choice = chooseMetrics(request_.metrics, passes);
        if (!choice.unavailable.empty())
            addReason("GPU " + std::to_string(device) + " does not have " + joined(choice.unavailable));
        if (!choice.left.empty() && !request_.metrics.empty())
            addReason("GPU " + std::to_string(device) +
                      " cannot measure at the same time: " + joined(choice.left));
        if (choice.metrics.empty()) {
            source.isRefused = true;
            return;
        }
        std::vector<std::string> cupti;
        names_.clear();
        for (const ChosenMetric& metric : choice.metrics) {
            cupti.push_back(metric.cupti);
            names_.push_back(metric.name);
        }
        cupti.emplace_back(kPeak);
        source.hasPeak = passes(cupti) == 1;
        if (!source.hasPeak) { // it does not fit beside the others
            cupti.pop_back();
            notePeak(driver_->memoryPeak(device));
        }
        source.cupti = std::move(cupti);
        source.log.emplace(choice.metrics, DeviceIndex{static_cast<std::int16_t>(device)}, request_.interval);
    }

    /// Threads may read different devices at the same time.
    void read(Source& source)
    {
        const std::int64_t offset = offset_;
        source.sampling->read([&](std::int64_t start, std::int64_t end, std::span<const double> values) {
            if (source.hasPeak) {
                notePeak(values.back());
                values = values.first(values.size() - 1);
            }
            source.log->add(timestampAt(start + offset), timestampAt(end + offset), values);
        });
    }

    void notePeak(double peak)
    {
        constexpr double kSame = 0.01;
        constexpr double kMost = 1e15; // bytes per second
        if (!(peak > 0) || peak > kMost)
            return;
        const MutexLock lock(peakMutex_);
        if (peak_ == 0)
            peak_ = peak;
        hasOnePeak_ = hasOnePeak_ && std::abs(peak - peak_) <= kSame * peak_;
    }

    void addReason(const std::string& reason)
    {
        result_.whyNot += (result_.whyNot.empty() ? "" : "; ") + reason;
    }

    MetricRequest request_;
    std::optional<CudaDriver> driver_;
    std::optional<SamplingLibrary> library_;
    std::vector<Source> sources_; ///< by device
    std::vector<std::string> names_;
    ClockOffset clock_;
    std::int64_t offset_ = 0; ///< of CUPTI's clock, ns
    bool hasStopped_ = false;
    Clock::time_point followed_ = {};
    Mutex peakMutex_;
    double peak_ GUARDED_BY(peakMutex_) = 0;
    bool hasOnePeak_ GUARDED_BY(peakMutex_) = true; ///< devices with another peak would need one each
    SamplingTimes times_;                           ///< of sampling that has ended
    SampledMetrics result_;
};

MetricSampler::MetricSampler(MetricRequest request) : work_(std::make_unique<Work>(std::move(request)))
{
    const SignalsBlocked blocked;
    thread_.emplace("tilescope-pm", [this]() -> std::optional<Clock::time_point> {
        // From the beginning: decoding the samples takes a good part of the time in which they come.
        const Clock::time_point begin = Clock::now();
        const std::optional<Clock::duration> pause = work_->advance();
        return pause ? std::optional(std::max(begin + *pause, Clock::now() + kLeastPause)) : std::nullopt;
    });
}

MetricSampler::~MetricSampler() = default;

SampledMetrics MetricSampler::stop()
{
    thread_->end();
    return work_->finish();
}

} // namespace tilescope::machine
