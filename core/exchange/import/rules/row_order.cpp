#include "core/exchange/import/rules/row_order.h"

#include <algorithm>
#include <tuple>

namespace tilescope::exchange {

namespace {

/// Orders the ops of equal intervals by their numbers.
void orderEqualOps(ForeignTrace& trace)
{
    const auto isEqual = [](const HostRow& a, const HostRow& b) {
        return a.start == b.start && a.end == b.end && a.kind == b.kind;
    };
    const auto orderOf = [&](const HostRow& row) { return trace.ops[row.extra].order; };
    for (auto first = trace.host.begin(); first != trace.host.end();) {
        auto last = std::next(first);
        if (first->kind != HostKind::Op) {
            first = last;
            continue;
        }
        while (last != trace.host.end() && isEqual(*first, *last))
            ++last;
        trace.work.rows += last - first;
        if (last - first > 1 &&
            std::all_of(first, last, [&](const HostRow& row) { return orderOf(row) != 0; }))
            std::stable_sort(first, last,
                             [&](const HostRow& a, const HostRow& b) { return orderOf(a) < orderOf(b); });
        first = last;
    }
}

} // namespace

void sortRows(ForeignTrace& trace)
{
    const auto outermostFirst = [](const HostRow& a, const HostRow& b) {
        if (a.start != b.start)
            return a.start < b.start;
        return a.end != b.end ? a.end > b.end : a.kind < b.kind;
    };
    if (!std::ranges::is_sorted(trace.host, outermostFirst))
        std::ranges::stable_sort(trace.host, outermostFirst);
    orderEqualOps(trace);
    const auto byStart = [](const DeviceRow& a, const DeviceRow& b) {
        return std::tie(a.start, a.stream, a.correlation, a.end, a.name) <
               std::tie(b.start, b.stream, b.correlation, b.end, b.name);
    };
    if (!std::ranges::is_sorted(trace.activities, byStart))
        std::ranges::stable_sort(trace.activities, byStart);
}

bool repeats(const ForeignTrace& trace, const HostRow& before, const HostRow& row)
{
    if (row.start != before.start || row.end != before.end || row.name != before.name ||
        row.kind != before.kind)
        return false;
    if (row.kind == HostKind::ApiCall)
        return row.extra != 0 && row.extra == before.extra;
    if (row.kind != HostKind::Op)
        return false;
    const OpFacts& a = trace.ops[before.extra];
    const OpFacts& b = trace.ops[row.extra];
    return b.externalId != 0 && a.externalId == b.externalId && a.order == b.order &&
           a.sequence == b.sequence && a.isBackward == b.isBackward && a.shapes == b.shapes;
}

} // namespace tilescope::exchange
