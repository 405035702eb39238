#pragma once

#include "core/exchange/tables/column_of.h"
#include "core/query/calls/call_tree.h"

#include <string>

namespace tilescope::exchange {

/// How the amounts of a call tree are named and shown.
struct CallAmounts {
    std::string name; ///< of the whole: "GPU time"
    std::string key;  ///< end of a column's key: ns, bytes, flops
    Unit unit = Unit::None;
};

inline CallAmounts amountsOf(const query::CallTreeTable& tree)
{
    switch (tree.weight) {
    case query::CallWeight::Allocated:
        return {"allocated bytes", "bytes", Unit::Bytes};
    case query::CallWeight::Flops:
        return {"FLOPs", "flops", Unit::Flops};
    case query::CallWeight::Moved:
        return {"bytes moved", "bytes", Unit::Bytes};
    case query::CallWeight::Idle:
        return {"idle time of the GPU", "ns", Unit::Nanoseconds};
    case query::CallWeight::Samples:
        return {"samples of instructions", "samples", Unit::None};
    default:
        return {tree.onGpu ? "GPU time" : "self time of ops", "ns", Unit::Nanoseconds};
    }
}

/// The columns of the calls of a tree, and of groups of them.
struct CallColumns {
    using Row = query::CallTreeRow;
    using Of = ColumnOf<Row>;

    explicit CallColumns(const query::CallTreeTable& tree) : CallColumns(tree, amountsOf(tree)) {}

    Of kind = Of("kind", "kind", [](const Row& row) { return query::wordOf(row.kind); });
    Of total;
    Of percent;
    Of self;
    Of count = Of("count", "count", &Row::count);

private:
    CallColumns(const query::CallTreeTable& tree, const CallAmounts& amounts)
        : total("total_" + amounts.key, "total", &Row::total,
                {.unit = amounts.unit, .keep = 2, .unitGroup = 1}),
          percent("percent",
                  tree.weight == query::CallWeight::Time && !tree.onGpu ? "of self time"
                                                                        : "of " + amounts.name,
                  &Row::percent, {.unit = Unit::Percent, .keep = 2}),
          self("self_" + amounts.key, "self", &Row::self, {.unit = amounts.unit, .unitGroup = 1})
    {
    }
};

} // namespace tilescope::exchange
