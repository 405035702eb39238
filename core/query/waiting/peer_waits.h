#pragma once

#include "core/query/ranks/rank_tables.h"
#include "core/query/waiting/waiting_records.h"

namespace tilescope::query {

/// Adds how long the processes of `records` wait in collectives for others, in the steps of their idle time, if it is a hundredth of
/// these or more.
void addPeers(const RanksTable& ranks, WaitingRecords& records);

} // namespace tilescope::query
