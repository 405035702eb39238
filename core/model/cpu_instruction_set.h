#pragma once

#include "core/model/text.h"

#include <cstdint>

namespace tilescope {

/// The instruction sets of a CPU by which kernels and memory differ, each containing those before it. The attention kernels
/// are compiled for all but Avx512Fp16, which decides how oneDNN multiplies fp16.
enum class CpuInstructionSet : std::uint8_t { Sse2, Avx2, Avx512, Avx512Bf16, Avx512Fp16, Amx, AmxFp16 };

} // namespace tilescope
