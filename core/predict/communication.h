#pragma once

#include "core/model/run.h"
#include "core/model/spec.h"

#include <cstdint>
#include <optional>

namespace tilescope::predict {

/// What one rank sends in a phase, in bytes.
struct PhaseTraffic {
    double beside = 0; ///< while the phase computes
    double alone = 0;  ///< while nothing is computed

    double sum() const { return beside + alone; }
};

/// What one rank sends in a step, in bytes, by ring algorithms: an all-reduce of S bytes among n ranks sends
/// 2 (n - 1) / n S, an all-gather or reduce-scatter of S bytes in all (n - 1) / n S, a broadcast (n - 1) / n S in the mean
/// of the ranks.
///
/// P is the bytes of weights, and of gradients, in fp32; B those of the weights of blocks and O those of the others as
/// fsdp gathers them (matrices in the format of products); L the number of layers; A the bytes of the residual stream in
/// the format of products, A32 in fp32. The last block of fsdp stays gathered between forward and backward.
///
/// | parallel | forward | backward | optimizer |
/// |---|---|---|---|
/// | ddp-naive, ddp-flat | | alone: 2 (n - 1) / n P | |
/// | ddp | | 2 (n - 1) / n P | |
/// | optimizer-sharding | | 2 (n - 1) / n P | alone: (n - 1) / n P |
/// | zero1 | | (n - 1) / n P | alone: (n - 1) / n P |
/// | fsdp | (n - 1) / n (B + O) | (n - 1) / n (B (L - 1) / L + P) | |
/// | tp | alone: 2 L 2 (n - 1) / n A | alone: 2 L 2 (n - 1) / n A32, and forward's for each recomputed block | |
/// | fsdp+tp | fsdp's among rows, tp's within a row; blocks divided by the columns | likewise | |
struct StepTraffic {
    PhaseTraffic forward = {};
    PhaseTraffic backward = {};
    PhaseTraffic optimizer = {};

    double sum() const { return forward.sum() + backward.sum() + optimizer.sum(); }
    PhaseTraffic of(Phase phase) const;
};

/// \param spec  an lm; without ranks nothing is sent
StepTraffic trafficOf(const ExperimentSpec& spec);

/// Bytes of the lm's parameters in fp32.
std::int64_t parameterBytes(const ExperimentSpec& spec);

/// The least number of ranks with which a step communicates for longer than it computes, if all ranks together have the
/// batch of `spec`'s ranks: each computes less the more there are. None if no number up to `most` does. For fsdp+tp the
/// least power of two.
/// \param computeSeconds  of forward and backward of one rank of `spec`
/// \param link            bytes that a rank sends per second
std::optional<int> communicationBoundFrom(const ExperimentSpec& spec, double computeSeconds, double link,
                                          int most = 1 << 20);

} // namespace tilescope::predict
