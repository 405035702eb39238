#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/work/work.h"
#include "core/model/run.h"
#include "core/model/spec.h"

#include <optional>
#include <string>
#include <vector>

namespace tilescope::analysis {

/// Matmuls or attention that a step does at one place, known from the spec alone.
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
/// A linear map of n rows from k to m is 2nkm; its backward is the same again for either operand. Attention
/// that keeps scores (naive, sdpa-math) computes all pairs; fused attention only visible ones, and in
/// backward the scores again. The kernels of `flash-torch` and `sdpa` depend on tiles or on PyTorch's choice,
/// so they count like fused attention. Empty for workloads other than lm and attention.
/// O(layers).
std::vector<SpecWork> specWork(const ExperimentSpec& spec);

/// What the timed phases of a step need, in all: mode backward leaves forward out.
struct StepFlops {
    Flops model{};    ///< for MFU
    Flops hardware{}; ///< for HFU: recomputation and hidden pairs that are computed count
};

/// None for a workload without matmuls known from the spec.
std::optional<StepFlops> stepFlops(const ExperimentSpec& spec);

/// The formula of StepFlops on one line, in terms of the spec's keys.
std::string stepFlopsFormula(const ExperimentSpec& spec);

/// Bytes of a value in the matmuls of a spec.
int elementBytesOf(Precision precision);

} // namespace tilescope::analysis
