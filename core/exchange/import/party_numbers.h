#pragma once

#include "core/exchange/import/foreign_rows.h"

namespace tilescope::exchange {

/// Numbers the threads, devices and streams of a foreign trace so that each number is unique in the run, and
/// fills parties.devices and parties.streams. A number stays the native one where no other process has it.
///
/// Devices of two processes are one device if they have the same UUID; where UUIDs are unknown, if they have the
/// same number on the same host, unless the processes are different ranks: NCCL refuses two ranks on one device.
void numberParties(ForeignTrace& trace);

/// Gives each process' correlation ids an interval of the run's: sets TracedProcess::firstCorrelation.
void numberCorrelations(ForeignTrace& trace);

} // namespace tilescope::exchange
