#include "core/machine/capacity.h"

#include <cpuid.h>

namespace tilescope::machine {

namespace {

struct ExtendedFeatures {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// CPUID leaf 7 of Intel's Software Developer's Manual, volume 2A.
ExtendedFeatures extendedFeatures(unsigned subleaf)
{
    constexpr unsigned kLeaf = 7;
    ExtendedFeatures features;
    if (__get_cpuid_count(kLeaf, subleaf, &features.eax, &features.ebx, &features.ecx, &features.edx) == 0)
        return {};
    return features;
}

/// Whether the operating system saves the tile registers: bits 17 and 18 of XCR0. XCR0 is readable if AVX-512
/// is usable.
bool savesTileRegisters()
{
    unsigned low = 0;
    unsigned high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    constexpr unsigned kTiles = 3U << 17;
    return (low & kTiles) == kTiles;
}

bool convertsHalfPrecision()
{
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    constexpr unsigned kF16cBit = 29;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx >> kF16cBit & 1) != 0;
}

} // namespace

CpuInstructionSet cpuInstructionSet()
{
    constexpr unsigned kAmxBf16Bit = 22;
    constexpr unsigned kAmxTileBit = 24;
    constexpr unsigned kAmxFp16Bit = 21;
    constexpr unsigned kAvx512Fp16Bit = 23;
    __builtin_cpu_init();
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    const bool bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
    const unsigned features = extendedFeatures(0).edx;
    if (bf16 && (features >> kAmxTileBit & 1) != 0 && (features >> kAmxBf16Bit & 1) != 0 &&
        savesTileRegisters())
        return (extendedFeatures(1).eax >> kAmxFp16Bit & 1) != 0 ? CpuInstructionSet::AmxFp16
                                                                 : CpuInstructionSet::Amx;
    if (bf16)
        return (features >> kAvx512Fp16Bit & 1) != 0 ? CpuInstructionSet::Avx512Fp16
                                                     : CpuInstructionSet::Avx512Bf16;
    if (avx512)
        return CpuInstructionSet::Avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && convertsHalfPrecision())
        return CpuInstructionSet::Avx2;
    return CpuInstructionSet::Sse2;
}

} // namespace tilescope::machine
