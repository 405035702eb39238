#pragma once

#include "core/exchange/import/foreign_rows.h"

namespace tilescope::exchange {

/// Rule "devices that are not read": leaves out the processes of ForeignTrace::unread with their threads and events,
/// which are counted, and those of ForeignTrace::spare that nothing belongs to. Processes that have device activities stay.
void leaveOutUnreadDevices(ForeignTrace& trace);

} // namespace tilescope::exchange
