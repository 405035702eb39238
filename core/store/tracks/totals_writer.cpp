#include "core/store/tracks/totals_writer.h"

#include "core/analysis/time/path_glob.h"
#include "core/model/run_workload.h"
#include "core/model/text.h"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>

namespace tilescope::store {

namespace {

/// The processes of a run that is being written.
TopologyIndex topologyOf(SQLite::Database& database, std::int64_t run)
{
    RunTopology topology;
    std::vector<ThreadName> threads;
    const auto each = [&](const char* sql, auto&& take) {
        SQLite::Statement row(database, sql);
        row.bind(1, run);
        while (row.executeStep())
            take(row);
    };
    each("select process from process where run = ?", [&](SQLite::Statement& row) {
        topology.processes.push_back({.id = ProcessIndex{row.getColumn(0).getInt()}});
    });
    if (topology.processes.size() < 2)
        return {};
    each("select device, stream, process from stream where run = ?", [&](SQLite::Statement& row) {
        topology.streams.push_back({.device = idOf<DeviceIndex>(row.getColumn(0).getInt64()),
                                    .id = idOf<StreamId>(row.getColumn(1).getInt64()),
                                    .process = ProcessIndex{row.getColumn(2).getInt()}});
    });
    each("select thread, process from thread where run = ? and process is not null",
         [&](SQLite::Statement& row) {
             threads.push_back({.thread = idOf<ThreadId>(row.getColumn(0).getInt64()),
                                .process = ProcessIndex{row.getColumn(1).getInt()}});
         });
    return {std::move(topology), threads};
}

bool isWholeRecording(SQLite::Database& database, std::int64_t run)
{
    SQLite::Statement row(database, "select workload from run where id = ?");
    row.bind(1, run);
    return row.executeStep() && runWorkload(row.getColumn(0).getString()).coversRecording;
}

} // namespace

TotalsWriter::TotalsWriter(WritableFile& target, std::int64_t run)
    : target_(target), run_(run), kernelRows_(target.database(), target.chunks(), "kernel_total",
                                              {"id", "run", "kind", "name", "path", "instances", "total",
                                               "shortest", "longest", "squares"}),
      pathRows_(target.database(), target.chunks(), "range_total",
                {"id", "run", "path", "instances", "wall", "gpu"}),
      stepRows_(target.database(), target.chunks(), "step_total",
                {"id", "run", "step", "start", "end", "gpu_busy", "launching", "synchronizing", "tracing",
                 "unexplained", "process"}),
      topology_(topologyOf(target.database(), run)),
      wholeRecording_(isWholeRecording(target.database(), run)),
      textOf_([this](StringId id) { return text(id); }), paths_(textOf_), calls_(target, run, topology_)
{
}

TotalsWriter::~TotalsWriter() = default;

std::string_view TotalsWriter::text(StringId id)
{
    const auto [known, isNew] = texts_.try_emplace(id);
    if (!isNew || !id)
        return known->second;
    if (const auto given = target_.strings().givenText(id.value)) {
        known->second = *given;
    } else {
        const StatementCache::Handle row = target_.query("select text from string where id = ?");
        row->bind(1, static_cast<std::int64_t>(id.value));
        if (row->executeStep())
            known->second = row->getColumn(0).getString();
    }
    return known->second;
}

bool TotalsWriter::isStep(StringId path)
{
    if (!path)
        return false;
    const auto [known, isNew] = isStep_.try_emplace(path, false);
    if (isNew)
        known->second = analysis::fromStepDown(text(path)) == "step";
    return known->second;
}

void TotalsWriter::add(const Range& range)
{
    if (range.step == kNoStep)
        return;
    paths_.add(range);
    if (isStep(range.path))
        steps_.push_back({.number = range.step,
                          .process = topology_.of(range.thread),
                          .start = range.start,
                          .end = range.end});
}

void TotalsWriter::add(const Op& op)
{
    calls_.add(op);
    if (op.step != kNoStep)
        paths_.add(op);
}

void TotalsWriter::passSteps()
{
    if (passed_ == steps_.size())
        return;
    const std::span<Step> since = std::span(steps_).subspan(passed_);
    std::ranges::stable_sort(since, {}, &Step::start);
    for (const Step& step : since)
        processes_[step.process].addStep(step.number, {step.start, step.end});
    passed_ = steps_.size();
}

void TotalsWriter::add(const ApiCall& call)
{
    passSteps();
    processes_[topology_.of(call.thread)].addCall(call.kind, {call.start, call.end});
}

void TotalsWriter::add(const DeviceEvent& event, bool isLaunched)
{
    passSteps();
    onGpu_ = true;
    calls_.add(event, isLaunched);
    paths_.add(event);
    processes_[topology_.of(event.device, event.stream)].addDeviceEvent(event);
    if (event.step == kNoStep && !wholeRecording_)
        return;
    const KernelKey key{std::uint64_t{event.name.value} << 2 | static_cast<std::uint64_t>(event.kind),
                        event.path.value};
    KernelTotal& total = kernels_[key];
    if (total.instances == 0) {
        total.kind = event.kind;
        total.name = event.name;
        total.path = event.path;
    }
    total.add((event.end - event.start).count());
}

void TotalsWriter::write()
{
    writeKernels();
    writePaths();
    writeSteps();
    calls_.write();
}

void TotalsWriter::writeKernels()
{
    std::vector<const KernelTotal*> totals;
    for (const auto& [key, total] : kernels_)
        totals.push_back(&total);
    // Sorts, so that the same events give the same file.
    std::ranges::sort(totals, [](const KernelTotal* a, const KernelTotal* b) {
        return std::tuple(a->kind, a->name.value, a->path.value) <
               std::tuple(b->kind, b->name.value, b->path.value);
    });
    for (const KernelTotal* total : totals)
        kernelRows_.insert(run_,
                           {run_, wordOf(total->kind), cellOfId(total->name), cellOfId(total->path),
                            total->instances, total->total, total->shortest, total->longest, total->squares});
}

void TotalsWriter::writePaths()
{
    const auto cell = [](const std::optional<Nanoseconds>& time) {
        return time ? Cell(std::int64_t{time->count()}) : Cell();
    };
    for (const analysis::RangeTotal& total : paths_.list())
        pathRows_.insert(run_, {run_, target_.strings().intern(total.path), total.instances, cell(total.wall),
                                cell(total.gpu)});
}

void TotalsWriter::writeSteps()
{
    passSteps();
    std::map<ProcessIndex, std::vector<analysis::StepPartition>> partitions;
    for (const auto& [process, steps] : processes_)
        partitions[process] = steps.partitions();
    std::map<ProcessIndex, std::size_t> next;
    for (const Step& step : steps_) {
        analysis::StepPartition& parts = partitions[step.process][next[step.process]++];
        if (!onGpu_)
            parts = {.wall = parts.wall};
        stepRows_.insert(run_,
                         {run_, std::int64_t{step.number}, nanosecondsOf(parts.wall.start),
                          nanosecondsOf(parts.wall.end), std::int64_t{parts.gpuBusy.count()},
                          std::int64_t{parts.launching.count()}, std::int64_t{parts.synchronizing.count()},
                          std::int64_t{parts.tracing.count()}, std::int64_t{parts.unexplained.count()},
                          step.process ? Cell(std::int64_t{step.process.value}) : Cell()});
    }
}

} // namespace tilescope::store
