#include "core/exchange/number.h"
#include "core/exchange/section_parts.h"
#include "core/exchange/sections.h"
#include "core/model/text.h"

#include <algorithm>

namespace tilescope::exchange {

std::string whyNoEvents(const store::RunRecord& run, const std::string& what)
{
    const std::string name = "Run " + std::to_string(run.run.value);
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

Table tableOf(std::shared_ptr<const query::MemoryEventsTable> snapshot)
{
    const auto cell = [&snapshot](std::string key, std::string title, auto get) {
        return Column{.key = std::move(key),
                      .title = std::move(title),
                      .cell = [snapshot, get](std::size_t row) -> Cell {
                          return get(*snapshot, snapshot->events[row]);
                      }};
    };
    using Table_ = query::MemoryEventsTable;
    Table table{.heading = describeRun(snapshot->run) + "; allocation events, time from the first event",
                .rows = snapshot->events.size()};
    table.columns = {
        with(cell("t_ns", "time",
                  [](const Table_& t, const AllocEvent& e) { return cellOf(e.time - t.origin); }),
             Unit::Nanoseconds, 2),
        cell("action", "action", [](const Table_&, const AllocEvent& e) { return cellOf(wordOf(e.action)); }),
        with(cell("bytes", "bytes", [](const Table_&, const AllocEvent& e) { return Cell(e.bytes); }),
             Unit::Bytes, 2),
        with(cell("address", "address",
                  [](const Table_&, const AllocEvent& e) {
                      return Cell(static_cast<std::int64_t>(e.address));
                  }),
             Unit::Address, 0),
        with(cell("device", "device",
                  [](const Table_&, const AllocEvent& e) { return cellOf(deviceText(e.device)); }),
             Unit::None, 0),
        with(cell("allocated", "allocated",
                  [](const Table_&, const AllocEvent& e) { return Cell(e.allocated); }),
             Unit::Bytes, 2),
        cell("category", "category",
             [](const Table_& t, const AllocEvent& e) { return cellOrNull(t.text(e.category)); }),
        elided(cell("path", "range",
                    [](const Table_& t, const AllocEvent& e) { return cellOrNull(t.text(e.path)); })),
        elided(cell("op", "op", [](const Table_& t, const AllocEvent& e) { return cellOrNull(t.op(e.op)); }),
               1)};
    table.whyEmpty =
        whyNoEvents(snapshot->run, "allocation events (memory: true and a traced step record them)");
    return table;
}

namespace {

/// The memory outside the allocator, or why it is unknown.
std::string outsideNote(const query::MemoryGroupsTable& groups)
{
    if (!groups.outside)
        return std::string("Outside the allocator: not measured (") +
               (groups.device ? "neither NVML nor the driver told of it)."
                              : "a CPU's process has its code and libraries besides).");
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
    const auto stretch = [&](std::string key, std::string title, auto member) {
        return with(column(groups, std::move(key), std::move(title),
                           [member](const Row& row) { return cellOf(row.*member); }),
                    Unit::Bytes, 1, timed ? Audience::Everyone : Audience::Programs);
    };
    Table table{.heading = describeRun(groups->run), .rows = groups->rows.size()};
    table.columns = {
        elided(
            column(groups, "key", titleOf(groups->grouping), [](const Row& row) { return cellOf(row.key); })),
        with(column(groups, "at_peak", "at peak", [](const Row& row) { return cellOf(row.atPeak); }),
             Unit::Bytes, 2),
        with(column(groups, "max", "max", [](const Row& row) { return cellOf(row.max); }), Unit::Bytes),
        column(groups, "allocations", "allocations", [](const Row& row) { return Cell(row.allocations); }),
        stretch("before", "before", &Row::before),
        stretch("after", "after", &Row::after),
        stretch("peak", "peak within", &Row::peak),
        stretch("churn", "churn", &Row::churn)};
    table.whyEmpty =
        whyNoEvents(groups->run, "allocation events (memory: true and a traced step record them)");
    if (groups->peak)
        table.notes.push_back(
            "Peak on " + deviceText(groups->device) + ": " + sizeText(groups->allocated) + " allocated, " +
            sizeText(groups->reserved) + " reserved, " +
            withUnit(static_cast<double>(groups->peak->count()), Unit::Nanoseconds) +
            " after the first event; the rows" +
            (groups->grouping == query::Grouping::Category
                 ? " without fragmentation, reserved_free and context add up to what is allocated."
                 : " add up to what is allocated."));
    if (groups->graphPool.held.count > 0 || groups->graphPool.replay)
        table.notes.push_back(graphPoolNote(groups->graphPool));
    if (groups->peak && groups->grouping == query::Grouping::Category)
        table.notes.push_back(outsideNote(*groups));
    if (timed)
        table.notes.emplace_back("Before, after: allocated when the first instance began and ended. Churn: "
                                 "allocated within an instance, on average.");
    return table;
}

Table tableOf(std::shared_ptr<const query::LiveMemoryTable> live)
{
    using History = query::MemoryHistory;
    using Block = query::MemoryLife;
    const auto cell = [&live](std::string key, std::string title, auto get) {
        return Column{
            .key = std::move(key), .title = std::move(title), .cell = [live, get](std::size_t row) -> Cell {
                return get(*live->history, live->block(row));
            }};
    };
    const auto text = [&cell](std::string key, std::string title, std::uint32_t Block::*member) {
        return cell(std::move(key), std::move(title),
                    [member](const History& h, const Block& b) { return cellOrNull(h.text(b.*member)); });
    };
    const query::MemoryHistory& history = *live->history;
    Table table{.heading =
                    describeRun(history.run) + (live->ever ? "; all allocations" : "; live allocations"),
                .rows = live->blocks.size()};
    table.columns = {
        with(cell("bytes", "bytes", [](const History&, const Block& b) { return Cell(b.bytes); }),
             Unit::Bytes, 2),
        cell("category", "category",
             [](const History&, const Block& b) {
                 return b.isLabelled ? cellOf(wordOf(b.category)) : Cell();
             }),
        elided(text("path", "range", &Block::path)),
        elided(text("op", "op", &Block::op), 1),
        elided(text("name", "tensor", &Block::name), 1),
        elided(text("shape", "shape", &Block::shape), 0),
        with(cell("t_ns", "since",
                  [](const History&, const Block& b) {
                      return b.isOlder() ? Cell() : cellOf(Nanoseconds(b.begin));
                  }),
             Unit::Nanoseconds, 1),
        with(cell("address", "address",
                  [](const History&, const Block& b) { return Cell(static_cast<std::int64_t>(b.address)); }),
             Unit::Address, 0),
        with(cell("device", "device",
                  [](const History& h, const Block&) { return cellOf(deviceText(h.device)); }),
             Unit::None, 0),
        elided(cell("code", "code",
                    [](const History& h, const Block& b) {
                        return cellOrNull(h.places.lineOf(h.text(b.path)));
                    }),
               0)};
    if (history.empty()) {
        table.whyEmpty =
            whyNoEvents(history.run, "allocation events (memory: true and a traced step record them)");
        return table;
    }
    table.whyEmpty = "No allocation of the trace is live at that moment.";
    if (live->ever)
        return table;
    table.notes.push_back("At " + withUnit(static_cast<double>(live->at), Unit::Nanoseconds) +
                          " after the first event " + deviceText(history.device) + " has " +
                          sizeText(live->allocated) + " allocated, " + sizeText(live->untraced) +
                          " of it in no block that is known.");
    return table;
}

namespace {

/// What a ledger says of a run that has none.
std::string whyNothingSaved(const query::SavedTable& saved)
{
    const std::string run = "Run " + std::to_string(saved.run.run.value);
    if (saved.run.result.status == RunStatus::Ok)
        return run +
               " has no ledger of what backward needs: it ran without a gradient, or was not traced with "
               "memory (trace: off, trace_steps: 0, memory: false), or replayed a CUDA graph.";
    return whyNoEvents(saved.run, "ledger of what backward needs");
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
    const auto time = [&saved](std::string key, std::string title, auto member) {
        return with(Column{.key = std::move(key),
                           .title = std::move(title),
                           .cell = [saved, member](std::size_t row) -> Cell {
                               const auto& at = saved->rows[row].tensor.*member;
                               return at ? cellOf(*at - saved->origin) : Cell();
                           }},
                    Unit::Nanoseconds, 0);
    };
    const auto word = [&saved](std::string key, std::string title, std::string SavedTensor::*member) {
        return column(saved, std::move(key), std::move(title),
                      [member](const Row& row) { return cellOf(row.tensor.*member); });
    };
    Table table{.heading = describeRun(saved->run) + "; held for backward by one step",
                .rows = saved->rows.size()};
    table.columns = {
        with(column(saved, "number", "no.", [](const Row& row) { return Cell(row.number); }), Unit::None, 1),
        elided(word("path", "range", &SavedTensor::path)),
        elided(word("op", "op", &SavedTensor::op), 2),
        elided(word("tensor", "tensor", &SavedTensor::tensor), 1),
        with(word("shape", "shape", &SavedTensor::shape), Unit::None, 1),
        with(word("dtype", "dtype", &SavedTensor::dtype), Unit::None, 1),
        with(column(saved, "bytes", "bytes", [](const Row& row) { return Cell(row.tensor.bytes); }),
             Unit::Bytes, 2),
        with(column(saved, "storage_bytes", "storage",
                    [](const Row& row) { return Cell(row.tensor.storageBytes); }),
             Unit::Bytes, 1),
        with(column(saved, "shared_with", "shared with",
                    [](const Row& row) { return cellOf(row.tensor.sharedWith); }),
             Unit::None, 1),
        column(saved, "category", "category",
               [](const Row& row) { return cellOf(wordOf(row.tensor.category)); }),
        time("from_ns", "from", &SavedTensor::from),
        time("to_ns", "to", &SavedTensor::to)};
    table.whyEmpty = whyNothingSaved(*saved);
    table.notes.push_back(savedNote(*saved));
    if (saved->residual)
        table.notes.push_back(residualNote(*saved->residual));
    return table;
}

Table totalsOf(std::shared_ptr<const query::SavedTable> saved)
{
    const auto cell = [&saved](std::string key, std::string title, auto get) {
        return Column{.key = std::move(key),
                      .title = std::move(title),
                      .cell = [saved, get](std::size_t row) { return get(saved->totals[row]); }};
    };
    using Total = query::SavedTotal;
    Table table{.heading = describeRun(saved->run) + "; held for backward by one step",
                .rows = saved->totals.size()};
    table.columns = {
        elided(cell("key", titleOf(saved->grouping), [](const Total& total) { return cellOf(total.path); })),
        cell("tensors", "tensors", [](const Total& total) { return Cell(total.tensors); }),
        with(cell("activations", "activations", [](const Total& total) { return cellOf(total.activations); }),
             Unit::Bytes, 2),
        with(cell("others", "there anyway", [](const Total& total) { return cellOf(total.others); }),
             Unit::Bytes, 1)};
    table.whyEmpty = whyNothingSaved(*saved);
    table.notes.push_back(savedNote(*saved));
    return table;
}

} // namespace tilescope::exchange
