#include "core/exchange/kernels/inside_section.h"

#include "core/analysis/kernels/stall_reasons.h"
#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/exchange/kernels/inside_columns.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"
#include "core/query/kernels/inside_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tilescope::exchange {

namespace {

using query::InsideGroup;
using query::InsideRow;

std::string offsetText(std::uint64_t offset)
{
    return fmt::format("{:04x}", offset);
}

/// Where a row is: its line and, in parentheses, where it is inlined.
Cell placeCell(const InsideRow& row)
{
    if (row.line.file.empty())
        return {};
    std::string text = sourceLineText(row.line);
    if (row.caller.line > 0)
        text += " (in " + sourceLineText(row.caller) + ")";
    return text;
}

std::vector<std::string> insideNotes(const query::InsideTable& inside)
{
    std::vector<std::string> notes;
    if (inside.group == InsideGroup::Reason && inside.rows.front().kernel == inside.rows.back().kernel)
        if (const auto limit = query::insideLimit(inside, inside.rows.front().kernel))
            notes.push_back("What limits it: " + query::limitSentence(*limit, {}));
    notes.push_back(
        "A sample is the state of one warp" +
        (inside.cycles > 0
             ? ", taken on each multiprocessor every " + std::to_string(inside.cycles) + " cycles"
             : std::string()) +
        "; the samples of a kernel's rows add up to its samples. Issued: the scheduler of the warp issued an "
        "instruction, of this or another warp.");
    if (inside.group == InsideGroup::Kernel) {
        constexpr double kMany = 0.05;
        double all = static_cast<double>(inside.others);
        for (const query::InsideRow& row : inside.rows)
            all += static_cast<double>(row.samples);
        if (static_cast<double>(inside.others) > kMany * all)
            notes.push_back(
                counted(inside.others, "more sample") + ", " +
                quantity::threeDigits(100 * static_cast<double>(inside.others) / all) +
                " % of all, are of code for which CUPTI names no kernel: functions that kernels call by "
                "address, as those of NCCL do, whose own rows are too small then, and the driver's.");
    }
    const bool isOfCode = inside.group == InsideGroup::Line || inside.group == InsideGroup::Instruction ||
                          inside.group == InsideGroup::Function;
    if (isOfCode &&
        std::ranges::all_of(inside.rows, [](const InsideRow& row) { return row.line.file.empty(); }))
        notes.emplace_back(
            "These kernels have no line information: compile them with nvcc -lineinfo; kernels of "
            "Triton have it.");
    if (inside.group == InsideGroup::Instruction && !inside.hasTexts)
        notes.emplace_back(
            "Some instructions are shown by their offset alone: install nvdisasm (part of Triton, of "
            "the CUDA toolkit and of the wheel nvidia-cuda-nvcc), and record without --no-cubins.");
    if (inside.step)
        notes.push_back(fmt::format(
            "Samples are read from the GPU every 200 ms and more. These are of the {} in which step {} ({}) "
            "ran.",
            quantity::withUnit(static_cast<double>(inside.readTime.count()), quantity::Unit::Nanoseconds),
            *inside.step,
            quantity::withUnit(static_cast<double>(inside.stepTime.count()), quantity::Unit::Nanoseconds)));
    if (!inside.turns.empty())
        notes.push_back("A part of the run: " + inside.turns + ".");
    if (!inside.trouble.empty())
        notes.push_back(inside.trouble);
    return notes;
}

} // namespace

Table tableOf(std::shared_ptr<const query::InsideTable> inside)
{
    const auto column = columnsOf(inside);
    const InsideGroup group = inside->group;
    const auto onlyFor = [](bool everyone) { return everyone ? Audience::Everyone : Audience::Programs; };
    const bool isOfCode = group == InsideGroup::Line || group == InsideGroup::Instruction;
    const bool hasSeveral = std::ranges::any_of(
        inside->rows, [&](const InsideRow& row) { return row.kernel != inside->rows.front().kernel; });
    std::string heading = describeRun(inside->run) + "; by " + std::string(wordOf(group));
    if (!inside->rows.empty() && !hasSeveral)
        heading += "; " + inside->rows.front().name + ", " + counted(inside->samples, "sample");
    Table table{.heading = std::move(heading), .rows = inside->rows.size()};
    table.columns.push_back(
        column.programs("run", [run = inside->run.run](const InsideRow&) { return run.value; }));
    table.columns.push_back(column.programs("kernel", &InsideRow::kernel));
    if (hasSeveral || group == InsideGroup::Kernel)
        table.columns.push_back(column.people("kernel", &InsideRow::name, {.keep = 2, .elidable = true}));
    for (Column& each : std::vector<Column>{
             column.programs("file", [](const InsideRow& row) { return cellOrNull(row.line.file); }),
             column.programs("line",
                             [](const InsideRow& row) {
                                 return row.line.line > 0 ? Cell(std::int64_t{row.line.line}) : Cell();
                             }),
             column.programs("caller_file", [](const InsideRow& row) { return cellOrNull(row.caller.file); }),
             column.programs("caller_line", [](const InsideRow& row) {
                 return row.caller.line > 0 ? Cell(std::int64_t{row.caller.line}) : Cell();
             })})
        table.columns.push_back(std::move(each));
    if (isOfCode)
        table.columns.push_back(column.people("line", placeCell, {.keep = 2, .elidable = true}));
    if (group == InsideGroup::Function)
        table.columns.push_back(
            column.people("file", [](const InsideRow& row) { return cellOrNull(sourceLineText(row.line)); }));
    const auto offsetOf = [](const InsideRow& row) {
        return row.offset ? Cell(static_cast<std::int64_t>(*row.offset)) : Cell();
    };
    for (Column& each : std::vector<Column>{
             column("function", "function", [](const InsideRow& row) { return cellOrNull(row.function); },
                    {.keep = 0,
                    .audience = onlyFor(isOfCode || group == InsideGroup::Function),
                    .elidable = true}),
             column.programs("offset", offsetOf)})
        table.columns.push_back(std::move(each));
    if (group == InsideGroup::Instruction)
        table.columns.push_back(column.people(
            "offset", [](const InsideRow& row) { return Cell(offsetText(row.offset.value_or(0))); },
            {.keep = 2}));
    for (Column& each : std::vector<Column>{
             column("instruction", "instruction",
                    [](const InsideRow& row) { return cellOrNull(row.instruction); },
                    {.keep = 2, .audience = onlyFor(group == InsideGroup::Instruction), .elidable = true}),
             column.programs("reason", [](const InsideRow& row) { return cellOrNull(row.reason); })})
        table.columns.push_back(std::move(each));
    if (group == InsideGroup::Reason)
        table.columns.push_back(column.people(
            "state", [](const InsideRow& row) { return Cell(reasonText(row.reason)); }, {.keep = 2}));
    for (Column& each : std::vector<Column>{
             column("samples", "samples", &InsideRow::samples, {.keep = 2}),
             column("percent", group == InsideGroup::Kernel ? "of all" : "of the kernel",
                    [](const InsideRow& row) { return 100 * row.share; },
                    {.unit = Unit::Percent, .keep = 2, .shortTitle = "share"}),
             column("issued_percent", "issued", [](const InsideRow& row) { return 100 * row.issuedShare(); },
                    {.unit = Unit::Percent}),
             column.programs("stall", [](const InsideRow& row) { return cellOrNull(row.stall); }),
             column.programs("stall_percent", [](const InsideRow& row) {
                 return row.stall.empty() ? Cell() : Cell(100 * row.stallShare());
             })})
        table.columns.push_back(std::move(each));
    if (group != InsideGroup::Reason)
        table.columns.push_back(column.people("stalled most",
                                              [](const InsideRow& row) -> Cell {
                                                  if (row.stall.empty())
                                                      return {};
                                                  return quantity::threeDigits(100 * row.stallShare()) +
                                                         " % " + reasonText(row.stall);
                                              },
                                              {.elidable = true}));
    const auto known = [](const InsideRow& row) {
        return analysis::stallReason(row.reason.empty() ? row.stall : row.reason);
    };
    table.columns.push_back(column.programs(
        "sentence", [known](const InsideRow& row) { return cellOrNull(known(row).sentence); }));
    table.columns.push_back(column("remedy", "usual remedy",
                                   [known](const InsideRow& row) { return cellOrNull(known(row).remedy); },
                                   {.keep = 0, .audience = onlyFor(group == InsideGroup::Reason)}));
    table.whyEmpty = "no samples: record with --inside";
    if (!inside->trouble.empty())
        table.whyEmpty += "; " + inside->trouble;
    else if (inside->isSampled && inside->step)
        table.whyEmpty = "no samples were read while step " + std::to_string(*inside->step) + " ran";
    else if (inside->isSampled)
        table.whyEmpty = "no samples of this process or device";
    if (table.rows > 0)
        table.notes = insideNotes(*inside);
    return table;
}

Table tableOf(std::shared_ptr<const query::InsideDifference> difference)
{
    using query::InsideDifferenceRow;
    const auto column = columnsOf(difference);
    const InsideGroup group = difference->group;
    const auto onlyFor = [](bool everyone) { return everyone ? Audience::Everyone : Audience::Programs; };
    const auto numberOf = [](auto line) {
        return [line](const InsideDifferenceRow& row) {
            return (row.*line).line > 0 ? Cell(std::int64_t{(row.*line).line}) : Cell();
        };
    };
    const InsideDifferenceColumns of;
    Table table{.heading = "A: " + describeRun(difference->runA) + "; B: " + describeRun(difference->runB) +
                           "; by " + std::string(wordOf(group)),
                .rows = difference->rows.size()};
    const auto file = [](const InsideDifferenceRow& row) {
        return cellOrNull(InsideDifferenceColumns::lineOf(row).file);
    };
    table.columns = {column(of.kernel), column.programs("file", file),
                     column.programs("line_a", numberOf(&InsideDifferenceRow::lineA)),
                     column.programs("line_b", numberOf(&InsideDifferenceRow::lineB))};
    const auto add = [&](const auto& shared, Audience audience) {
        table.columns.push_back(column(shared));
        table.columns.back().audience = audience;
    };
    if (group == InsideGroup::Line || group == InsideGroup::Instruction)
        add(of.line, Audience::People);
    const auto offsetOf = [](auto member) {
        return [member](const InsideDifferenceRow& row) {
            return row.*member ? Cell(static_cast<std::int64_t>(*(row.*member))) : Cell();
        };
    };
    table.columns.push_back(column.programs("offset_a", offsetOf(&InsideDifferenceRow::offsetA)));
    table.columns.push_back(column.programs("offset_b", offsetOf(&InsideDifferenceRow::offsetB)));
    add(of.instruction, onlyFor(group == InsideGroup::Instruction));
    add(of.function, onlyFor(group == InsideGroup::Line || group == InsideGroup::Function));
    add(of.text, onlyFor(group == InsideGroup::Line));
    table.columns.push_back(
        column.programs("reason", [](const InsideDifferenceRow& row) { return cellOrNull(row.reason); }));
    if (group == InsideGroup::Reason)
        add(of.state, Audience::People);
    for (const auto* each : {&of.percentA, &of.percentB, &of.points, &of.timeA, &of.timeB, &of.delta})
        table.columns.push_back(column(*each));
    table.whyEmpty = !difference->isSampledA   ? "no samples in A: record with --inside"
                     : !difference->isSampledB ? "no samples in B: record with --inside"
                                               : "no sampled kernel has the same name in both runs";
    if (table.rows > 0)
        table.notes.emplace_back(
            "Percent: of the kernel's samples. Times: this share of its mean time; the rows of a "
            "kernel add up to the difference of its mean times.");
    if (table.rows > 0 && group == InsideGroup::Instruction)
        table.notes.emplace_back("Instructions are paired by their shape, without the numbers of registers, "
                                 "in the order of the code; by "
                                 "their offset where they are not disassembled.");
    return table;
}

} // namespace tilescope::exchange
