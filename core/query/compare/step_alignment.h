#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/query/compare/step_side.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// The property by which the kernels of two recordings are paired.
enum class AlignedBy : std::uint8_t {
    Modules, ///< paths of modules and NVTX ranges
    Ops,     ///< ops around the launch; on a CPU their names
    Frames,  ///< innermost Python function at the launch
    Kernels  ///< order of the kernels of a step
};

/// modules, ops, frames, kernels.
std::string_view wordOf(AlignedBy by);
/// The property in words for a sentence: "by the paths of modules and NVTX ranges".
std::string_view explain(AlignedBy by);

/// Kernels (without a GPU ops) that belong together, ns a step.
struct AlignedCall {
    std::string place = {};     ///< module, op or frame, as in A where A has it
    std::string name = {};      ///< of the kernel; if others replace it, `a + b -> c`
    std::string shortName = {}; ///< for readers
    analysis::KernelFamily family = analysis::KernelFamily::Other; ///< of B's kernel if it replaces others
    bool isReplaced = false; ///< B runs other kernels than A between the same neighbours
    std::optional<double> a = {};
    std::optional<double> b = {};
};

struct StepAlignment {
    AlignedBy by = AlignedBy::Modules;
    double aligned =
        0; ///< share of the time of both sides whose counterpart was found; 1 if there is no time
    std::vector<AlignedCall> calls = {};
};

/// Pairs calls in one place: on a GPU, kernels of one short name are one call, and what is left of the matrix products,
/// convolutions and attention of both sides, as other vendors and versions have them, replaces each other. A place that both
/// sides have is aligned.
StepAlignment alignByPlace(AlignedBy by, const CallTimes& a, const CallTimes& b, bool onGpu);

/// A kernel at its position in the step.
struct SequencedKernel {
    std::string_view name;
    std::string place;
    double time = 0; ///< ns a step
};

/// Pairs the kernels of two steps by their order: first equal names; between these, equal short names;
/// between these, matrix products and attention, which every implementation runs in the same order. Unpaired
/// kernels of both sides between two pairs replace each other if they take at most 5 % of a step; otherwise
/// they are gone or new. Places are those of A.
StepAlignment alignByKernels(std::span<const SequencedKernel> a, std::span<const SequencedKernel> b);

/// One side and where it comes from.
struct AlignedSide {
    const store::RunReader& reader;
    std::span<const RunId> runs;
    const StepSide& side;
};

/// The first of modules, ops, frames and kernels that aligns 99 % of the time, otherwise the one that aligns most.
/// Reads events again only if modules do not suffice.
StepAlignment alignSteps(const AlignedSide& a, const AlignedSide& b, const ProcessQuery& topology,
                         StepScope scope);

} // namespace tilescope::query
