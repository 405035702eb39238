#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::machine {

/// A metric that is sampled.
struct ChosenMetric {
    std::string name; ///< of its CounterTrack
    std::string unit;
    std::string cupti; ///< the name that CUPTI has for it

    bool operator==(const ChosenMetric&) const = default;
};

struct MetricChoice {
    std::vector<ChosenMetric> metrics;    ///< that the GPU can measure together
    std::vector<std::string> unavailable; ///< keys and names that this GPU does not have
    std::vector<std::string> left;        ///< that would need another pass, which sampling cannot make
};

/// How many passes a GPU needs to measure these metrics of CUPTI; 0: it does not have one of them.
using PassesOf = std::function<std::int64_t(std::span<const std::string> metrics)>;

/// The metrics to sample: of those asked for, in this order, each that can be measured together with those before it.
/// \param requested  keys of kMetrics and names of CUPTI's metrics; empty: the usual ones, without mention of those that the GPU
///                   does not have
MetricChoice chooseMetrics(std::span<const std::string> requested, const PassesOf& passes);

/// The parts of the argument of `--metrics`.
/// \throws Error (Usage)  a part is neither a key of kMetrics nor looks like a metric of CUPTI; names the most similar key
std::vector<std::string> requestedMetrics(std::string_view list);

} // namespace tilescope::machine
