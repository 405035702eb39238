#pragma once

#include "core/machine/metric_choice.h"
#include "core/model/counter_track.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilescope::machine {

/// Keeps the samples of one GPU and makes tracks of them. One thread.
///
/// A sample that cannot be true is dropped: one above 100 % by more than rounding, with a value that is negative or no
/// number, or whose length differs from the interval by more than a tenth, as happens where the hardware was interrupted.
/// Samples that are missing between two others are lost: those that the hardware had no room for. Both leave a hole in the
/// tracks. Samples in a row in which nothing at all happened are kept as one.
///
/// Takes about 60 bytes a sample. What comes after kMostSamples is lost.
class MetricLog {
public:
    static constexpr std::size_t kMostSamples = 2'000'000; ///< 200 s at 100 us in which something happens

    MetricLog(std::vector<ChosenMetric> metrics, DeviceIndex device, Nanoseconds interval);

    /// \param start, end  on the clock of the recording; samples come in the order of time
    /// \param values      of the metrics, in their units
    void add(Timestamp start, Timestamp end, std::span<const double> values);

    const std::vector<ChosenMetric>& metrics() const { return metrics_; }
    std::int64_t samples() const { return samples_; }
    std::int64_t busy() const { return busy_; } ///< of the samples, those in which kernels ran
    std::int64_t dropped() const { return dropped_; }
    std::int64_t lost() const { return lost_; }
    /// The tracks of the metrics, one after the other; each may have several, with holes between them.
    std::vector<CounterTrack> take();

private:
    /// Samples without a hole between them: from first to last.
    struct Stretch {
        std::size_t first = 0;
        Timestamp end{};
    };
    bool isPossible(Nanoseconds length, std::span<const double> values) const;
    bool isIdle(std::span<const double> values) const;
    /// Whether kernels ran in a sample: PCIe has traffic without any. Where that is not measured, whether anything happened.
    bool isBusy(std::span<const double> values) const;

    std::vector<ChosenMetric> metrics_;
    DeviceIndex device_;
    Nanoseconds interval_;
    std::vector<Timestamp> starts_;
    std::vector<std::vector<float>> values_; ///< by metric
    std::vector<Stretch> stretches_;
    Timestamp last_{}; ///< the end of the last sample, kept or not
    bool wasIdle_ = false;
    std::int64_t samples_ = 0;
    std::int64_t busy_ = 0;
    std::int64_t dropped_ = 0;
    std::int64_t lost_ = 0;
};

} // namespace tilescope::machine
