#include "core/machine/device_sampling.h"

#include "core/machine/sample_evaluation.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace tilescope::machine {

namespace {

// The sampling time that one image holds. It must exceed the time between two readings, because samples that arrive while the image is
// full are lost: on an H200, 2 % at an interval of 100 us, with images of 150 ms and 160 ms between readings.
constexpr std::int64_t kTimeOfImageNs = 250'000'000;
constexpr std::int64_t kLeastSamplesOfImage = 128;
constexpr std::int64_t kMostSamplesOfImage = 4096;
constexpr int kMostEvaluators = 2; ///< evaluating a sample takes about as long as the usual interval

/// Of the processors that this process may use, one is for the thread that empties the hardware's buffer.
int threadsToEvaluate()
{
    cpu_set_t processors;
    const bool isKnown = sched_getaffinity(0, sizeof processors, &processors) == 0;
    return std::clamp((isKnown ? CPU_COUNT(&processors) : kMostEvaluators) - 1, 1, kMostEvaluators);
}

class RealSampling final : public DeviceSampling {
public:
    RealSampling(std::shared_ptr<SamplingFunctions> library, int device, std::vector<std::string> metrics,
                 std::size_t constants, Nanoseconds interval)
        : library_(std::move(library)), device_(device), metrics_(std::move(metrics)),
          config_(HostMetrics(*library_, device_).configuration(metrics_)),
          evaluation_(library_, device_, metrics_, constants, threadsToEvaluate())
    {
        auto enabled = cupti::sized<cupti::EnableParams>();
        enabled.device = static_cast<std::size_t>(device);
        require(library_->call("cuptiPmSamplingEnable", enabled), "sample the counters");
        sampling_ = enabled.sampling;
        try {
            configure(interval);
        } catch (...) {
            disable();
            throw;
        }
    }
    ~RealSampling() override
    {
        stop();
        disable();
    }

    bool read(const Take& take) override
    {
        bool overflow = false;
        for (bool isMore = true; isMore;) {
            if (evaluation_.hasRoom())
                isMore = decode(overflow);
            else if (runs_)
                break; // the hardware keeps them, as far as it has room
            else
                pass(take, true);
        }
        while (pass(take, !runs_)) {
        }
        return overflow;
    }

    void stop() override
    {
        if (!std::exchange(runs_, false))
            return;
        auto stopped = cupti::sized<cupti::SamplingParams>();
        stopped.sampling = sampling_;
        library_->call("cuptiPmSamplingStop", stopped);
    }

    SamplingTimes times() const override { return times_; }

private:
    void require(cupti::Result result, std::string_view what) const
    {
        library_->require(result, what, device_);
    }

    void configure(Nanoseconds interval)
    {
        auto set = cupti::sized<cupti::SetConfigParams>();
        set.sampling = sampling_;
        set.configSize = config_.size();
        set.config = config_.data();
        set.interval = static_cast<std::uint64_t>(interval.count());
        cupti::Result result = library_->call("cuptiPmSamplingSetConfig", set);
        if (result == cupti::kInvalidParameter) { // the structure of CUDA 12.6 has no `append`
            set.head.size = offsetof(cupti::SetConfigParams, append);
            result = library_->call("cuptiPmSamplingSetConfig", set);
        }
        require(result, "sample at this interval");
        std::vector<const char*> names = pointersOf(metrics_);
        auto size = cupti::sized<cupti::ImageSizeParams>();
        size.sampling = sampling_;
        size.metrics = names.data();
        size.count = names.size();
        size.samples = static_cast<std::uint32_t>(
            std::clamp<std::int64_t>(kTimeOfImageNs / std::max<std::int64_t>(interval.count(), 1),
                                     kLeastSamplesOfImage, kMostSamplesOfImage));
        require(library_->call("cuptiPmSamplingGetCounterDataSize", size), "size its samples");
        imageSize_ = size.size;
        auto started = cupti::sized<cupti::SamplingParams>();
        started.sampling = sampling_;
        require(library_->call("cuptiPmSamplingStart", started), "start sampling");
        runs_ = true;
    }

    void disable()
    {
        auto disabled = cupti::sized<cupti::SamplingParams>();
        disabled.sampling = sampling_;
        library_->call("cuptiPmSamplingDisable", disabled);
    }

    /// An image without samples, as each call that decodes them gets it in NVIDIA's own sample.
    void provideImage()
    {
        if (!decoded_.image.empty())
            return;
        if (!spare_.empty()) {
            decoded_.image = std::move(spare_.back());
            spare_.pop_back();
        }
        decoded_.image.resize(imageSize_);
        auto made = cupti::sized<cupti::ImageParams>();
        made.sampling = sampling_;
        made.size = decoded_.image.size();
        made.image = decoded_.image.data();
        require(library_->call("cuptiPmSamplingCounterDataImageInitialize", made), "keep samples");
    }

    /// Decodes what one image holds and gives it to be evaluated.
    /// \return  whether there may be more
    bool decode(bool& overflow)
    {
        const auto begin = std::chrono::steady_clock::now();
        provideImage();
        auto decoded = cupti::sized<cupti::DecodeParams>();
        decoded.sampling = sampling_;
        decoded.image = decoded_.image.data();
        decoded.imageSize = decoded_.image.size();
        const cupti::Result result = library_->call("cuptiPmSamplingDecodeData", decoded);
        overflow = overflow || decoded.overflow != 0 || result == cupti::kOutOfMemory;
        if (result != cupti::kOutOfMemory)
            require(result, "decode samples");
        auto info = cupti::sized<cupti::ImageInfoParams>();
        info.image = decoded_.image.data();
        info.imageSize = decoded_.image.size();
        require(library_->call("cuptiPmSamplingGetCounterDataInfo", info), "count samples");
        if (info.completed == 0)
            return false; // the image is decoded into again
        for (std::size_t i = 0; i < info.completed; ++i) {
            auto sample = cupti::sized<cupti::SampleInfoParams>();
            sample.sampling = sampling_;
            sample.image = decoded_.image.data();
            sample.imageSize = decoded_.image.size();
            sample.sample = i;
            require(library_->call("cuptiPmSamplingCounterDataGetSampleInfo", sample), "read a sample");
            decoded_.times.emplace_back(static_cast<std::int64_t>(sample.start),
                                        static_cast<std::int64_t>(sample.end));
        }
        decoded_.before = decodedSamples_;
        decodedSamples_ += info.completed;
        evaluation_.give(std::exchange(decoded_, {}));
        times_.decoding += std::chrono::steady_clock::now() - begin;
        return decoded.stopReason == cupti::kImageIsFull;
    }

    /// Passes on the samples of the first image that is not passed on.
    /// \return  whether there was one
    bool pass(const Take& take, bool waits)
    {
        std::optional<DecodedSamples> samples = evaluation_.take(waits);
        if (!samples)
            return false;
        const std::size_t metrics = metrics_.size();
        for (std::size_t i = 0; i < samples->times.size(); ++i)
            take(samples->times[i].first, samples->times[i].second,
                 std::span(samples->values).subspan(i * metrics, metrics));
        times_.samples += std::ssize(samples->times);
        times_.evaluating += samples->spent;
        spare_.push_back(std::move(samples->image));
        return true;
    }

    std::shared_ptr<SamplingFunctions> library_;
    int device_;
    std::vector<std::string> metrics_;
    std::vector<std::uint8_t> config_; ///< CUPTI reads it while it decodes
    SampleEvaluation evaluation_;
    std::size_t imageSize_ = 0;
    DecodedSamples decoded_;                       ///< with the image that is decoded into
    std::vector<std::vector<std::uint8_t>> spare_; ///< images
    std::uint64_t decodedSamples_ = 0;
    SamplingTimes times_;
    void* sampling_ = nullptr;
    bool runs_ = false;
};

} // namespace

std::unique_ptr<DeviceSampling> sampleDevice(std::shared_ptr<SamplingFunctions> library, int device,
                                             std::vector<std::string> metrics, std::size_t constants,
                                             Nanoseconds interval)
{
    return std::make_unique<RealSampling>(std::move(library), device, std::move(metrics), constants,
                                          interval);
}

} // namespace tilescope::machine
