#pragma once

#include "core/model/run.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::trace {

/// What the hardware counted while one kernel ran.
struct KernelCounters {
    std::string path;           ///< range that launched it; empty where it belongs to none
    std::vector<double> values; ///< of CounterPlan::metrics()
};

/// Which metrics of the hardware the counters of a spec are made of, and how those of kernels make that of a
/// range.
///
/// tensor_active, sm_active, dram_read, dram_write and l2_hit are ours, all from one pass on a Hopper GPU;
/// any other name is a metric of CUPTI's and goes through as it is: one that ends in `.sum` is added up, any
/// other is averaged over the time of the kernels.
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
        std::size_t of = 0; ///< Percent: of which other
    };
    std::size_t metric(std::string_view name);
    void add(const std::string& name);
    double valueOf(const Counter& counter, std::span<const double> sums, std::span<const double> timed) const;

    std::vector<std::string> metrics_;
    std::vector<Counter> counters_;
};

} // namespace tilescope::trace
