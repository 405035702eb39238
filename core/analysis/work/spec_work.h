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
    Work work{};             ///< what the backend computes and moves
    Flops model{};           ///< what the model needs: causal pairs only, nothing computed twice
    bool recomputed = false; ///< done again in backward by checkpointing
};

/// The matmuls and attention of one step of the spec, as core/engine builds its workloads: in the order of
/// the step, phases before the timed ones too (mode backward). Element-wise work, norms, softmax as an op of
/// its own, loss and optimizer are not among them.
///
/// A linear map of n rows from k to m is 2nkm; its backward is the same again for either operand. Attention
/// that keeps scores (naive, sdpa-math) computes all pairs; fused attention those that the mask leaves, and
/// in backward the scores once more. For `flash-torch` and `sdpa`, whose kernels depend on tiles or on
/// PyTorch's choice, it is what fused attention needs. Empty for workloads other than lm and attention.
/// O(layers).
std::vector<SpecWork> specWork(const ExperimentSpec& spec);

/// What the timed phases of a step need, in all: mode backward leaves forward out.
struct StepFlops {
    Flops model{};    ///< for MFU
    Flops hardware{}; ///< for HFU: recomputation and hidden pairs that are computed count
};

/// None for a workload without matmuls that the spec tells.
std::optional<StepFlops> stepFlops(const ExperimentSpec& spec);

/// How StepFlops are made, in one line for people: the formula with the spec's numbers named.
std::string stepFlopsFormula(const ExperimentSpec& spec);

/// Bytes of a value in the matmuls of a spec.
int elementBytesOf(Precision precision);

} // namespace tilescope::analysis
