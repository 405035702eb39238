#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope {

/// A kernel whose instructions were sampled while it ran.
struct SampledKernel {
    ProcessIndex process = {}; ///< none: the run's only process
    DeviceIndex device = {};
    std::string name = {};   ///< as in its DeviceEvent
    std::string symbol = {}; ///< its name in the machine code, mangled
    std::uint64_t cubin = 0; ///< checksum of its module (KernelCode)

    bool operator==(const SampledKernel&) const = default;
};

/// A line of source code; no line: unknown.
struct SourceLine {
    std::string file = {};
    std::uint32_t line = 0;

    auto operator<=>(const SourceLine&) const = default;
};

/// An instruction of a kernel that was sampled.
struct SampledInstruction {
    std::uint32_t kernel = 0; ///< index in KernelSamples::kernels
    std::uint64_t offset = 0; ///< bytes from the beginning of the kernel
    std::string text = {};    ///< HFMA2.MMA R4, -RZ, RZ, 2, 0; empty: not disassembled
    SourceLine line = {};     ///< that it was compiled from
    SourceLine caller = {};   ///< line of the kernel itself, if `line` belongs to a function inlined there
    std::string inlined = {}; ///< name of that function, if it is known

    bool operator==(const SampledInstruction&) const = default;
};

/// Samples of an instruction with one stall reason. Those of the same instruction and reason are of other times.
struct StallSamples {
    std::uint32_t instruction = 0; ///< index in KernelSamples::instructions
    std::uint32_t reason = 0;      ///< index in KernelSamples::reasons
    std::int64_t samples = 0;
    std::int64_t unissued = 0; ///< those at which the scheduler issued no instruction of any warp
    Timestamp start = {};      ///< of the time in which they were read from the GPU
    Timestamp end = {};        ///< equal to start: unknown

    bool operator==(const StallSamples&) const = default;
};

/// The machine code of a module with sampled kernels.
struct KernelCode {
    std::uint64_t cubin = 0; ///< CUPTI's checksum
    std::string code = {};   ///< an ELF file

    bool operator==(const KernelCode&) const = default;
};

/// A file that sampled instructions were compiled from.
struct KernelSource {
    std::string file = {};
    std::string digest = {}; ///< SHA-256 of the file
    std::string text = {};   ///< of the file; empty: not kept

    bool operator==(const KernelSource&) const = default;
};

/// What the warps of a run's kernels did at sampled instants.
struct KernelSamples {
    std::vector<SampledKernel> kernels = {};
    std::vector<SampledInstruction> instructions = {}; ///< by kernel and offset
    std::vector<std::string> reasons = {};             ///< long_scoreboard
    std::vector<StallSamples> stalls = {};             ///< by instruction, reason and time
    std::vector<KernelCode> code = {};
    std::vector<KernelSource> sources = {};

    bool empty() const { return stalls.empty(); }
    bool operator==(const KernelSamples&) const = default;
};

// Numbers of each process (keyOfProcess()) among a run's facts.
inline constexpr const char* kInsideCycles =
    "record.inside_cycles"; ///< between two samples of a multiprocessor
inline constexpr const char* kInsideOthers = "record.inside_others"; ///< samples that are of no known kernel

} // namespace tilescope
