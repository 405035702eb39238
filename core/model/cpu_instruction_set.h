#pragma once

#include "core/model/text.h"

#include <cstdint>

namespace tilescope {

/// The instruction sets that the CPU attention kernels are compiled for, each containing those before it.
enum class CpuInstructionSet : std::uint8_t { Sse2, Avx2, Avx512, Avx512Bf16, Amx, AmxFp16 };

} // namespace tilescope
