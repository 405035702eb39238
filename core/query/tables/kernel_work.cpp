#include "core/query/tables/kernel_work.h"

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/work/timed_work.h"
#include "core/config/schema.h"
#include "core/query/runs/selection.h"
#include "core/query/runs/traced_pieces.h"
#include "core/query/tables/kernel_sums.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

namespace tilescope::query {

namespace {

using analysis::KernelFamily;
using analysis::Work;

// Ops and kernels with shapes are held in memory: some 250 MB of them.
constexpr std::int64_t kMostEvents = 1'500'000;
constexpr double kAlone = 0.95; // of a range's time, by one kernel
constexpr std::string_view kTensorMetric = "tensor_active";

/// What is added up of one group.
struct Sums {
    std::int64_t instances = 0;
    std::int64_t total = 0;
    std::int64_t shortest = INT64_MAX;
    std::int64_t longest = 0;
    double squares = 0;
    std::map<KernelFamily, std::int64_t> families = {};
    std::unordered_map<std::string_view, std::int64_t> places = {}; ///< time by path
    std::optional<Work> work = {};
    std::int64_t counted = 0;

    void add(const store::KernelTotal& more, KernelFamily family, std::string_view place)
    {
        instances += more.instances;
        total += more.total;
        shortest = std::min(shortest, more.shortest);
        longest = std::max(longest, more.longest);
        squares += more.squares;
        families[family] += more.total;
        places[place] += more.total;
    }
    void addWork(Work more, std::int64_t time)
    {
        if (!work)
            work.emplace();
        *work += more;
        counted += time;
    }
};

bool liesIn(std::string_view path, const std::string& range)
{
    return range.empty() ||
           (path.starts_with(range) && (path.size() == range.size() || path[range.size()] == '/'));
}

/// Reads a run once and adds it up.
class Reading {
public:
    Reading(const store::RunReader& reader, const KernelWorkQuery& query,
            const std::function<bool()>& cancelled)
        : reader_(reader), query_(query), cancelled_(cancelled), textOf_(textsOf(reader)),
          run_(chooseRun(reader, query.run))
    {
        table_.grouping = query.grouping;
        table_.ceilings = ceilingsOf(reader, run_);
    }

    KernelWorkTable read()
    {
        if (!addTimes() || cancelled_())
            return {};
        addWork();
        readCounters();
        for (const auto& [key, sums] : groups_)
            table_.rows.push_back(rowOf(key, sums));
        std::sort(table_.rows.begin(), table_.rows.end(), [](const auto& a, const auto& b) {
            return a.total != b.total ? a.total > b.total : a.key < b.key;
        });
        table_.ranges.assign(ranges_.begin(), ranges_.end());
        table_.families.assign(familyTimes_.begin(), familyTimes_.end());
        std::stable_sort(table_.families.begin(), table_.families.end(),
                         [](const auto& a, const auto& b) { return a.second > b.second; });
        return std::move(table_);
    }

private:
    std::string_view placeOf(StringId path)
    {
        const auto [entry, isNew] = places_.try_emplace(path);
        if (isNew && path)
            entry->second = analysis::fromStepDown(reader_.text(path));
        return entry->second;
    }

    KernelFamily familyOf(StringId name, DeviceEventKind kind)
    {
        const auto [known, isFirst] = families_.try_emplace(name);
        if (isFirst) {
            const auto [entry, isNew] = described_.try_emplace(reader_.text(name));
            if (isNew)
                entry->second = analysis::KernelFamilies::standard().describe(entry->first, kind);
            known->second = entry->second.family;
        }
        return known->second;
    }

    bool isAskedFor(std::int32_t step, std::string_view place) const
    {
        return step != kNoStep && (!query_.step || *query_.step == step) && liesIn(place, query_.range);
    }

    std::string_view keyOf(std::string_view name, KernelFamily family, std::string_view place) const
    {
        std::string_view key = name;
        if (query_.grouping == Grouping::Family)
            key = wordOf(family);
        else if (query_.grouping == Grouping::Range)
            key = place;
        else if (query_.grouping == Grouping::Module)
            key = analysis::moduleOf(place);
        else if (query_.grouping == Grouping::Phase)
            key = analysis::phaseOf(place);
        return key.empty() ? kUnattributed : key;
    }

    /// Of the steps that are asked for: the file's own sums where it has them, else out of the events.
    std::optional<std::vector<store::KernelTotal>> totals()
    {
        if (!query_.step)
            if (std::optional<store::RunTotals> known = reader_.totals(run_.run))
                return std::move(known->kernels);
        KernelSums sums;
        std::int64_t seen = 0;
        bool going = true;
        reader_.eachDeviceEvent({.run = run_.run}, [&](const DeviceEvent& event) {
            if (++seen % 65'536 == 0 && cancelled_())
                going = false;
            if (event.step != kNoStep && query_.step && *query_.step != event.step)
                ranges_.insert(placeOf(event.path)); // they can be chosen all the same
            else if (event.step != kNoStep)
                sums.add(event);
            return going;
        });
        return going ? std::optional(std::move(sums).list()) : std::nullopt;
    }

    bool addTimes()
    {
        const std::optional<std::vector<store::KernelTotal>> all = totals();
        if (!all)
            return false;
        for (const store::KernelTotal& each : *all) {
            const std::string_view place = placeOf(each.path);
            ranges_.insert(place);
            if (!liesIn(place, query_.range))
                continue;
            const KernelFamily family = familyOf(each.name, each.kind);
            groups_[keyOf(reader_.text(each.name), family, place)].add(each, family, place);
            timeAt_[place] += each.total;
            familyTimes_[family] += each.total;
        }
        ranges_.erase(std::string_view{});
        return true;
    }

    void addWork()
    {
        if (groups_.empty())
            return;
        if (reader_.counts(run_.run).deviceEvents + reader_.counts(run_.run).ops > kMostEvents) {
            table_.whyNoWork = "the run has too many events to count their work while you wait";
            return;
        }
        const std::vector<DeviceEvent> device = reader_.deviceEvents({.run = run_.run});
        const std::vector<Op> ops = reader_.ops({.run = run_.run});
        std::string unread;
        const auto spec = config::specOf(run_.specJson, &unread);
        // Of a traced step, or of the one before them that took shapes where only kernels are traced.
        const bool shapes = std::any_of(ops.begin(), ops.end(), [](const Op& op) { return bool(op.shapes); });
        if (!shapes)
            return addWorkOfSpec(spec, ops, device);
        const analysis::WorkContext context{
            .elementBytes = spec ? analysis::elementBytesOf(spec->precision) : 4,
            .causal = !spec || spec->workload == Workload::Lm || spec->causal};
        const auto family = [this](const DeviceEvent& event) { return familyOf(event.name, event.kind); };
        for (const analysis::KernelWork& done : workOfKernels(ops, device, textOf_, family, context)) {
            const std::string_view place = placeOf(done.path);
            if (isAskedFor(done.step, place))
                groups_.at(keyOf(reader_.text(done.kernel), familyOf(done.kernel, {}), place))
                    .addWork(done.work, done.time.count());
        }
    }

    /// The spec tells the matmuls and attention of a place, not which kernel did them.
    void addWorkOfSpec(const std::optional<ExperimentSpec>& spec, const std::vector<Op>& ops,
                       const std::vector<DeviceEvent>& device)
    {
        table_.whyNoWork = "shapes were not recorded: run with --shapes true";
        if (!spec || query_.grouping == Grouping::Name)
            return;
        const std::vector<analysis::SpecWork> known = analysis::specWork(*spec);
        std::set<std::int32_t> steps;
        for (const DeviceEvent& event : device)
            if (event.step != kNoStep)
                steps.insert(event.step);
        const auto asked = static_cast<std::int64_t>(query_.step ? steps.count(*query_.step) : steps.size());
        const auto family = [this](const DeviceEvent& event) { return familyOf(event.name, event.kind); };
        for (const analysis::TimedWork& item : timedWorkOfSpec(known, asked, ops, device, textOf_, family)) {
            // The spec's items have no step, their time has.
            const bool isTime = item.step != kNoStep;
            if (!item.counted || (isTime && query_.step && *query_.step != item.step) ||
                !liesIn(item.path, query_.range))
                continue;
            const auto group = groups_.find(keyOf({}, item.family, item.path));
            if (group != groups_.end())
                group->second.addWork(item.work, item.time.count());
        }
    }

    void readCounters()
    {
        for (const CounterValue& counter : reader_.counters(run_.run))
            if (counter.metric == kTensorMetric)
                tensor_[counter.path] = counter.value;
        if (tensor_.empty())
            table_.whyNoTensor = "not measured: run with --counters tensor_active";
    }

    std::optional<double> tensorOf(std::string_view key, const Sums& sums) const
    {
        // A counter of a range holds its inner ranges too, and so the row of a phase or of a range.
        if (query_.grouping == Grouping::Phase || query_.grouping == Grouping::Range) {
            const auto found = tensor_.find(query_.grouping == Grouping::Phase ? "step/" + std::string(key)
                                                                               : std::string(key));
            return found == tensor_.end() ? std::nullopt : std::optional(found->second);
        }
        double weighted = 0;
        bool idle = true;
        bool alone = true;
        for (const auto& [place, time] : sums.places) {
            const auto found = tensor_.find(std::string(place));
            if (found == tensor_.end())
                return {};
            idle = idle && found->second == 0;
            alone = alone && static_cast<double>(time) >= kAlone * static_cast<double>(timeAt_.at(place));
            weighted += found->second * static_cast<double>(time);
        }
        if (sums.places.empty() || !(idle || alone))
            return {};
        return weighted / static_cast<double>(std::max<std::int64_t>(1, sums.total));
    }

    KernelWorkRow rowOf(std::string_view key, const Sums& sums) const
    {
        KernelWorkRow row{.key = std::string(key)};
        if (const auto known = described_.find(key);
            query_.grouping == Grouping::Name && known != described_.end()) {
            row.shortName = known->second.shortName;
            row.does = known->second.does;
        }
        row.instances = sums.instances;
        row.total = sums.total;
        row.shortest = sums.shortest;
        row.longest = sums.longest;
        const auto n = static_cast<double>(sums.instances);
        row.mean = static_cast<double>(sums.total) / n;
        if (sums.instances > 1)
            row.standardDeviation =
                std::sqrt(std::max(0.0, (sums.squares - n * row.mean * row.mean) / (n - 1)));
        row.family =
            std::max_element(sums.families.begin(), sums.families.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
            })->first;
        // What the spec asks for may have no kernel in the selection: work without time is no rate.
        if (sums.counted > 0)
            row.work = sums.work;
        row.counted = sums.counted;
        row.tensorActive = tensorOf(key, sums);
        return row;
    }

    const store::RunReader& reader_;
    const KernelWorkQuery& query_;
    const std::function<bool()>& cancelled_;
    analysis::TextOf textOf_;
    store::RunRecord run_;
    KernelWorkTable table_;
    std::unordered_map<StringId, std::string_view> places_;
    std::unordered_map<StringId, KernelFamily> families_;
    std::unordered_map<std::string_view, analysis::KernelDescription> described_;
    std::map<KernelFamily, std::int64_t> familyTimes_;
    std::unordered_map<std::string_view, Sums> groups_; // keys live as long as the reader
    std::unordered_map<std::string_view, std::int64_t> timeAt_;
    std::set<std::string_view> ranges_;
    std::map<std::string, double> tensor_;
};

} // namespace

std::optional<double> KernelWorkRow::flopsPerSecond() const
{
    return work && work->flops.count > 0 ? analysis::flopsPerSecond(*work, Nanoseconds{counted})
                                         : std::nullopt;
}

std::optional<double> KernelWorkRow::bytesPerSecond() const
{
    return work && work->bytes.count > 0 ? analysis::bytesPerSecond(*work, Nanoseconds{counted})
                                         : std::nullopt;
}

KernelWorkTable kernelWork(const store::RunReader& reader, const KernelWorkQuery& query,
                           const std::function<bool()>& cancelled)
{
    return Reading(reader, query, cancelled).read();
}

} // namespace tilescope::query
