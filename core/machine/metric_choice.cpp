#include "core/machine/metric_choice.h"

#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/model/metric.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tilescope::machine {

namespace {

/// The names that CUPTI has for a metric on one chip or another, the best first.
struct Candidates {
    std::string_view key;
    std::array<std::string_view, 4> names;
};

// Those of the group TriageCompute are made for sampling: counted once for two multiprocessors, they take half the time to
// read, and their values are the same within a fifth of a point (H200). `_realtime` counters are those that sampling reads
// on chips where the plain ones need several passes.
constexpr Candidates kCandidates[] = {
    {"sm_active",
     {"TPC.TriageCompute.sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
      "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"}},
    {"tensor_active",
     {"TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
      "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
      "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
      "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed"}},
    {"instructions",
     {"TPC.TriageCompute.sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed",
      "sm__inst_executed.avg.pct_of_peak_sustained_elapsed",
      "sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed"}},
    {"dram_read",
     {"FBSP.TriageCompute.dramc__read_throughput.avg.pct_of_peak_sustained_elapsed",
      "FBSP.TriageCompute.dram__read_throughput.avg.pct_of_peak_sustained_elapsed",
      "dram__bytes_read.sum.pct_of_peak_sustained_elapsed",
      "dram__read_throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"dram_write",
     {"FBSP.TriageCompute.dramc__write_throughput.avg.pct_of_peak_sustained_elapsed",
      "FBSP.TriageCompute.dram__write_throughput.avg.pct_of_peak_sustained_elapsed",
      "dram__bytes_write.sum.pct_of_peak_sustained_elapsed",
      "dram__write_throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"pcie_in", {"PCI.TriageCompute.pcie__read_bytes.sum.per_second", "pcie__read_bytes.sum.per_second"}},
    {"pcie_out", {"PCI.TriageCompute.pcie__write_bytes.sum.per_second", "pcie__write_bytes.sum.per_second"}},
    {"nvlink_in",
     {"NVLRX.TriageCompute.nvlrx__bytes_data_user.sum.per_second", "nvlrx__bytes_data_user.sum.per_second",
      "nvlrx__bytes.sum.per_second"}},
    {"nvlink_out",
     {"NVLTX.TriageCompute.nvltx__bytes_data_user.sum.per_second", "nvltx__bytes_data_user.sum.per_second",
      "nvltx__bytes.sum.per_second"}},
    {"gpc_clock", {"gpc__cycles_elapsed.avg.per_second"}},
    {"tensor_float",
     {"TPC.TriageCompute.sm__pipe_tensor_op_hmma_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
      "TPC.TriageCompute.sm__pipe_tensor_subpipe_hmma_cycles_active_realtime.avg.pct_of_peak_sustained_"
      "elapsed"}},
    {"tensor_integer",
     {"TPC.TriageCompute.sm__pipe_tensor_op_imma_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
      "TPC.TriageCompute.sm__pipe_tensor_subpipe_imma_cycles_active_realtime.avg.pct_of_peak_sustained_"
      "elapsed"}},
    {"warps",
     {"TPC.TriageCompute.tpc__warps_active_shader_cs_realtime.avg.pct_of_peak_sustained_elapsed",
      "sm__warps_active.avg.pct_of_peak_sustained_elapsed",
      "tpc__warps_active_shader_cs_realtime.avg.pct_of_peak_sustained_elapsed"}},
};
static_assert(std::size(kCandidates) == std::size(kMetrics));

constexpr std::string_view unitOfCupti(std::string_view name)
{
    if (name.find(".pct") != std::string_view::npos)
        return "%";
    if (name.ends_with(".per_second"))
        return name.find("bytes") != std::string_view::npos    ? "B/s"
               : name.find("cycles") != std::string_view::npos ? "Hz"
                                                               : "";
    return "";
}

/// What a request stands for: the names to try, in order.
std::vector<ChosenMetric> candidatesOf(const std::string& requested)
{
    const auto* const known = std::ranges::find(kCandidates, requested, &Candidates::key);
    if (known == std::ranges::end(kCandidates))
        return {{requested, std::string(unitOfCupti(requested)), requested}};
    const MetricInfo& info = *std::ranges::find(kMetrics, requested, &MetricInfo::key);
    std::vector<ChosenMetric> all;
    for (const std::string_view name : known->names)
        if (!name.empty())
            all.push_back({std::string(info.name), std::string(info.unit), std::string(name)});
    return all;
}

class Choosing {
public:
    explicit Choosing(const PassesOf& passes) : passes_(passes) {}

    enum class Outcome : std::uint8_t { Taken, Unavailable, Left };

    Outcome take(const std::string& requested)
    {
        Outcome outcome = Outcome::Unavailable;
        for (ChosenMetric& candidate : candidatesOf(requested)) {
            names_.push_back(candidate.cupti);
            if (passes_(names_) == 1) {
                choice.metrics.push_back(std::move(candidate));
                return Outcome::Taken;
            }
            const std::string alone[] = {std::move(names_.back())};
            names_.pop_back();
            if (passes_(alone) > 0)
                outcome = Outcome::Left;
        }
        return outcome;
    }

    MetricChoice choice;

private:
    const PassesOf& passes_;
    std::vector<std::string> names_;
};

} // namespace

MetricChoice chooseMetrics(std::span<const std::string> requested, const PassesOf& passes)
{
    std::vector<std::string> all;
    if (requested.empty())
        for (const MetricInfo& info : kMetrics)
            if (info.isUsual)
                all.emplace_back(info.key);
    Choosing choosing(passes);
    for (const std::string& each : requested.empty() ? std::span<const std::string>(all) : requested) {
        const Choosing::Outcome outcome = choosing.take(each);
        if (outcome == Choosing::Outcome::Left)
            choosing.choice.left.push_back(each);
        else if (outcome == Choosing::Outcome::Unavailable && !requested.empty())
            choosing.choice.unavailable.push_back(each);
    }
    return std::move(choosing.choice);
}

std::vector<std::string> requestedMetrics(std::string_view list)
{
    std::vector<std::string_view> keys;
    for (const MetricInfo& info : kMetrics)
        keys.push_back(info.key);
    std::vector<std::string> requested;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        const std::string part(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
        const bool isCupti =
            part.find(kMetricOfCupti) != std::string::npos && std::ranges::all_of(part, [](unsigned char c) {
                return std::isalnum(c) || c == '_' || c == '.';
            });
        if (!isCupti && std::ranges::find(keys, part) == keys.end())
            throw Error{.what = "there is no metric '" + part + "'",
                        .where = "--metrics",
                        .remedy = didYouMean(part, keys) + "; a metric of CUPTI, such as "
                                                           "lts__t_sectors.sum.per_second, can be given too"};
        if (std::ranges::find(requested, part) == requested.end())
            requested.push_back(part);
    }
    return requested;
}

} // namespace tilescope::machine
