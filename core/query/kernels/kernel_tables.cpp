#include "core/query/kernels/kernel_tables.h"

#include "core/analysis/kernels/kernel_name.h"
#include "core/analysis/time/path_glob.h"
#include "core/analysis/work/timed_work.h"
#include "core/config/schema.h"
#include "core/query/kernels/distinct_names.h"
#include "core/query/kernels/kernel_metrics.h"
#include "core/query/kernels/kernel_sums.h"
#include "core/query/runs/run_kernels.h"
#include "core/query/runs/selection.h"
#include "core/query/runs/traced_pieces.h"
#include "core/query/runs/work_context.h"
#include "core/query/work/work_tables.h"

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

/// The sums of one group.
struct Group {
    std::string_view key = {};
    KernelRow row = {};
    double squares = 0; ///< sum of the squared durations
    std::set<StringId> names = {};
    StepSet steps = {};
    std::map<KernelFamily, std::int64_t> families = {};
    std::unordered_map<std::string_view, std::int64_t> places = {}; ///< time by path, for rows with work

    void add(const KernelSum& sum, KernelFamily family, std::optional<std::string_view> place)
    {
        row.shortest = row.instances == 0 ? Nanoseconds(sum.shortest)
                                          : std::min(row.shortest, Nanoseconds(sum.shortest));
        row.longest = std::max(row.longest, Nanoseconds(sum.longest));
        row.instances += sum.instances;
        row.total += Nanoseconds(sum.total);
        squares += sum.squares;
        names.insert(sum.name);
        steps.add(sum.steps);
        families[family] += sum.total;
        if (place)
            places[*place] += sum.total;
    }
    void addWork(Work more, Nanoseconds time)
    {
        if (!row.work)
            row.work.emplace();
        *row.work += more;
        row.counted += time;
    }
};

bool liesIn(std::string_view path, const std::string& range)
{
    return range.empty() ||
           (path.starts_with(range) && (path.size() == range.size() || path[range.size()] == '/'));
}

/// Sums a run's kernels by group.
class Reading {
public:
    Reading(const store::RunReader& reader, const KernelQuery& query, const std::function<bool()>& cancelled)
        : reader_(reader), query_(query), cancelled_(cancelled), textOf_(textsOf(reader))
    {
        if (!query.rangeGlob.empty())
            glob_.emplace(query.rangeGlob);
        table_.run = chooseRun(reader, query.run);
        kernels_.emplace(reader, table_.run.run);
        table_.grouping = query.grouping;
        table_.span = query.span;
        if (query.work)
            table_.ceilings = ceilingsOf(reader, table_.run);
    }

    KernelsTable read()
    {
        if (!addTimes() || cancelled_())
            return {};
        if (query_.work && query_.span) {
            table_.whyNoWork = table_.whyNoTensor = "not counted in a time span, which cuts kernels";
        } else if (query_.work) {
            addWork();
            readCounters();
        }
        for (const Group& group : groups_)
            table_.total += group.row.total;
        for (Group& group : groups_)
            table_.rows.push_back(rowOf(group));
        if (query_.grouping == Grouping::Name)
            tellRowsApart();
        std::stable_sort(table_.rows.begin(), table_.rows.end(), [](const auto& a, const auto& b) {
            return a.total != b.total ? a.total > b.total : a.key < b.key;
        });
        table_.ranges.assign(ranges_.begin(), ranges_.end());
        table_.families.assign(familyTimes_.begin(), familyTimes_.end());
        std::stable_sort(table_.families.begin(), table_.families.end(),
                         [](const auto& a, const auto& b) { return a.second > b.second; });
        return std::move(table_);
    }

private:
    void tellRowsApart()
    {
        std::vector<std::string> readable;
        readable.reserve(table_.rows.size());
        std::vector<ShownName> names;
        for (KernelRow& row : table_.rows)
            if (!row.shortName.empty())
                names.push_back(
                    {readable.emplace_back(analysis::readableKernelName(row.key)), &row.shortName});
        makeDistinct(names);
    }

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
                entry->second = kernels_->describe(entry->first, kind);
            known->second = entry->second.family;
        }
        return known->second;
    }

    bool isSelected(std::string_view place) const
    {
        return liesIn(place, query_.range) && (!glob_ || (!place.empty() && glob_->contains(place)));
    }

    std::string_view keyOf(std::string_view name, KernelFamily family, std::string_view place,
                           std::string_view op = {}) const
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
        else if (query_.grouping == Grouping::Op)
            key = op;
        return key.empty() ? kUnattributed : key;
    }

    Group* find(std::string_view key)
    {
        const auto found = groupAt_.find(key);
        return found == groupAt_.end() ? nullptr : &groups_[found->second];
    }

    Group& groupOf(std::string_view key)
    {
        const auto [entry, isNew] = groupAt_.try_emplace(key, groups_.size());
        if (isNew)
            groups_.push_back({.key = key});
        return groups_[entry->second];
    }

    bool addTimes()
    {
        const std::optional<SummedKernels> summed = sumKernels(reader_,
                                                               {.run = table_.run.run,
                                                                .step = query_.step,
                                                                .byOp = query_.grouping == Grouping::Op,
                                                                .countSteps = query_.countSteps,
                                                                .topology = query_.topology,
                                                                .span = query_.span},
                                                               cancelled_);
        if (!summed)
            return false;
        table_.events = summed->events;
        table_.outsideSteps = summed->outsideSteps;
        for (const StringId path : summed->otherPaths)
            ranges_.insert(placeOf(path)); // ranges without time can be selected, too
        for (const KernelSum& each : summed->sums) {
            const std::string_view place = placeOf(each.path);
            ranges_.insert(place);
            if (!isSelected(place))
                continue;
            const KernelFamily family = familyOf(each.name, each.kind);
            const std::string_view op = each.op ? reader_.text(each.op) : std::string_view{};
            Group& group = groupOf(keyOf(reader_.text(each.name), family, place, op));
            group.add(each, family, query_.work ? std::optional(place) : std::nullopt);
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
        if (reader_.counts(table_.run.run).deviceEvents + reader_.counts(table_.run.run).ops > kMostEvents) {
            table_.whyNoWork = "the run has too many events to count their work while you wait";
            return;
        }
        const std::vector<DeviceEvent> device = reader_.deviceEvents({.run = table_.run.run});
        const std::vector<Op> ops = reader_.ops({.run = table_.run.run});
        std::string unread;
        const auto spec = config::specOf(table_.run.specJson, &unread);
        // Of a traced step, or of the one before them that took shapes where only kernels are traced.
        const bool shapes = std::any_of(ops.begin(), ops.end(), [](const Op& op) { return bool(op.shapes); });
        if (!shapes)
            return addWorkOfSpec(spec, ops, device);
        const analysis::WorkContext context = workContextOf(spec);
        const auto family = [this](const DeviceEvent& event) { return familyOf(event.name, event.kind); };
        const analysis::WorkScope scope =
            table_.run.coversRecording() ? analysis::WorkScope::Recording : analysis::WorkScope::TracedSteps;
        // Without a spec, the types of the ops say which ceilings apply.
        if (!spec)
            table_.ceilings =
                ceilingsOf(reader_, table_.run, timedWorkOfOps(ops, device, textOf_, family, context, scope));
        for (const analysis::KernelWork& done : workOfKernels(ops, device, textOf_, family, context, scope)) {
            const std::string_view place = placeOf(done.path);
            if ((!query_.step || *query_.step == done.step) && isSelected(place))
                if (Group* const group =
                        find(keyOf(reader_.text(done.kernel), familyOf(done.kernel, {}), place)))
                    group->addWork(done.work, done.time);
        }
    }

    /// The spec gives the matmuls and attention of a place, but not their kernels.
    void addWorkOfSpec(const std::optional<ExperimentSpec>& spec, const std::vector<Op>& ops,
                       const std::vector<DeviceEvent>& device)
    {
        table_.whyNoWork = whyNoShapes(table_.run);
        if (!spec || query_.grouping == Grouping::Name)
            return;
        const std::vector<analysis::SpecWork> known = analysis::specWork(*spec);
        std::set<std::int32_t> steps;
        for (const DeviceEvent& event : device)
            if (event.step != kNoStep)
                steps.insert(event.step);
        const auto asked = static_cast<std::int64_t>(query_.step ? steps.count(*query_.step) : steps.size());
        const auto family = [this](const DeviceEvent& event) { return familyOf(event.name, event.kind); };
        for (const analysis::TimedWork& item :
             timedWorkOfSpec(known, asked, ops, device, textOf_, family, analysis::WorkScope::TracedSteps)) {
            // The spec's items have no step, their time has.
            const bool isTime = item.step != kNoStep;
            if (!item.counted || (isTime && query_.step && *query_.step != item.step) ||
                !isSelected(item.path))
                continue;
            if (Group* const group = find(keyOf({}, item.family, item.path)))
                group->addWork(item.work, item.time);
        }
    }

    void readCounters()
    {
        for (const CounterValue& counter : reader_.counters(table_.run.run))
            if (counter.metric == kTensorMetric)
                tensor_[counter.path] = counter.value;
        if (tensor_.empty())
            table_.whyNoTensor = "not measured: run with --counters tensor_active, or record with --metrics";
    }

    std::optional<double> tensorOf(const Group& group) const
    {
        // A counter of a range holds its inner ranges too, and so the row of a phase or of a range.
        if (query_.grouping == Grouping::Phase || query_.grouping == Grouping::Range) {
            const std::string key(group.key);
            const auto found = tensor_.find(query_.grouping == Grouping::Phase ? "step/" + key : key);
            return found == tensor_.end() ? std::nullopt : std::optional(found->second);
        }
        double weighted = 0;
        bool idle = true;
        bool alone = true;
        for (const auto& [place, time] : group.places) {
            const auto found = tensor_.find(std::string(place));
            if (found == tensor_.end())
                return {};
            idle = idle && found->second == 0;
            alone = alone && static_cast<double>(time) >= kAlone * static_cast<double>(timeAt_.at(place));
            weighted += found->second * static_cast<double>(time);
        }
        if (group.places.empty() || !(idle || alone))
            return {};
        return weighted / static_cast<double>(std::max<std::int64_t>(1, group.row.total.count()));
    }

    KernelRow rowOf(Group& group) const
    {
        KernelRow& row = group.row;
        row.key = group.key;
        if (query_.grouping == Grouping::Name) {
            const analysis::KernelDescription& known = described_.at(reader_.text(*group.names.begin()));
            row.shortName = known.shortName;
            row.does = known.does;
        }
        row.kernels = static_cast<std::int64_t>(group.names.size());
        row.steps = group.steps.count();
        const auto n = static_cast<double>(row.instances);
        if (row.instances > 1)
            row.standardDeviation =
                std::sqrt(std::max(0.0, (group.squares - n * row.mean() * row.mean()) / (n - 1)));
        row.family =
            std::max_element(group.families.begin(), group.families.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
            })->first;
        row.percent = percentOf(row.total, table_.total);
        // Work of the spec may have no kernel in the selection: without time there is no rate.
        if (row.counted == Nanoseconds{0})
            row.work.reset();
        // The links between ranks limit collectives, not memory.
        if (row.work && row.family != KernelFamily::Collective) {
            row.measured = placeUnder(table_.ceilings.measured, *row.work, row.counted);
            row.sheet = placeUnder(table_.ceilings.sheet, *row.work, row.counted);
        }
        if (query_.work)
            row.tensorActive = tensorOf(group);
        return std::move(row);
    }

    const store::RunReader& reader_;
    const KernelQuery& query_;
    const std::function<bool()>& cancelled_;
    analysis::TextOf textOf_;
    std::optional<analysis::PathGlob> glob_;
    KernelsTable table_;
    std::unordered_map<StringId, std::string_view> places_;
    std::optional<RunKernels> kernels_;
    std::unordered_map<StringId, KernelFamily> families_;
    std::unordered_map<std::string_view, analysis::KernelDescription> described_;
    std::map<KernelFamily, std::int64_t> familyTimes_;
    std::vector<Group> groups_;                                 ///< in the order of the sums
    std::unordered_map<std::string_view, std::size_t> groupAt_; // keys live as long as the reader
    std::unordered_map<std::string_view, std::int64_t> timeAt_;
    std::set<std::string_view> ranges_;
    std::map<std::string, double> tensor_;
};

} // namespace

double KernelRow::instancesPerStep() const
{
    return steps > 0 ? static_cast<double>(instances) / static_cast<double>(steps) : 0;
}

KernelsTable kernels(const store::RunReader& reader, const KernelQuery& query,
                     const std::function<bool()>& cancelled)
{
    KernelsTable table = Reading(reader, query, cancelled).read();
    if (query.work && query.metrics)
        addMetrics(reader, query, table, cancelled);
    return table;
}

} // namespace tilescope::query
