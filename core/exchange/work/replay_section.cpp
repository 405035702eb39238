#include "core/exchange/work/replay_section.h"

#include "core/analysis/stats/statistics.h"
#include "core/analysis/work/op_work.h"
#include "core/base/plural.h"
#include "core/base/terminal_text.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/sections.h"
#include "core/model/ceilings.h"

#include <ostream>

namespace tilescope::exchange {

namespace {

/// The mean time of such an op in the recording; none if it is part of another op there.
std::optional<double> recordedNs(const Replayed& replayed)
{
    const auto& row = replayed.op.row;
    return row && row->instances > 0
               ? std::optional(static_cast<double>(row->time.count()) / static_cast<double>(row->instances))
               : std::nullopt;
}

/// The work of one call; none if it is unknown.
std::optional<analysis::Work> workOfCall(const Replayed& replayed)
{
    const auto& row = replayed.op.row;
    if (!row || !row->work || row->instances == 0)
        return {};
    return analysis::Work{{row->work->flops.count / row->instances},
                          {row->work->bytes.count / row->instances}};
}

/// The least time that one call needs under the ceilings of the recording's device, ns.
std::optional<double> leastNs(const Replayed& replayed, bool ofSheet)
{
    const auto recorded = recordedNs(replayed);
    if (!recorded || !replayed.op.row)
        return {};
    const auto& point = ofSheet ? replayed.op.row->sheet : replayed.op.row->measured;
    return point ? std::optional(point->fraction * *recorded) : std::nullopt;
}

std::optional<double> rate(double amount, double ns, double unit)
{
    return amount > 0 && ns > 0 ? std::optional(amount / ns / unit) : std::nullopt;
}

/// Whether other programs disturbed the measurement.
bool wasBusy(const ReplayResult& result)
{
    return result.waiting.value_or(0) >= kBusyHostShare;
}

/// Why the least time of a call is not known.
std::string whyNoLeast(const Replayed& replayed)
{
    if (!replayed.op.row)
        return "an op above it counts in the recording";
    return replayed.op.row->why.empty() ? "its work or the ceilings of the device are not known"
                                        : replayed.op.row->why;
}

std::string timeText(double ns)
{
    return withUnit(ns, Unit::Nanoseconds);
}

} // namespace

Table tableOf(std::shared_ptr<const Replayed> replayed)
{
    const auto rows = std::make_shared<const std::vector<std::shared_ptr<const Replayed>>>(1, replayed);
    using Row = std::shared_ptr<const Replayed>;
    const ColumnsOf column(rows, *rows);
    const auto measured = analysis::summarise(replayed->result.samplesNs);
    const double median = measured ? measured->median : 0;
    const auto work = workOfCall(*replayed);
    Table table{.rows = 1};
    table.columns = {
        column("run", "", [](const Row& row) { return row->op.run.run.value; }),
        column("op", "", [](const Row& row) { return row->op.op; }),
        column("shapes", "", [](const Row& row) { return row->op.shapes; }),
        column("signature", "", [](const Row& row) { return row->result.signature; }),
        column("device", "", [](const Row& row) { return row->result.device; }),
        column("device_name", "", [](const Row& row) { return cellOrNull(row->result.deviceName); }),
        column("measured_ns", "", [measured](const Row&) { return measured; }),
        column("calls", "", [](const Row& row) { return row->result.calls; }),
        column("host_waiting_percent", "",
               [](const Row& row) {
                   const auto& waiting = row->result.waiting;
                   return waiting ? std::optional(100 * *waiting) : std::nullopt;
               }),
        column("busy_host", "",
               [](const Row& row) { return row->result.waiting ? Cell(wasBusy(row->result)) : Cell(); }),
        column("graphed", "", [](const Row& row) { return row->result.isGraphed; }),
        column("recorded_ns", "", [](const Row& row) { return recordedNs(*row); }),
        column("recorded_instances", "",
               [](const Row& row) {
                   return row->op.row ? std::optional(row->op.row->instances) : std::nullopt;
               }),
        column("recorded_on", "", [](const Row& row) { return cellOrNull(row->op.run.result.device); }),
        column("flops", "",
               [work](const Row&) { return work ? std::optional(work->flops.count) : std::nullopt; }),
        column("bytes", "",
               [work](const Row&) { return work ? std::optional(work->bytes.count) : std::nullopt; }),
        column("tflops", "",
               [work, median](const Row&) {
                   return work ? rate(static_cast<double>(work->flops.count), median, 1e3) : std::nullopt;
               }),
        column("gbps", "",
               [work, median](const Row&) {
                   return work ? rate(static_cast<double>(work->bytes.count), median, 1) : std::nullopt;
               }),
        column("least_measured_ns", "", [](const Row& row) { return leastNs(*row, false); }),
        column("least_sheet_ns", "", [](const Row& row) { return leastNs(*row, true); }),
        column("why", "", [](const Row& row) {
            return row->op.row ? cellOrNull(row->op.row->why)
                               : Cell("an op above it counts in the recording");
        })};
    return table;
}

void writeReplay(std::ostream& out, const Replayed& replayed)
{
    const auto measured = analysis::summarise(replayed.result.samplesNs);
    const ReplayResult& result = replayed.result;
    out << escapeForTerminal(replayed.op.op + "  " + replayed.op.shapes) << '\n';
    if (!measured)
        return;
    out << "  measured alone   " << timeText(measured->median);
    if (measured->ci95)
        out << "  (95 % interval " << timeText(measured->ci95->low) << " to "
            << timeText(measured->ci95->high) << ")";
    out << ", " << counted(measured->n, "sample") << " of " << counted(result.calls, "call")
        << (result.isGraphed ? " in a CUDA graph" : "") << " on "
        << escapeForTerminal(result.deviceName.empty() ? result.device : result.deviceName) << '\n';
    if (const auto recorded = recordedNs(replayed))
        out << "  in the recording " << timeText(*recorded) << "  (mean of " << replayed.op.row->instances
            << ")\n";
    else
        out << "  in the recording its time is part of another op's\n";
    for (const bool ofSheet : {false, true})
        if (const auto least = leastNs(replayed, ofSheet))
            out << (ofSheet ? "  data sheet       " : "  measured ceiling ") << timeText(*least)
                << "  at least ("
                << escapeForTerminal(ofSheet ? replayed.op.ceilings.sheetFrom
                                             : replayed.op.ceilings.measuredFrom)
                << ")\n";
    if (!leastNs(replayed, false) && !leastNs(replayed, true))
        out << "  least time       not known: " << escapeForTerminal(whyNoLeast(replayed)) << '\n';
    if (const auto work = workOfCall(replayed)) {
        // Amounts per ns are in 10^9 per second.
        const auto rateText = [&](std::int64_t amount, Unit unit) {
            const auto perSecond = rate(static_cast<double>(amount), measured->median, 1e-9);
            return perSecond ? withUnit(*perSecond, unit) : std::string();
        };
        const std::string flops = rateText(work->flops.count, Unit::FlopsPerSecond);
        const std::string bytes = rateText(work->bytes.count, Unit::BytesPerSecond);
        out << "  alone            " << flops << (flops.empty() || bytes.empty() ? "" : ", ") << bytes
            << '\n';
    }
    if (wasBusy(result))
        out << "  flagged          busy-host: a thread waited for a core for "
            << withUnit(100 * *result.waiting, Unit::Percent)
            << " of the measurement, so that the op seems slower than it is; measure on a quieter host\n";
}

} // namespace tilescope::exchange
