#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/work/work.h"
#include "core/model/run.h"
#include "core/model/spec.h"

#include <optional>
#include <string>
#include <vector>

namespace tilescope::analysis {

/// The matmuls or attention of a step at one place, known from the spec alone.
struct SpecWork {
    std::string path; ///< step/forward/layers.3/attention
    std::string what; ///< qkv, scores, output, projection, attention, gate_up, down, lm_head
    Phase phase = Phase::Forward;
    KernelFamily family = KernelFamily::Matmul;
    Work work{};             ///< performed by the backend
    Flops model{};           ///< required by the model: causal pairs only, without recomputation
    bool recomputed = false; ///< done again in backward by checkpointing
};

/// The matmuls and attention of one step of the spec, in the order in which core/engine runs them, including
/// phases that are not timed (mode backward). Excludes element-wise work, norms, softmax as a separate op,
/// loss and optimizer.
///
/// A linear map of n rows from k to m takes 2nkm FLOPs; its backward takes as many for each operand.
/// Attention that keeps scores (naive, sdpa-math) computes all pairs. Fused attention computes only visible
/// pairs, and recomputes the scores in backward. The work of `flash-torch` and `sdpa` depends on tiles or on
/// PyTorch's choice, so they count like fused attention. Empty for workloads other than lm and attention.
/// O(layers).
std::vector<SpecWork> specWork(const ExperimentSpec& spec);

/// The FLOPs of all timed phases of a step; mode backward leaves forward out.
struct StepFlops {
    Flops model{};    ///< for MFU
    Flops hardware{}; ///< for HFU: includes recomputation and masked pairs that are computed
};

/// The FLOPs of a step of the spec; none if the spec alone does not determine the matmuls.
std::optional<StepFlops> stepFlops(const ExperimentSpec& spec);

/// The formula of StepFlops on one line, in terms of the spec's keys.
std::string stepFlopsFormula(const ExperimentSpec& spec);

/// Bytes of a value in the matmuls of a spec.
int elementBytesOf(Precision precision);

} // namespace tilescope::analysis
