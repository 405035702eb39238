#pragma once

#include "core/model/run.h"
#include "core/model/spec.h"

#include <cstdint>
#include <optional>

namespace tilescope::predict {

/// The bytes that one rank sends in a phase.
struct PhaseTraffic {
    double beside = 0; ///< sent while the phase computes
    double alone = 0;  ///< sent while nothing is computed

    double sum() const { return beside + alone; }
};

/// The bytes that one rank sends in a step, by ring algorithms. Among n ranks, an all-reduce of S bytes sends
/// 2 (n - 1) / n S; an all-gather or reduce-scatter of S bytes in total sends (n - 1) / n S; a broadcast
/// sends (n - 1) / n S on average over the ranks.
///
/// P: bytes of all weights in fp32; gradients have as many. B and O: bytes of the weights in and outside blocks as
/// fsdp gathers them (matrices in the type of products). L: number of layers. A and A32: bytes of the residual
/// stream in the type of products and in fp32. The last block of fsdp stays gathered between forward and backward.
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

/// The least number of ranks with which a step communicates for longer than it computes, if the total batch
/// stays that of `spec`, so that each rank computes less the more ranks there are. None if there is no such
/// number up to `most`. For fsdp+tp, the least such power of two.
/// \param computeSeconds  time of forward and backward of one rank of `spec`
/// \param link            bytes that a rank sends per second
std::optional<int> communicationBoundFrom(const ExperimentSpec& spec, double computeSeconds, double link,
                                          int most = 1 << 20);

} // namespace tilescope::predict
