#pragma once

#include "core/model/run.h"

#include <vector>

namespace tilescope::engine {

class Device;

/// What the device reaches in the best of circumstances, through LibTorch: large square matrix products of
/// each precision it has (matmul_fp32, matmul_tf32, matmul_bf16, matmul_fp16; FLOP/s), a copy within its
/// memory that no cache holds (copy; bytes read and written a second), the smallest eager op (launch; ops
/// a second, which bounds launch-bound steps), and causal attention (calibration.h) in the kernels that
/// flash and sdpa come to (attention_flash_bf16_forward, attention_cudnn_bf16_backward, …; FLOP/s of the
/// pairs that are seen).
///
/// Each is the median of nine samples of at least 50 ms (20 ms on a CPU) of work in a row after a warm-up, so
/// that clocks are those under load; the spread is their standard deviation. The smallest op is measured at
/// the beginning and at the end, and the better one counts. Takes some seconds and up to a quarter of the
/// free memory. Which device it is is for the caller to fill in. Session thread; nothing else may use the
/// device.
/// \throws c10::Error  as LibTorch does
std::vector<Ceiling> measureCeilings(const Device& device);

} // namespace tilescope::engine
