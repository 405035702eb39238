#pragma once

#include "core/analysis/stats/statistics.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/process_rank.h"
#include "core/query/work/work_tables.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// What the rows of a MetricsTable are.
enum class MetricsGroup : std::uint8_t { Kernel, Family, Step };
std::string_view wordOf(MetricsGroup group);
/// \throws Error (Usage)  there is no such group; names those that there are
MetricsGroup metricsGroupOf(std::string_view word);

struct MetricsQuery {
    std::optional<RunId> run = {};         ///< none: the last run of the file
    ProcessQuery topology = {};            ///< only these processes and devices; empty: all
    std::optional<std::int32_t> step = {}; ///< only this step
    MetricsGroup group = MetricsGroup::Kernel;
};

/// A metric that was sampled (core/model/metric.h).
struct SampledMetric {
    std::string key; ///< sm_active, or CUPTI's name
    std::string name;
    std::string unit;
};

/// The mean of a metric over the samples of a row.
struct MetricValue {
    std::optional<double> mean = {};                       ///< none for fewer than ten samples
    std::optional<analysis::ConfidenceInterval> ci95 = {}; ///< of the mean
    std::int64_t n = 0;                                    ///< samples
    /// Bytes that this mean stands for in the time of the row; none: not a rate of bytes, or no mean.
    std::optional<double> bytes = {};
};

/// Samples of kernels of one name or family, or of a step. Members without a value do not apply to the row.
struct MetricsRow {
    std::string kernel = {};    ///< full name
    std::string shortName = {}; ///< of the kernel
    std::string family = {};
    std::optional<std::int32_t> step = {};
    std::optional<std::int32_t> rank = {}; ///< of the step
    ProcessNumbers numbers = {};           ///< likewise
    std::int64_t instances = 0;            ///< kernels; of a step 1
    Nanoseconds time{0};                   ///< sum of their durations; wall time of a step
    double covered = 0;                    ///< share of `time` that the samples fill
    std::vector<MetricValue> values = {};  ///< of MetricsTable::metrics
    /// Bytes of device memory that the samples stand for in `time`, read and written; none: one of them has no mean.
    std::optional<double> dramBytes = {};
    /// FLOP/s: the share of the time in which the tensor pipe works, of what the data sheet says it can do at the precision
    /// in the kernel's name, otherwise at that of most of the run's arithmetic, at the sampled clock of the multiprocessors;
    /// at most, if that clock or the data sheet's is unknown. None: no mean, or no data sheet; of steps none.
    std::optional<double> tensorRate = {};
    /// Bytes that the ops behind the row's kernels read and write at least; none: unknown, or only of a part of them.
    std::optional<std::int64_t> opBytes = {};
};

struct MetricsTable {
    store::RunRecord run = {};
    MetricsGroup group = MetricsGroup::Kernel;
    std::vector<SampledMetric> metrics = {};
    std::vector<MetricsRow> rows = {}; ///< costliest first; steps in order
    Nanoseconds interval{0};
    std::int64_t samples = 0; ///< of the selected devices, in the recording
    DeviceCeilings ceilings =
        {}; ///< by the data sheet, where the rate of the tensor pipe of most time is from; or none
    std::string recorded = {}; ///< what `record` says of the metrics; empty: nothing
    std::string turns = {};    ///< kSamplingTurns; empty: metrics were sampled all the time

    /// The place of a metric in `metrics`, by its name; none if it was not sampled.
    std::optional<std::size_t> find(std::string_view name) const;
};

/// The metrics of a run, each sample by the kernel, family or step that it is of: analysis::sampleOwners(). A sample is of
/// a step if at least 95 % of it lie in the step's wall time.
/// \param cancelled  checked regularly; true returns an empty table
/// \throws Error  there is no such run, rank, process or device
/// O(events + samples x metrics); holds the events of the devices, 24 bytes each.
MetricsTable metrics(
    const store::RunReader& reader, const MetricsQuery& query,
    const std::function<bool()>& cancelled = [] { return false; });

} // namespace tilescope::query
