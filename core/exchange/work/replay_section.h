#pragma once

#include "core/exchange/tables/table.h"
#include "core/model/replay.h"
#include "core/query/work/replay_op.h"

#include <iosfwd>
#include <memory>

namespace tilescope::exchange {

/// An op that was measured alone, beside its recording.
struct Replayed {
    query::ReplayOp op;
    ReplayResult result;
};

/// One row; people read writeReplay() instead.
Table tableOf(std::shared_ptr<const Replayed> replayed);
void writeReplay(std::ostream& out, const Replayed& replayed);

} // namespace tilescope::exchange
