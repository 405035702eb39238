#pragma once

namespace tilescope::kernels {

/// Largest number of CTAs of a decode kernel.
inline constexpr int kMostDecodeCtas = 512;

/// kMostDecodeCtas counters on the current device that no recent launch uses; null without a device. All are zero
/// between launches: the CTA that finishes an item's last part resets the item's counter. Launches on several streams
/// may overlap. Any thread may call it.
unsigned* nextDecodeCounters();

} // namespace tilescope::kernels
