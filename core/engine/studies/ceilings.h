#pragma once

#include "core/model/run.h"

#include <vector>

namespace tilescope::engine {

class Device;

/// Measures the maximum performance of the device through LibTorch: large square matrix products in each
/// supported precision (matmul_fp32, matmul_tf32, matmul_bf16, matmul_fp16; FLOP/s), a copy within its memory
/// that exceeds every cache (copy; bytes read and written per second), a copy to another GPU of the host if there is
/// one (peer_copy; bytes sent per second), the smallest eager op (launch; ops per
/// second, the limit of launch-bound steps), and causal attention (calibration.h) in the kernels that flash
/// and sdpa use (attention_flash_bf16_forward, attention_cudnn_bf16_backward, …; FLOP/s of the visible
/// pairs).
///
/// Each is the median of nine samples of at least 50 ms (20 ms on a CPU) of back-to-back work after a
/// warm-up, so that clocks are those under load; the spread is their standard deviation. The smallest op is
/// measured at the beginning and at the end, and the better result counts. Takes a few seconds and up to a
/// quarter of the free memory. The caller fills in the identity of the device. Session thread; nothing else
/// may use the device.
/// \throws c10::Error  from LibTorch
std::vector<Ceiling> measureCeilings(const Device& device);

} // namespace tilescope::engine
