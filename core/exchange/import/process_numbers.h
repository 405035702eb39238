#pragma once

#include "core/exchange/import/foreign_rows.h"

namespace tilescope::exchange {

/// Numbers the threads, devices and streams of a foreign trace so that each number is unique in the run, and
/// fills topology.devices and topology.streams. A native number is kept if no other process uses it.
///
/// Devices of two processes are the same device if they have the same UUID. If UUIDs are unknown, they must have the
/// same number on the same host and not belong to different ranks, because NCCL refuses two ranks on one device.
void numberProcesses(ForeignTrace& trace);

/// Gives each process' correlation ids an interval of the run's: sets TracedProcess::firstCorrelation.
void numberCorrelations(ForeignTrace& trace);

} // namespace tilescope::exchange
