#pragma once

namespace tilescope {

/// Addresses of the n-th process whose memory of a device, or of the host, is in a run are higher by
/// n << kProcessAddressBits, which is beyond those of today's processors.
inline constexpr int kProcessAddressBits = 57;

} // namespace tilescope
