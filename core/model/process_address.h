#pragma once

namespace tilescope {

/// In a run, n << kProcessAddressBits is added to the addresses of the n-th process that uses a device, or
/// the host, so that addresses of processes differ. No current processor uses these bits.
inline constexpr int kProcessAddressBits = 57;

} // namespace tilescope
