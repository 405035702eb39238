#pragma once

#include "core/model/run.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::trace {

/// The hardware counters of one kernel.
struct KernelCounters {
    std::string path;           ///< range that launched it; empty if none
    std::vector<double> values; ///< values of CounterPlan::metrics()
};

/// The hardware metrics that the counters of a spec require, and how values of kernels are combined to those
/// of a range.
///
/// tensor_active, sm_active, dram_read, dram_write and l2_hit are Tilescope's names; all need a single pass
/// on a Hopper GPU. Any other name is a CUPTI metric: one that ends in `.sum` is summed, any other is
/// averaged over the time of the kernels.
class CounterPlan {
public:
    explicit CounterPlan(std::span<const std::string> counters);

    /// Metrics to read, each once; the first is the time of the kernel.
    const std::vector<std::string>& metrics() const { return metrics_; }

    /// Of every range that launched something, from `step` down; a range has what its inner ranges have too.
    /// \param instances  how often each range was entered; 1 if unknown
    std::vector<CounterValue> values(std::span<const KernelCounters> kernels,
                                     const std::map<std::string, std::int64_t>& instances,
                                     std::int64_t passes) const;

private:
    enum class Kind : std::uint8_t { Sum, Percent, Mean };
    struct Counter {
        std::string name;
        std::string unit;
        Kind kind;
        std::size_t value;  ///< index of a metric
        std::size_t of = 0; ///< Percent: index of the denominator
    };
    std::size_t metric(std::string_view name);
    void add(const std::string& name);
    double valueOf(const Counter& counter, std::span<const double> sums, std::span<const double> timed) const;

    std::vector<std::string> metrics_;
    std::vector<Counter> counters_;
};

} // namespace tilescope::trace
