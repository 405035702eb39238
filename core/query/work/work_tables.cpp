#include "core/query/work/work_tables.h"

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/work/device_sheets.h"
#include "core/analysis/work/op_families.h"
#include "core/analysis/work/timed_work.h"
#include "core/config/schema.h"
#include "core/model/attention_backend.h"
#include "core/model/ceilings.h"
#include "core/model/element_type.h"
#include "core/model/text.h"
#include "core/query/runs/json_members.h"
#include "core/query/runs/run_device.h"
#include "core/query/runs/run_kernels.h"
#include "core/query/runs/selection.h"
#include "core/query/runs/stored_work.h"
#include "core/query/runs/traced_pieces.h"
#include "core/query/runs/work_context.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

namespace tilescope::query {

namespace {

using analysis::TimedWork;
using analysis::Work;

void readMeasured(DeviceCeilings& ceilings, const store::RunReader& reader, const std::string& device,
                  const std::string& name, Precision precision)
{
    const std::string matmul = "matmul_" + std::string(wordOf(precision));
    bool isBusy[2] = {}; // the matrix products, the copy
    const std::vector<Ceiling> all = reader.ceilings();
    for (const Ceiling& ceiling : all) { // in order of measurement: the last of a kind is valid
        if (ceiling.device != device)
            continue;
        if (ceiling.kind == matmul)
            ceilings.measured.flops = ceiling.value;
        else if (ceiling.kind == "copy")
            ceilings.measured.bytes = ceiling.value;
        else
            continue;
        isBusy[ceiling.kind == matmul ? 0 : 1] = isFromBusyHost(all, ceiling);
    }
    ceilings.measuredFrom =
        ceilings.measured.flops || ceilings.measured.bytes
            ? "measured on " + name + (isBusy[0] || isBusy[1] ? " while its host was busy" : "")
            : "no ceilings of this device are in the file: tilescope doctor --ceilings -o FILE";
}

/// Adds a reason once.
void because(std::string& why, std::string_view reason)
{
    if (!reason.empty() && why.find(reason) == std::string::npos)
        why += (why.empty() ? "" : "; ") + std::string(reason);
}

constexpr char kBetweenOpAndShapes = '\n';

using CeilingsOfRow = std::function<const DeviceCeilings&(const RooflineRow&)>;

/// The reason for missing work of a group, apart from replayed CUDA graphs.
std::string whyNoWork(const RooflineTable& table, const RooflineRow& row)
{
    if (table.grouping != Grouping::Op && table.grouping != Grouping::Shape)
        return "no rule counts these ops";
    if (row.op == kUnattributed)
        return "the op that launched it is unknown: the recording holds no launch, or the launch lies "
               "outside ops";
    if (analysis::callsOthers(row.op))
        return table.onGpu ? "it calls other ops; kernels of its own are not counted"
                           : "it calls other ops, which are counted";
    const auto rule = analysis::ruleOf(row.op);
    const std::string_view why = analysis::whyNoRule(row.op);
    return !rule                ? "no rule counts " + row.op + (why.empty() ? "" : ": ") + std::string(why)
           : !rule->moves       ? "a view: it does nothing"
           : row.shapes.empty() ? "its shapes were not recorded"
                                : "the recorded arguments do not determine its work";
}

RooflineRow rowOf(const analysis::WorkTotal& total, const RooflineTable& table,
                  const CeilingsOfRow& ceilingsOf)
{
    RooflineRow row{.key = total.key,
                    .op = total.key,
                    .firstOp = total.firstOp,
                    .instances = total.instances,
                    .time = total.time,
                    .counted = total.countedTime,
                    .inferred = total.inferredTime};
    if (table.grouping == Grouping::Shape) {
        const std::size_t end = total.key.find(kBetweenOpAndShapes);
        row.op = total.key.substr(0, end);
        row.shapes = total.key.substr(end + 1);
        row.key = row.shapes.empty() ? row.op : row.op + " " + row.shapes;
        row.family = analysis::familyOfOp(row.op);
    }
    if (total.countedTime == Nanoseconds{0}) {
        if (!table.fromShapes)
            because(row.why, whyNoShapes(table.run));
        else if (total.replayedTime < total.time || total.time == Nanoseconds{0})
            because(row.why, whyNoWork(table, row));
        if (table.fromShapes && total.replayedTime > Nanoseconds{0})
            because(row.why,
                    "replayed from CUDA graphs: the ops of their capture are not recorded; profile the "
                    "program without graphs");
        return row;
    }
    row.work = total.work;
    const bool isOfOps = table.grouping == Grouping::Op || table.grouping == Grouping::Shape;
    if (total.key == wordOf(analysis::KernelFamily::Collective) ||
        (isOfOps && analysis::familyOfOp(row.op) == analysis::KernelFamily::Collective)) {
        row.why = "the links between ranks limit it, not memory: show FILE collectives";
        return row;
    }
    const DeviceCeilings& ceilings = ceilingsOf(row);
    row.measured = placeUnder(ceilings.measured, total.work, total.countedTime);
    row.sheet = placeUnder(ceilings.sheet, total.work, total.countedTime);
    if (total.work == Work{})
        return row;
    if (!row.measured)
        because(row.why, ceilings.measuredFrom);
    if (!row.sheet)
        because(row.why, ceilings.sheetFrom);
    return row;
}

/// The groups to which an item belongs; a path belongs to itself and all its ancestors.
analysis::WorkGroupsOf groupsOf(Grouping grouping)
{
    const auto orNone = [](std::string_view key) { return key.empty() ? kUnattributed : key; };
    switch (grouping) {
    case Grouping::Op:
        return [=](const TimedWork& item, const auto& group) { group(orNone(item.op)); };
    case Grouping::Shape:
        return [=](const TimedWork& item, const auto& group) {
            group(std::string(orNone(item.op)) + kBetweenOpAndShapes + std::string(item.shapes));
        };
    case Grouping::Phase:
        return [=](const TimedWork& item, const auto& group) { group(orNone(analysis::phaseOf(item.path))); };
    case Grouping::Module:
        return
            [=](const TimedWork& item, const auto& group) { group(orNone(analysis::moduleOf(item.path))); };
    case Grouping::Range:
        return [=](const TimedWork& item, const auto& group) {
            if (item.path.empty())
                return group(kUnattributed);
            for (std::size_t end = item.path.find('/'); end != std::string_view::npos;
                 end = item.path.find('/', end + 1))
                group(item.path.substr(0, end));
            group(item.path);
        };
    default:
        return [](const TimedWork& item, const auto& group) { group(wordOf(item.family)); };
    }
}

analysis::FamilyOf familyLookup(const store::RunReader& reader, RunId run)
{
    auto kernels = std::make_shared<RunKernels>(reader, run);
    return [kernels](const DeviceEvent& event) { return kernels->familyOf(event); };
}

void select(std::vector<TimedWork>& items, const std::string& pattern)
{
    if (pattern.empty())
        return;
    const analysis::PathGlob glob(pattern);
    std::erase_if(items, [&glob](const TimedWork& item) { return !glob.contains(item.path); });
}

MfuRow mfuRow(const Sample& sample, RunId run, const std::optional<analysis::StepFlops>& flops,
              const DeviceCeilings& ceilings)
{
    MfuRow row{.run = run, .step = sample.step, .wall = sample.wall};
    if (!flops)
        return row;
    row.model = flops->model;
    row.hardware = flops->hardware;
    const double seconds = static_cast<double>(sample.wall.count()) * 1e-9;
    const auto share = [seconds](analysis::Flops done, const std::optional<double>& peak) {
        return peak && seconds > 0 ? std::optional(static_cast<double>(done.count) / (seconds * *peak))
                                   : std::nullopt;
    };
    row.mfuMeasured = share(flops->model, ceilings.measured.flops);
    row.mfuSheet = share(flops->model, ceilings.sheet.flops);
    row.hfuSheet = share(flops->hardware, ceilings.sheet.flops);
    if (!row.mfuMeasured)
        because(row.why, ceilings.measuredFrom);
    if (!row.mfuSheet)
        because(row.why, ceilings.sheetFrom);
    return row;
}

/// The work of a step according to the run's spec.
struct StepWork {
    std::optional<ExperimentSpec> spec = {};
    std::optional<analysis::StepFlops> flops = {};
    std::string formula = {};
    std::string why = {}; ///< there are no FLOPs
};

StepWork stepWorkOf(const store::RunRecord& run)
{
    StepWork work;
    work.spec = config::specOf(run.specJson, &work.why);
    if (!work.spec)
        return work;
    work.flops = analysis::stepFlops(*work.spec);
    if (work.flops)
        work.formula = analysis::stepFlopsFormula(*work.spec);
    else
        work.why = "the FLOPs of this workload are not known from its spec";
    return work;
}

/// \param precision  none: unknown for the reason `why`
DeviceCeilings ceilingsAt(const store::RunReader& reader, const store::RunRecord& run,
                          std::optional<Precision> precision, const std::string& why)
{
    DeviceCeilings ceilings;
    if (!precision) {
        ceilings.measuredFrom = ceilings.sheetFrom = why;
        return ceilings;
    }
    const predict::TargetDevice device = deviceOfRun(reader, run);
    const bool onGpu = device.isCuda;
    const std::string& name = device.name;
    readMeasured(ceilings, reader, device.uuid, name, *precision);
    const analysis::DeviceSheet* sheet = onGpu ? analysis::DeviceSheets::standard().find(name) : nullptr;
    if (sheet) {
        ceilings.sheet = sheet->ceilings(*precision);
        ceilings.sheetFrom = ceilings.sheet.flops ? sheet->name + ", " + sheet->source
                                                  : "the data sheet of " + sheet->name + " has no peak for " +
                                                        std::string(wordOf(*precision));
    } else {
        ceilings.sheetFrom = onGpu ? "no data sheet of '" + name + "' is known"
                                   : std::string("no data sheets of processors are kept");
    }
    return ceilings;
}

std::optional<Precision> precisionOf(const StepWork& work)
{
    if (!work.spec)
        return {};
    const std::optional<Precision> ofAttention = traitsOf(work.spec->backend).products;
    return work.spec->workload == Workload::Attention && ofAttention ? ofAttention : work.spec->precision;
}

/// The precision of the first tensor of an op; none if its type is unknown or has no ceilings.
std::optional<Precision> precisionOf(std::string_view shapes)
{
    const ElementType* const type = findElementType(&ElementType::word, shapes.substr(0, shapes.find('[')));
    return type ? fromWord<Precision>(type->precision) : std::nullopt;
}

/// The ceilings of a recording of another program, by precision.
class RecordedCeilings {
public:
    RecordedCeilings(const store::RunReader& reader, const store::RunRecord& run) : reader_(reader), run_(run)
    {
    }

    DeviceCeilings ofMost(std::span<const TimedWork> items)
    {
        std::map<Precision, std::int64_t> flops;
        for (const TimedWork& item : items)
            if (const auto precision = precisionOf(item.shapes); precision && item.counted)
                flops[*precision] += item.work.flops.count;
        const auto most = std::ranges::max_element(flops, {}, [](const auto& each) { return each.second; });
        return of(most == flops.end() ? std::nullopt : std::optional(most->first));
    }

    const DeviceCeilings& of(std::optional<Precision> precision)
    {
        const auto [known, isNew] = known_.try_emplace(precision);
        if (isNew)
            known->second = ceilingsAt(reader_, run_, precision, "no ceilings are known for these types");
        return known->second;
    }

private:
    const store::RunReader& reader_;
    const store::RunRecord& run_;
    std::map<std::optional<Precision>, DeviceCeilings> known_;
};

} // namespace

std::string_view whyNoShapes(const store::RunRecord& run)
{
    return run.coversRecording() ? "the recording holds no shapes of ops: profile with record_shapes=True"
                                 : "shapes were not recorded: run with --shapes true";
}

DeviceCeilings ceilingsOf(const store::RunReader& reader, const store::RunRecord& run)
{
    StepWork work;
    work.spec = config::specOf(run.specJson, &work.why);
    return ceilingsAt(reader, run, precisionOf(work), work.why);
}

DeviceCeilings ceilingsOf(const store::RunReader& reader, const store::RunRecord& run,
                          std::span<const TimedWork> items)
{
    return RecordedCeilings(reader, run).ofMost(items);
}

namespace {

/// Time and work of a run, and where they come from.
/// \param spec   of the run, if it has one
/// \param known  takes the work of the spec: paths refer to it
std::vector<TimedWork> workItems(const store::RunReader& reader, const EventQuery& query,
                                 RooflineTable& table, const std::optional<ExperimentSpec>& spec,
                                 std::vector<analysis::SpecWork>& known)
{
    const analysis::TextOf textOf = textsOf(reader);
    const analysis::FamilyOf familyOf = familyLookup(reader, table.run.run);
    const analysis::WorkContext context = workContextOf(spec);
    const analysis::WorkScope scope =
        table.run.coversRecording() ? analysis::WorkScope::Recording : analysis::WorkScope::TracedSteps;
    if (query.topology.empty() && !query.step)
        if (auto stored = storedWork(reader, table.run.run, textOf, familyOf, context, scope)) {
            table.onGpu = table.fromShapes = true;
            return std::move(*stored);
        }
    const store::EventWindow window{.run = table.run.run};
    std::vector<DeviceEvent> device = reader.deviceEvents(window);
    std::vector<Op> ops = reader.ops(window);
    if (!query.topology.empty()) {
        const ProcessFilter filter(reader, table.run.run, query.topology);
        std::erase_if(device, [&](const DeviceEvent& event) { return !filter.has(event); });
        if (!query.topology.device)
            std::erase_if(ops, [&](const Op& op) { return !filter.has(op.thread); });
    }
    table.onGpu = !device.empty();
    // Of the traced steps, or of the one before them that took the shapes where only kernels are traced.
    table.fromShapes = std::any_of(ops.begin(), ops.end(), [](const Op& op) { return bool(op.shapes); });
    if (table.fromShapes)
        return timedWorkOfOps(ops, device, textOf, familyOf, context, scope);
    if (spec)
        known = analysis::specWork(*spec);
    std::set<std::int32_t> steps;
    for (const DeviceEvent& event : device)
        steps.insert(event.step);
    for (const Op& op : ops)
        steps.insert(op.step);
    steps.erase(kNoStep);
    std::vector<TimedWork> items =
        timedWorkOfSpec(known, static_cast<std::int64_t>(steps.size()), ops, device, textOf, familyOf, scope);
    // The work of the spec cannot be divided among ops, so rows of ops have a time only.
    if (table.grouping == Grouping::Op || table.grouping == Grouping::Shape || known.empty())
        for (TimedWork& item : items)
            item.counted = false;
    return items;
}

} // namespace

RooflineTable roofline(const store::RunReader& reader, const EventQuery& query)
{
    RooflineTable table{.run = chooseRun(reader, query.run)};
    if (query.grouping != Grouping::None)
        table.grouping = query.grouping;
    table.ceilings = ceilingsOf(reader, table.run);
    std::string unread;
    const auto spec = config::specOf(table.run.specJson, &unread);
    std::vector<analysis::SpecWork> known;
    std::vector<TimedWork> items = workItems(reader, query, table, spec, known);
    select(items, query.rangeGlob);
    if (query.step)
        std::erase_if(items, [&](const TimedWork& item) { return item.step != *query.step; });
    std::erase_if(items, [](const TimedWork& item) { return item.time == Nanoseconds{0} && !item.counted; });
    RecordedCeilings recorded(reader, table.run);
    if (!spec)
        table.ceilings = recorded.ofMost(items);
    const bool byType = !spec && table.grouping == Grouping::Shape;
    const CeilingsOfRow ceilings = [&](const RooflineRow& row) -> const DeviceCeilings& {
        const auto precision = byType ? precisionOf(row.shapes) : std::nullopt;
        return precision ? recorded.of(precision) : table.ceilings;
    };
    for (const analysis::WorkTotal& total : workTotals(items, groupsOf(table.grouping)))
        table.rows.push_back(rowOf(total, table, ceilings));
    if (table.grouping == Grouping::Range)
        std::sort(table.rows.begin(), table.rows.end(),
                  [](const RooflineRow& a, const RooflineRow& b) { return a.key < b.key; });
    return table;
}

MfuTable mfu(const store::RunReader& reader, const EventQuery& query)
{
    MfuTable table{.runs = chooseRuns(reader, query.run)};
    // The runs of a sweep have few specs that differ in what counts.
    std::unordered_map<std::string, StepWork> known;
    std::vector<std::pair<std::string, std::vector<RunId>>> formulas;
    std::unordered_map<std::string, std::size_t> places; // in formulas
    for (const store::RunRecord& record : table.runs) {
        const std::string key = membersWithout(record.specJson, {"name", "seed", "timeout", "repeat"});
        const auto [place, isNew] = known.try_emplace(key.empty() ? record.specJson : key);
        StepWork& work = place->second;
        if (isNew)
            work = stepWorkOf(record);
        if (work.flops) {
            const auto [formula, isFirst] = places.try_emplace(work.formula, formulas.size());
            if (isFirst)
                formulas.emplace_back(work.formula, std::vector<RunId>{});
            formulas[formula->second].second.push_back(record.run);
        }
        const DeviceCeilings ceilings = ceilingsAt(reader, record, precisionOf(work), work.why);
        for (const Sample& sample : reader.samples(record.run)) {
            if (sample.kind != SampleKind::Measure || sample.phase != Phase::Step)
                continue;
            table.rows.push_back(mfuRow(sample, record.run, work.flops, ceilings));
            because(table.rows.back().why, work.why);
        }
    }
    for (const auto& [formula, runs] : formulas)
        table.formulas.push_back((runs.size() == 1 ? "Run " : "Runs ") + listOf(runs) + ": " + formula + ".");
    return table;
}

} // namespace tilescope::query
