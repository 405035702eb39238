#include "core/exchange/memory/memory_columns.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"
#include "core/exchange/tables/stack_frames.h"
#include "core/model/flags.h"
#include "core/model/text.h"

#include <algorithm>

namespace tilescope::exchange {

std::string whyNoEvents(const store::RunRecord& run, const std::string& what)
{
    const std::string name = "Run " + std::to_string(run.run.value);
    if (run.coversRecording())
        return "The recording of run " + std::to_string(run.run.value) + " holds no " + what + ".";
    switch (run.result.status) {
    case RunStatus::Ok:
        return name + " recorded no " + what + ": it was not traced (trace: off or trace_steps: 0).";
    case RunStatus::Running:
        return name + " is running and has recorded no " + what + " so far.";
    default:
        return name + " has no " + what + ": it ended as " + std::string(wordOf(run.result.status)) +
               (run.result.reason.empty() ? "." : " (" + run.result.reason + ").");
    }
}

std::string whyNoSteps(const store::RunRecord& run)
{
    if (!run.coversRecording())
        return whyNoEvents(run, "traced steps");
    return "Run " + std::to_string(run.run.value) +
           " has no steps: nothing in the recording marks them. "
           "The sections kernels, ops, ranges, tree, path and advice cover all of it.";
}

std::string whyNoAllocations(const store::RunRecord& run)
{
    if (!run.coversRecording())
        return whyNoEvents(run, "allocation events (memory: true and a traced step record them)");
    return whyNoEvents(run, "allocation events (profile with profile_memory=True, or record with memory)");
}

std::string whyNoActivities(const store::RunRecord& run, const std::string& what)
{
    for (const std::string& flag : run.result.flags)
        if (findFlag(flag) == &infoOf(FlagKind::Untraced))
            return "Run " + std::to_string(run.run.value) + " has no " + what + ". " + describeFlag(flag) +
                   ".";
    return whyNoEvents(run, what);
}

Table tableOf(std::shared_ptr<const query::MemoryEventsTable> snapshot)
{
    const ColumnsOf column(snapshot, snapshot->events);
    const query::MemoryEventsTable* const all = snapshot.get();
    Table table{.heading = describeRun(snapshot->run) + "; allocation events, time from the first event",
                .rows = snapshot->events.size()};
    table.columns = {
        column.programs("start_ns", [all](const AllocEvent& e) { return e.time - all->run.clockOrigin; }),
        column("t_ns", "time", [all](const AllocEvent& e) { return e.time - all->origin; }, {.keep = 2}),
        column("action", "action", [](const AllocEvent& e) { return wordOf(e.action); }),
        column("bytes", "bytes", &AllocEvent::bytes, {.unit = Unit::Bytes, .keep = 2}),
        column("address", "address", &AllocEvent::address, {.unit = Unit::Address, .keep = 0}),
        column("device", "device", [](const AllocEvent& e) { return deviceText(e.device); }, {.keep = 0}),
        column("allocated", std::string(all->run.traits().heldWord()), &AllocEvent::allocated,
               {.unit = Unit::Bytes, .keep = 2}),
        column("category", "category",
               [all](const AllocEvent& e) { return cellOrNull(all->text(e.category)); }),
        column("path", "range", [all](const AllocEvent& e) { return cellOrNull(all->text(e.path)); },
               {.audience = Audience::Programs}),
        column("path", "range",
               [all](const AllocEvent& e) { return cellOrNull(stackLine(all->text(e.path))); },
               {.keep = 2, .audience = Audience::People, .elidable = true}),
        column("op", "op", [all](const AllocEvent& e) { return cellOrNull(all->op(e.op)); },
               {.elidable = true})};
    addRowProcess(table, column, [all](const AllocEvent& e) { return all->processes.at(e.device); });
    table.whyEmpty = whyNoAllocations(snapshot->run);
    return table;
}

namespace {

/// The memory outside the allocator, or why it is unknown.
std::string outsideNote(const query::MemoryGroupsTable& groups)
{
    if (!groups.outside)
        return std::string("Outside the allocator: not measured (") +
               (groups.device ? "neither NVML nor the driver reports it)."
                              : "the process also holds its code and libraries).");
    const query::OutsideAllocator& outside = *groups.outside;
    std::string text = "Outside the allocator: " + sizeText(outside.most) +
                       (outside.ofAllProcesses ? " by the driver's count of all processes"
                                               : " by NVML's count of this process") +
                       " (CUDA context, modules, libraries)";
    if (outside.beforeSetUp)
        text += ", " + sizeText(*outside.beforeSetUp) + " of it before the run made anything and " +
                sizeText(outside.most - *outside.beforeSetUp) + " loaded since";
    return text + ".";
}

/// The memory that replays of a CUDA graph use. The allocator counts only blocks that outlived the capture.
std::string graphPoolNote(const query::GraphPool& pool)
{
    std::string text = sizeText(pool.held) + " lies in the private pool of a CUDA graph";
    if (pool.replay)
        text += ", where each replay works in " + sizeText(*pool.replay) +
                " at most without allocating: the rest of it counts as free (fragmentation, reserved_free)";
    else
        text += ": its steps work there, and replaying them allocates nothing";
    text += ".";
    if (pool.unknown.count > 0)
        text +=
            " " + sizeText(pool.unknown) + " of it is unattributed: the capture was not seen to allocate it.";
    return text;
}

} // namespace

Table tableOf(std::shared_ptr<const query::MemoryGroupsTable> groups)
{
    using Row = query::MemoryGroupRow;
    // Categories and ops are not stretches of time: the table then leaves out columns without a value.
    const bool timed = std::ranges::any_of(groups->rows, [](const Row& row) { return row.peak.has_value(); });
    const Shown stretch{
        .unit = Unit::Bytes, .audience = timed ? Audience::Everyone : Audience::Programs, .unitGroup = 1};
    const auto column = columnsOf(groups);
    const MemoryGroupColumns of(titleOf(groups->grouping));
    Table table{.heading = describeRun(groups->run), .rows = groups->rows.size()};
    table.columns = {column(of.key),
                     column(of.name),
                     column(of.held),
                     column("max", "max", &Row::max, {.unitGroup = 1}),
                     column("allocations", "allocations", &Row::allocations),
                     column("before", "before", &Row::before, stretch),
                     column("after", "after", &Row::after, stretch),
                     column("peak", "peak within", &Row::peak, stretch),
                     column("churn", "churn", &Row::churn, stretch)};
    addRowProcess(table, groups->process);
    table.whyEmpty = whyNoAllocations(groups->run);
    const std::string word(groups->run.traits().heldWord());
    if (groups->peak)
        table.notes.push_back("Peak on " + deviceText(groups->device) + ": " + sizeText(groups->allocated) +
                              " " + word + ", " + sizeText(groups->reserved) + " reserved, " +
                              withUnit(static_cast<double>(groups->peak->count()), Unit::Nanoseconds) +
                              " after the first event; the rows" +
                              (groups->grouping == query::Grouping::Category
                                   ? " without fragmentation, reserved_free and context add up to what is "
                                   : " add up to what is ") +
                              word + ".");
    if (groups->graphPool.held.count > 0 || groups->graphPool.replay)
        table.notes.push_back(graphPoolNote(groups->graphPool));
    if (groups->peak && groups->grouping == query::Grouping::Category)
        table.notes.push_back(outsideNote(*groups));
    if (timed)
        table.notes.emplace_back(
            "Before, after: " + word +
            " when the first instance began and ended. Churn: allocated within an instance, on average.");
    return table;
}

Table tableOf(std::shared_ptr<const query::LiveMemoryTable> live)
{
    const query::MemoryHistory* const history = live->history.get();
    const ColumnsOf column(live, live->blocks);
    const MemoryBlockColumns of(*history);
    Table table{.heading =
                    describeRun(history->run) + (live->ever ? "; all allocations" : "; live allocations"),
                .rows = live->blocks.size()};
    for (const auto* each : {&of.bytes, &of.category, &of.path, &of.range, &of.op, &of.tensor, &of.shape,
                             &of.since, &of.address, &of.device, &of.code, &of.lifetime, &of.name})
        table.columns.push_back(column(*each));
    addRowProcess(table, history->process);
    if (history->empty()) {
        table.whyEmpty = whyNoAllocations(history->run);
        return table;
    }
    table.whyEmpty = "No allocation of the trace is live at that moment.";
    if (live->ever)
        return table;
    table.notes.push_back("At " + withUnit(static_cast<double>(live->at), Unit::Nanoseconds) +
                          " after the first event " + deviceText(history->device) + " has " +
                          sizeText(live->allocated) + " " + std::string(history->run.traits().heldWord()) +
                          ", " + sizeText(live->untraced) + " of it in no block that is known.");
    return table;
}

namespace {

/// What a list says of a run that has none.
std::string whyNothingSaved(const query::SavedTable& saved)
{
    const std::string run = "Run " + std::to_string(saved.run.run.value);
    if (saved.run.result.status == RunStatus::Ok && !saved.run.coversRecording())
        return run + " has no list of the tensors that backward needs: it ran without a gradient, or was not "
                     "traced with "
                     "memory (trace: off, trace_steps: 0, memory: false), or replayed a CUDA graph.";
    return whyNoEvents(saved.run, "list of the tensors that backward needs");
}

std::string savedNote(const query::SavedTable& saved)
{
    return sizeText(saved.activations) +
           " of activations are held for backward, every storage counted once; besides " +
           sizeText(saved.others) + " of parameters and inputs, which are there anyway.";
}

/// The formula of a residual stream's activation beside what was measured.
std::string residualNote(const query::ResidualStream& stream)
{
    const auto number = [](std::int64_t value) { return std::to_string(value); };
    return "One activation of the residual stream: batch x context x d_model x bytes = " +
           number(stream.batch) + " x " + number(stream.context) + " x " + number(stream.dModel) + " x " +
           number(stream.elementBytes) + " = " + number(stream.formula().count) + " bytes (" +
           sizeText(stream.formula()) + "). Measured: " + stream.measured.shape + " " +
           stream.measured.dtype + " with " + number(stream.measured.bytes) + " bytes, held by " +
           stream.measured.op + " in " + stream.measured.path + "; norms hold " + number(stream.tensors) +
           " of them, together " + sizeText(stream.together) + ".";
}

} // namespace

Table tableOf(std::shared_ptr<const query::SavedTable> saved)
{
    using Row = query::SavedRow;
    const auto column = columnsOf(saved);
    const auto tensor = [&column](std::string key, std::string title, auto member, const Shown& shown = {}) {
        return column(
            std::move(key), std::move(title), [member](const Row& row) { return row.tensor.*member; }, shown);
    };
    const auto time = [&column, origin = saved->origin](std::string key, std::string title, auto member) {
        return column(std::move(key), std::move(title),
                      [member, origin](const Row& row) {
                          const auto& at = row.tensor.*member;
                          return at ? std::optional(*at - origin) : std::nullopt;
                      },
                      {.keep = 0, .unitGroup = 1});
    };
    Table table{.heading = describeRun(saved->run) + "; held for backward by one step",
                .rows = saved->rows.size()};
    table.columns = {
        column("number", "no.", &Row::number),
        tensor("path", "range", &SavedTensor::path, {.keep = 2, .elidable = true}),
        tensor("op", "op", &SavedTensor::op, {.keep = 2, .elidable = true}),
        tensor("tensor", "tensor", &SavedTensor::tensor, {.elidable = true}),
        tensor("shape", "shape", &SavedTensor::shape),
        tensor("dtype", "dtype", &SavedTensor::dtype),
        tensor("bytes", "bytes", &SavedTensor::bytes, {.unit = Unit::Bytes, .keep = 2, .unitGroup = 1}),
        tensor("storage_bytes", "storage", &SavedTensor::storageBytes, {.unit = Unit::Bytes, .unitGroup = 1}),
        tensor("shared_with", "shared with", &SavedTensor::sharedWith),
        column("category", "category", [](const Row& row) { return wordOf(row.tensor.category); }),
        time("from_ns", "from", &SavedTensor::from),
        time("to_ns", "to", &SavedTensor::to)};
    table.whyEmpty = whyNothingSaved(*saved);
    if (table.rows > 0)
        table.notes.push_back(savedNote(*saved));
    if (saved->residual)
        table.notes.push_back(residualNote(*saved->residual));
    return table;
}

Table totalsOf(std::shared_ptr<const query::SavedTable> saved)
{
    using Total = query::SavedTotal;
    const ColumnsOf column(saved, saved->totals);
    Table table{.heading = describeRun(saved->run) + "; held for backward by one step",
                .rows = saved->totals.size()};
    table.columns = {column("key", titleOf(saved->grouping), &Total::path, {.keep = 2, .elidable = true}),
                     column("tensors", "tensors", &Total::tensors),
                     column("activations", "activations", &Total::activations, {.keep = 2, .unitGroup = 1}),
                     column("others", "there anyway", &Total::others, {.unitGroup = 1})};
    table.whyEmpty = whyNothingSaved(*saved);
    if (table.rows > 0)
        table.notes.push_back(savedNote(*saved));
    return table;
}

} // namespace tilescope::exchange
