#include "core/query/kernels/metrics_table.h"

#include "core/analysis/time/sample_owners.h"
#include "core/analysis/work/device_sheets.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/model/metric.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/path/path_steps.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/run_kernels.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

namespace tilescope::query {

namespace {

using analysis::Interval;
using analysis::OwnedWork;

constexpr double kWholePercent = 100;
constexpr double kNanosecondsPerSecond = 1e9;

constexpr std::array<std::pair<MetricsGroup, std::string_view>, 3> kMetricsGroups{
    {{MetricsGroup::Kernel, "kernel"}, {MetricsGroup::Family, "family"}, {MetricsGroup::Step, "step"}}};

/// The samples of one metric of one device, in the order of time.
struct MetricSeries {
    std::size_t metric = 0;
    std::vector<Interval> times = {};
    std::vector<double> values = {};
};

/// Values of a metric by row.
struct MetricSamples {
    std::vector<double> values;
    Nanoseconds time{0};
};

class MetricsReading {
public:
    MetricsReading(const store::RunReader& reader, const MetricsQuery& query,
                   const std::function<bool()>& cancelled)
        : reader_(reader), query_(query), cancelled_(cancelled), run_(chooseRun(reader, query.run).run),
          filter_(reader, run_, query.topology), kernels_(reader, run_)
    {
        table_.run = chooseRun(reader, query.run);
        table_.group = query.group;
    }

    MetricsTable read()
    {
        readFacts();
        readSeries();
        if (series_.empty())
            return std::move(table_);
        if (query_.group == MetricsGroup::Step)
            addSteps();
        else
            addKernels();
        if (cancelled_())
            return {};
        finishRows();
        return std::move(table_);
    }

private:
    void readFacts()
    {
        for (const EnvironmentEntry& fact : reader_.environment(run_)) {
            if (fact.key == kMetricsRecorded)
                table_.recorded = fact.value;
            else if (fact.key == kSamplingTurns)
                table_.turns = fact.value;
            else if (fact.key == kMetricInterval)
                table_.interval = Nanoseconds(parseNumber<std::int64_t>(fact.value).value_or(0));
            else if (fact.key == kMetricDramPeak)
                dramPeak_ = parseNumber<double>(fact.value).value_or(0);
            else if (fact.key == "gpu.name")
                sheet_ = analysis::DeviceSheets::standard().find(fact.value);
        }
        if (dramPeak_ == 0 && sheet_)
            dramPeak_ = sheet_->bytes.value_or(0);
    }

    void readSeries()
    {
        std::map<std::pair<DeviceIndex, std::size_t>, std::size_t> places;
        for (const CounterTrack& track : reader_.counterTracks(run_)) {
            if (!isMetric(track.name) || !filter_.hasDevice(track.device))
                continue;
            const std::size_t metric = placeOf(track);
            auto& series = series_[track.device];
            const auto [place, isNew] = places.try_emplace({track.device, metric}, series.size());
            if (isNew)
                series.push_back({.metric = metric});
            MetricSeries& into = series[place->second];
            for (std::size_t i = 0; i < track.points.size(); ++i) {
                const Timestamp end = i + 1 < track.points.size() ? track.points[i + 1].time : track.end;
                into.times.push_back({track.points[i].time, end});
                into.values.push_back(static_cast<double>(track.points[i].value) / kPartsOfCounterUnit);
            }
        }
        // In the order of the list of metrics, whatever the order in the file.
        std::vector<std::size_t> order(table_.metrics.size());
        for (std::size_t i = 0; i < order.size(); ++i)
            order[i] = i;
        const auto rankOfMetric = [this](std::size_t metric) {
            return std::ranges::find(kMetrics, table_.metrics[metric].name, &MetricInfo::name) -
                   std::ranges::begin(kMetrics);
        };
        std::ranges::stable_sort(order, {}, rankOfMetric);
        std::vector<SampledMetric> sorted;
        std::vector<std::size_t> placeIn(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            placeIn[order[i]] = i;
            sorted.push_back(table_.metrics[order[i]]);
        }
        table_.metrics = std::move(sorted);
        for (auto& [device, all] : series_) {
            for (MetricSeries& series : all)
                series.metric = placeIn[series.metric];
            table_.samples += std::ssize(all.front().times);
        }
    }

    std::size_t placeOf(const CounterTrack& track)
    {
        if (const auto known = table_.find(track.name))
            return *known;
        const MetricInfo* const info = metricNamed(track.name);
        table_.metrics.push_back({info ? std::string(info->key) : track.name, track.name, track.unit});
        return table_.metrics.size() - 1;
    }

    /// The row of a kernel, by its group.
    std::uint32_t groupOf(const DeviceEvent& event)
    {
        const analysis::KernelDescription& kernel = kernels_.describe(event.name, event.kind);
        const bool isByName = query_.group == MetricsGroup::Kernel;
        const std::string key(isByName ? reader_.text(event.name) : analysis::wordOf(kernel.family));
        const auto [place, isNew] = groups_.try_emplace(key, static_cast<std::uint32_t>(table_.rows.size()));
        if (isNew) {
            table_.rows.push_back({.family = std::string(analysis::wordOf(kernel.family))});
            if (isByName) {
                table_.rows.back().kernel = key;
                table_.rows.back().shortName = kernel.shortName;
            }
        }
        return place->second;
    }

    void addKernels()
    {
        std::map<DeviceIndex, std::vector<OwnedWork>> work;
        std::unordered_map<std::uint64_t, std::uint32_t> known; // groups by name and kind
        std::vector<Interval> windows;
        if (query_.step)
            for (const analysis::RecordedStep& step :
                 pathSteps(reader_, run_, filter_.topology(), cancelled_))
                if (step.step == *query_.step)
                    windows.push_back(step.wall);
        reader_.eachDeviceEvent({.run = run_}, [&](const DeviceEvent& event) {
            if (!series_.contains(event.device) || !filter_.has(event))
                return !cancelled_();
            const std::uint64_t key =
                (std::uint64_t{event.name.value} << 2) | static_cast<std::uint64_t>(event.kind);
            auto group = known.find(key);
            if (group == known.end())
                group = known.emplace(key, groupOf(event)).first;
            work[event.device].push_back({{event.start, event.end}, group->second});
            if (!query_.step || event.step == *query_.step) {
                MetricsRow& row = table_.rows[group->second];
                ++row.instances;
                row.time += event.end - event.start;
            }
            return !cancelled_();
        });
        windows = analysis::unionOf(std::move(windows));
        samples_.assign(table_.rows.size(), std::vector<MetricSamples>(table_.metrics.size()));
        for (auto& [device, all] : series_) {
            std::vector<OwnedWork>& done = work[device];
            std::ranges::stable_sort(done, {}, [](const OwnedWork& each) { return each.time.start; });
            for (const MetricSeries& series : all) {
                const std::vector<std::uint32_t> owners = analysis::sampleOwners(series.times, done);
                for (std::size_t i = 0; i < owners.size(); ++i)
                    if (owners[i] != analysis::kNoOwner &&
                        (!query_.step || liesWithin(series.times[i], windows)))
                        take(owners[i], series, i, series.times[i].length());
            }
        }
        addOpBytes();
    }

    static bool liesWithin(const Interval& sample, const std::vector<Interval>& windows)
    {
        return std::ranges::any_of(windows, [&](const Interval& window) {
            return static_cast<double>(overlapOf(sample, window).count()) >=
                   analysis::kOwnedShare * static_cast<double>(sample.length().count());
        });
    }
    static Nanoseconds overlapOf(const Interval& a, const Interval& b)
    {
        return std::max(Nanoseconds(0), std::min(a.end, b.end) - std::max(a.start, b.start));
    }

    void addSteps()
    {
        const TopologyIndex& topology = filter_.topology();
        std::vector<analysis::RecordedStep> steps = pathSteps(reader_, run_, topology, cancelled_);
        std::erase_if(steps, [&](const analysis::RecordedStep& step) {
            return (step.step == kNoStep && steps.size() > 1) || (query_.step && step.step != *query_.step);
        });
        samples_.assign(steps.size(), std::vector<MetricSamples>(table_.metrics.size()));
        for (std::size_t row = 0; row < steps.size(); ++row) {
            const analysis::RecordedStep& step = steps[row];
            table_.rows.push_back({.step = step.step == kNoStep ? std::nullopt : std::optional(step.step),
                                   .rank = rankOf(topology, step.process),
                                   .numbers = numbersOf(topology, step.process),
                                   .instances = 1,
                                   .time = step.wall.length()});
            for (const auto& [device, all] : series_)
                if (!topology.hasSeveral() || topology.of(device) == step.process)
                    for (const MetricSeries& series : all)
                        addStep(row, step.wall, series);
        }
    }

    /// Samples in which nothing happened are stored as one, however long it took.
    void addStep(std::size_t row, const Interval& wall, const MetricSeries& series)
    {
        const auto first = std::ranges::upper_bound(series.times, wall.start, {}, &Interval::end);
        for (auto sample = first; sample != series.times.end() && sample->start < wall.end; ++sample) {
            const Nanoseconds overlap = overlapOf(*sample, wall);
            const bool isWhole = static_cast<double>(overlap.count()) >=
                                 analysis::kOwnedShare * static_cast<double>(sample->length().count());
            const bool isOfMany = table_.interval.count() > 0 && sample->length() >= 2 * table_.interval;
            if (!isWhole && !isOfMany)
                continue;
            const std::int64_t count =
                table_.interval.count() > 0
                    ? std::max<std::int64_t>(isWhole ? 1 : 0, overlap.count() / table_.interval.count())
                    : 1;
            for (std::int64_t i = 0; i < count; ++i)
                take(static_cast<std::uint32_t>(row), series,
                     static_cast<std::size_t>(sample - series.times.begin()), overlap / count);
        }
    }

    void take(std::uint32_t row, const MetricSeries& series, std::size_t sample, Nanoseconds time)
    {
        MetricSamples& into = samples_[row][series.metric];
        into.values.push_back(series.values[sample]);
        into.time += time;
    }

    void addOpBytes()
    {
        const KernelsTable work =
            kernels(reader_,
                    {.run = run_,
                     .grouping = query_.group == MetricsGroup::Kernel ? Grouping::Name : Grouping::Family,
                     .step = query_.step,
                     .topology = query_.topology,
                     .work = true,
                     .metrics = false},
                    cancelled_);
        usual_ = work.ceilings;
        for (const KernelRow& row : work.rows)
            if (const auto group = groups_.find(row.key); group != groups_.end() && row.work &&
                                                          row.counted == row.total &&
                                                          row.total == table_.rows[group->second].time)
                table_.rows[group->second].opBytes = row.work->bytes.count;
    }

    void finishRows()
    {
        for (std::size_t i = 0; i < table_.rows.size(); ++i) {
            MetricsRow& row = table_.rows[i];
            Nanoseconds sampled{0};
            for (std::size_t metric = 0; metric < table_.metrics.size(); ++metric) {
                row.values.push_back(valueOf(samples_[i][metric], metric, row.time));
                sampled = std::max(sampled, samples_[i][metric].time);
            }
            setRates(row);
            row.covered = row.time.count() > 0 ? std::min(1.0, static_cast<double>(sampled.count()) /
                                                                   static_cast<double>(row.time.count()))
                                               : 0;
        }
        std::erase_if(table_.rows, [](const MetricsRow& row) { return row.instances == 0; });
        if (query_.group != MetricsGroup::Step)
            std::ranges::stable_sort(table_.rows, std::greater{}, &MetricsRow::time);
    }

    void setRates(MetricsRow& row)
    {
        const auto read = table_.find(kDramRead);
        const auto write = table_.find(kDramWrite);
        if (read && write && row.values[*read].bytes && row.values[*write].bytes)
            row.dramBytes = *row.values[*read].bytes + *row.values[*write].bytes;
        const auto tensor = table_.find(kTensorActive);
        if (!tensor || !row.values[*tensor].mean || query_.group == MetricsGroup::Step)
            return;
        const DeviceCeilings ceilings = ceilingsFor(row);
        if (!ceilings.sheet.flops)
            return;
        row.tensorRate = *row.values[*tensor].mean / kWholePercent * *ceilings.sheet.flops;
        const auto clock = table_.find(kGpcClock);
        if (clock && row.values[*clock].mean && sheet_ && sheet_->clock)
            row.tensorRate = *row.tensorRate * *row.values[*clock].mean / *sheet_->clock;
        if (const double time = *row.tensorRate * static_cast<double>(row.time.count()); time > mostFlops_) {
            mostFlops_ = time;
            table_.ceilings = ceilings;
        }
    }

    /// By the data sheet, at the precision in the kernel's name.
    DeviceCeilings ceilingsFor(const MetricsRow& row) const
    {
        const std::optional<Precision> precision = analysis::precisionInName(row.shortName);
        if (!sheet_ || !precision || *precision == Precision::Fp32)
            return usual_;
        return {.sheet = sheet_->ceilings(*precision),
                .measuredFrom = "not measured",
                .sheetFrom = sheet_->name + ", " + sheet_->source};
    }

    MetricValue valueOf(const MetricSamples& samples, std::size_t metric, Nanoseconds time) const
    {
        MetricValue value{.n = std::ssize(samples.values)};
        if (value.n < analysis::kFewestSamples)
            return value;
        const analysis::SampleMean mean = analysis::meanOfSamples(samples.values);
        value.mean = mean.mean;
        value.ci95 = mean.ci95;
        const SampledMetric& about = table_.metrics[metric];
        const double seconds = static_cast<double>(time.count()) / kNanosecondsPerSecond;
        if (about.unit == "B/s")
            value.bytes = mean.mean * seconds;
        else if ((about.name == kDramRead || about.name == kDramWrite) && dramPeak_ > 0)
            value.bytes = mean.mean / kWholePercent * dramPeak_ * seconds;
        return value;
    }

    const store::RunReader& reader_;
    const MetricsQuery& query_;
    const std::function<bool()>& cancelled_;
    const RunId run_;
    ProcessFilter filter_;
    RunKernels kernels_;
    MetricsTable table_;
    double dramPeak_ = 0;                          ///< B/s; 0: unknown
    DeviceCeilings usual_ = {};                    ///< at the precision of most of the arithmetic
    double mostFlops_ = 0;                         ///< of the row whose ceilings the table has
    const analysis::DeviceSheet* sheet_ = nullptr; ///< null: unknown
    std::map<DeviceIndex, std::vector<MetricSeries>> series_;
    std::unordered_map<std::string, std::uint32_t> groups_;
    std::vector<std::vector<MetricSamples>> samples_; ///< by row and metric
};

} // namespace

std::string_view wordOf(MetricsGroup group)
{
    return std::ranges::find(kMetricsGroups, group, &std::pair<MetricsGroup, std::string_view>::first)
        ->second;
}

MetricsGroup metricsGroupOf(std::string_view word)
{
    const auto found =
        std::ranges::find(kMetricsGroups, word, &std::pair<MetricsGroup, std::string_view>::second);
    if (found == kMetricsGroups.end())
        throw Error{.what = "show metrics cannot be grouped by '" + std::string(word) + "'",
                    .where = "--group",
                    .remedy = "allowed here: kernel, family, step"};
    return found->first;
}

std::optional<std::size_t> MetricsTable::find(std::string_view name) const
{
    const auto found = std::ranges::find(metrics, name, &SampledMetric::name);
    return found == metrics.end() ? std::nullopt
                                  : std::optional(static_cast<std::size_t>(found - metrics.begin()));
}

MetricsTable metrics(const store::RunReader& reader, const MetricsQuery& query,
                     const std::function<bool()>& cancelled)
{
    MetricsTable table;
    reader.atOnce([&] { table = MetricsReading(reader, query, cancelled).read(); });
    return table;
}

} // namespace tilescope::query
