#include "core/trace/counters/counter_plan.h"

#include <algorithm>

namespace tilescope::trace {

namespace {

constexpr std::string_view kTime = "gpu__time_duration.sum";
constexpr std::string_view kTensor = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed";
constexpr std::string_view kElapsed = "sm__cycles_elapsed.sum";

} // namespace

CounterPlan::CounterPlan(std::span<const std::string> counters)
{
    metric(kTime);
    for (const std::string& name : counters)
        add(name);
}

std::size_t CounterPlan::metric(std::string_view name)
{
    const auto found = std::ranges::find(metrics_, name);
    if (found == metrics_.end())
        return metrics_.emplace_back(name), metrics_.size() - 1;
    return static_cast<std::size_t>(found - metrics_.begin());
}

void CounterPlan::add(const std::string& name)
{
    // Sums where CUPTI has them, not its percentages: those of several kernels do not make that of a range.
    if (name == "tensor_active") {
        // An SM has several tensor pipes, and only CUPTI knows how many: of its cycles they sum up to more
        // than all.
        counters_.push_back({name, "%", Kind::Mean, metric(kTensor)});
    } else if (name == "sm_active") {
        counters_.push_back({name, "%", Kind::Percent, metric("sm__cycles_active.sum"), metric(kElapsed)});
    } else if (name == "l2_hit") {
        counters_.push_back({name, "%", Kind::Percent, metric("lts__t_tag_requests_hit.sum"),
                             metric("lts__t_tag_requests.sum")});
    } else if (name == "dram_read") {
        counters_.push_back({name, "B", Kind::Sum, metric("dram__bytes_read.sum")});
    } else if (name == "dram_write") {
        counters_.push_back({name, "B", Kind::Sum, metric("dram__bytes_write.sum")});
    } else if (name.ends_with(".sum")) {
        const bool bytes = name.find("bytes") != std::string::npos;
        counters_.push_back({name, bytes ? "B" : name == kTime ? "ns" : "1", Kind::Sum, metric(name)});
    } else {
        counters_.push_back(
            {name, name.find("pct") != std::string::npos ? "%" : "1", Kind::Mean, metric(name)});
    }
}

double CounterPlan::valueOf(const Counter& counter, std::span<const double> sums,
                            std::span<const double> timed) const
{
    const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
    switch (counter.kind) {
    case Kind::Sum:
        return sums[counter.value];
    case Kind::Percent:
        return 100 * share(sums[counter.value], sums[counter.of]);
    case Kind::Mean:
        return share(timed[counter.value], sums[0]);
    }
    return 0;
}

std::vector<CounterValue> CounterPlan::values(std::span<const KernelCounters> kernels,
                                              const std::map<std::string, std::int64_t>& instances,
                                              std::int64_t passes) const
{
    struct Totals {
        std::vector<double> sums;
        std::vector<double> timed; ///< each value times its kernel's time
    };
    std::map<std::string, Totals> ranges;
    for (const KernelCounters& kernel : kernels) {
        for (std::string_view path = kernel.path; !path.empty();) {
            Totals& totals = ranges[std::string(path)];
            totals.sums.resize(metrics_.size());
            totals.timed.resize(metrics_.size());
            for (std::size_t i = 0; i < metrics_.size(); ++i) {
                totals.sums[i] += kernel.values[i];
                totals.timed[i] += kernel.values[i] * kernel.values[0];
            }
            const std::size_t slash = path.rfind('/');
            path = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
        }
    }
    std::vector<CounterValue> values;
    for (const auto& [path, totals] : ranges) {
        const auto entered = instances.find(path);
        for (const Counter& counter : counters_) {
            values.push_back({.path = path,
                              .metric = counter.name,
                              .value = valueOf(counter, totals.sums, totals.timed),
                              .unit = counter.unit,
                              .instances = entered == instances.end() ? 1 : entered->second,
                              .passes = passes});
        }
    }
    return values;
}

} // namespace tilescope::trace
