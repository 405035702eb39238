#include "core/exchange/kernels/metrics_section.h"

#include "core/base/plural.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"
#include "core/model/metric.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tilescope::exchange {

namespace {

using query::MetricsGroup;
using query::MetricsRow;
using query::MetricsTable;
using query::MetricValue;

constexpr std::size_t kMetricsBySpace = 6; ///< columns that a narrow terminal keeps longest

/// A metric of a row.
struct ValueRow {
    std::size_t row = 0;
    std::size_t metric = 0;
};

/// The snapshot of valuesOf().
struct ValueRows {
    std::shared_ptr<const MetricsTable> metrics;
    std::vector<ValueRow> rows;

    const MetricsRow& rowOf(const ValueRow& at) const { return metrics->rows[at.row]; }
    const MetricValue& valueOf(const ValueRow& at) const { return rowOf(at).values[at.metric]; }
};

std::string metricsHeading(const MetricsTable& metrics)
{
    return describeRun(metrics.run) + "; by " + std::string(wordOf(metrics.group));
}

Unit shownUnit(std::string_view unit)
{
    return unit == "%" ? Unit::Percent : unit == "B/s" ? Unit::BytesPerSecond : Unit::None;
}

std::string titleWith(const query::SampledMetric& metric)
{
    return shownUnit(metric.unit) != Unit::None || metric.unit.empty() ? metric.name
                                                                       : metric.name + ", " + metric.unit;
}

/// The most samples that any metric has in a row: holes are those of all.
std::int64_t samplesOf(const MetricsRow& row)
{
    std::int64_t most = 0;
    for (const MetricValue& value : row.values)
        most = std::max(most, value.n);
    return most;
}

std::vector<std::string> metricsNotes(const MetricsTable& metrics)
{
    std::vector<std::string> notes{
        counted(metrics.samples, "sample") +
        (metrics.interval.count() > 0 ? " of each metric, one every " +
                                            quantity::withUnit(static_cast<double>(metrics.interval.count()),
                                                               quantity::Unit::Nanoseconds)
                                      : " of each metric") +
        "; samples in a row in which nothing happened are one."};
    if (metrics.group != MetricsGroup::Step)
        notes.push_back("A sample counts for a " + std::string(wordOf(metrics.group)) +
                        " that fills at least 95 % of it, alone; fewer than 10 samples give no mean.");
    else
        notes.push_back("A mean is over the whole step, with the time in which nothing runs.");
    if (std::ranges::any_of(metrics.rows, [](const MetricsRow& row) { return row.opBytes.has_value(); }))
        notes.push_back("Bytes of the ops are what they read and write at least.");
    if (std::ranges::any_of(metrics.rows, [](const MetricsRow& row) { return row.tensorRate.has_value(); }))
        notes.push_back("Tensor pipe: FLOP/s at most, its active share of the rate of the data sheet at the "
                        "precision in the kernel's name, otherwise at that of most of the run's arithmetic.");
    if (!metrics.turns.empty())
        notes.push_back("A part of the run: " + metrics.turns + ".");
    return notes;
}

} // namespace

std::string whyNoMetrics(const MetricsTable& metrics)
{
    if (metrics.metrics.empty())
        return metrics.recorded.empty() ? "no metrics: record with --metrics" : metrics.recorded;
    return "no kernel, copy or step of this selection has samples";
}

Table tableOf(std::shared_ptr<const MetricsTable> metrics)
{
    const auto column = columnsOf(metrics);
    Table table{.heading = metricsHeading(*metrics),
                .rows = metrics->rows.size(),
                .whyEmpty = whyNoMetrics(*metrics)};
    if (metrics->group == MetricsGroup::Step) {
        const bool hasRanks =
            std::ranges::any_of(metrics->rows, [](const MetricsRow& row) { return row.rank.has_value(); });
        if (hasRanks)
            table.columns.push_back(column("rank", "rank", &MetricsRow::rank, {.keep = 2}));
        table.columns.push_back(column("step", "step", &MetricsRow::step, {.keep = 2}));
    } else {
        const bool isByName = metrics->group == MetricsGroup::Kernel;
        table.columns.push_back(
            column("kernel", isByName ? "kernel" : "family",
                   [isByName](const MetricsRow& row) {
                       return !isByName ? row.family : row.shortName.empty() ? row.kernel : row.shortName;
                   },
                   {.keep = 2, .elidable = true}));
        table.columns.push_back(column("instances", "count", &MetricsRow::instances, {.keep = 0}));
    }
    table.columns.push_back(column("time", "total", &MetricsRow::time));
    for (std::size_t i = 0; i < metrics->metrics.size(); ++i)
        table.columns.push_back(
            column(metrics->metrics[i].key, titleWith(metrics->metrics[i]),
                   [i](const MetricsRow& row) { return row.values[i].mean; },
                   {.unit = shownUnit(metrics->metrics[i].unit), .keep = i < kMetricsBySpace ? 1 : 0}));
    const auto hasAny = [&](auto member) {
        return std::ranges::any_of(metrics->rows,
                                   [member](const MetricsRow& row) { return (row.*member).has_value(); });
    };
    if (hasAny(&MetricsRow::tensorRate))
        table.columns.push_back(
            column("tensor_flops", "tensor pipe", &MetricsRow::tensorRate, {.unit = Unit::FlopsPerSecond}));
    if (hasAny(&MetricsRow::dramBytes)) {
        table.columns.push_back(column("dram_bytes", "DRAM bytes", &MetricsRow::dramBytes,
                                       {.unit = Unit::Bytes, .unitGroup = 1}));
        table.columns.push_back(
            column("op_bytes", "of the ops", &MetricsRow::opBytes, {.unit = Unit::Bytes, .unitGroup = 1}));
    }
    table.columns.push_back(
        column("samples", "samples", [](const MetricsRow& row) { return samplesOf(row); }));
    if (table.rows > 0)
        table.notes = metricsNotes(*metrics);
    return table;
}

Table valuesOf(std::shared_ptr<const MetricsTable> metrics)
{
    auto values = std::make_shared<ValueRows>();
    values->metrics = metrics;
    for (std::size_t row = 0; row < metrics->rows.size(); ++row)
        for (std::size_t metric = 0; metric < metrics->metrics.size(); ++metric)
            values->rows.push_back({row, metric});
    const std::shared_ptr<const ValueRows> snapshot = std::move(values);
    const ValueRows* const all = snapshot.get();
    const auto column = columnsOf(snapshot);
    const auto ofRow = [all](auto get) {
        return [all, get](const ValueRow& at) { return toCell(std::invoke(get, all->rowOf(at))); };
    };
    const auto ofValue = [all](auto get) {
        return [all, get](const ValueRow& at) { return toCell(std::invoke(get, all->valueOf(at))); };
    };
    const auto ofMetric = [all](auto get) {
        return [all, get](const ValueRow& at) {
            return toCell(std::invoke(get, all->metrics->metrics[at.metric]));
        };
    };
    Table table{.heading = metricsHeading(*metrics),
                .rows = snapshot->rows.size(),
                .whyEmpty = whyNoMetrics(*metrics)};
    table.columns = {
        column.programs("run", [run = metrics->run.run.value](const ValueRow&) { return std::int64_t{run}; }),
        column.programs("kernel", ofRow([](const MetricsRow& row) { return cellOrNull(row.kernel); })),
        column.programs("family", ofRow([](const MetricsRow& row) { return cellOrNull(row.family); })),
        column.programs("rank", ofRow(&MetricsRow::rank)),
        column.programs("process", ofRow([](const MetricsRow& row) { return row.numbers.process; })),
        column.programs("pid", ofRow([](const MetricsRow& row) { return row.numbers.pid; })),
        column.programs("step", ofRow(&MetricsRow::step)),
        column.programs("instances", ofRow(&MetricsRow::instances)),
        column.programs("total_ns", ofRow(&MetricsRow::time)),
        column.programs("metric",
                        ofMetric([](const query::SampledMetric& metric) { return cellOrNull(metric.key); })),
        column.programs("unit",
                        ofMetric([](const query::SampledMetric& metric) { return cellOrNull(metric.unit); })),
        column.programs("mean", ofValue(&MetricValue::mean)),
        column.programs("n", ofValue(&MetricValue::n)),
        column.programs("ci95", ofValue(&MetricValue::ci95)),
        column.programs("covered_percent", ofRow([](const MetricsRow& row) { return 100 * row.covered; })),
        column.programs("interval_ns",
                        [interval = metrics->interval](const ValueRow&) {
                            return interval.count() > 0 ? Cell(std::int64_t{interval.count()}) : Cell();
                        }),
        column.programs("bytes", ofValue(&MetricValue::bytes)),
        column.programs("op_bytes", ofRow(&MetricsRow::opBytes)),
        column.programs("dram_bytes", ofRow(&MetricsRow::dramBytes)),
        column.programs("tensor_flops_per_second", ofRow(&MetricsRow::tensorRate))};
    return table;
}

} // namespace tilescope::exchange
