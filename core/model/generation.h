#pragma once

#include "core/base/units.h"
#include "core/model/spec.h"

#include <cstdint>

namespace tilescope {

// Sizes of the lm's mode generate. `position` counts the tokens of a sequence from 0, prompt included.

/// Tokens of a sequence whose keys and values are kept: nothing reads those of the last one.
std::int64_t cachedTokens(const ExperimentSpec& spec);

/// Pages of a sequence of cache: paged; the last one may be used in part.
std::int64_t pagesOfSequence(const ExperimentSpec& spec);

/// Bytes of keys and values of all layers and sequences, unused parts of pages included.
Bytes cacheBytes(const ExperimentSpec& spec);

/// Bytes of the weights that a decode step reads, each once: all maps with their scales, the norms, and one row of the
/// embedding per sequence.
Bytes decodedWeightBytes(const ExperimentSpec& spec);

/// Least number of bytes that a decode step reads: the weights, and the keys and values of the position and all earlier ones.
/// \param position  of the token that the step processes: context for the first decode step
Bytes decodedBytes(const ExperimentSpec& spec, std::int64_t position);

/// The mean of decodedBytes() over the decode steps of a generation; 0 if it has none (new_tokens: 1).
double meanDecodedBytes(const ExperimentSpec& spec);

} // namespace tilescope
