// The instruction sets that this processor supports and the operating system allows.
#include "kernels/cpu/instruction_set.h"

#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tilescope::kernels {

namespace {

/// Requests permission to use the tile registers, as Linux 5.16 and later require. Linux refuses if the
/// signal stacks cannot hold another 8 KB. The permission holds for every thread.
bool tileRegistersGranted()
{
#if defined(__linux__) && defined(SYS_arch_prctl)
    constexpr int kRequestPermission = 0x1023; // ARCH_REQ_XCOMP_PERM
    constexpr int kTileData = 18;              // XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
}

/// AMX-FP16, which __builtin_cpu_supports() of GCC 12 and /proc/cpuinfo do not name.
bool multipliesFp16Tiles()
{
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    constexpr unsigned kFeatures = 7, kSubleaf = 1, kAmxFp16Bit = 21;
    return __get_cpuid_count(kFeatures, kSubleaf, &eax, &ebx, &ecx, &edx) != 0 &&
           (eax >> kAmxFp16Bit & 1) != 0;
}

std::vector<const CpuInstructionSet*> supportedSets()
{
    // __builtin_cpu_supports() includes the operating system's support: it checks which registers are saved.
    __builtin_cpu_init();
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    const bool bf16 = avx512 && __builtin_cpu_supports("avx512bf16");
    std::vector<const CpuInstructionSet*> sets;
    if (bf16 && __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16") &&
        tileRegistersGranted()) {
        if (multipliesFp16Tiles()) {
            sets.push_back(&kAmxFp16);
        }
        sets.push_back(&kAmx);
    }
    if (bf16) {
        sets.push_back(&kAvx512Bf16);
    }
    if (avx512) {
        sets.push_back(&kAvx512);
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
        sets.push_back(&kAvx2);
    }
    sets.push_back(&kSse2);
    return sets;
}

} // namespace

const std::vector<const CpuInstructionSet*>& cpuInstructionSets()
{
    static const std::vector<const CpuInstructionSet*> sets = supportedSets();
    return sets;
}

const CpuTileKernels& cpuTileKernels(ElementType type)
{
    for (const CpuInstructionSet* set : cpuInstructionSets()) {
        if (const CpuTileKernels* kernels = set->kernels[static_cast<std::size_t>(type)]) {
            return *kernels;
        }
    }
    __builtin_unreachable(); // SSE2 has all
}

} // namespace tilescope::kernels
