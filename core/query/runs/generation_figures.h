#pragma once

#include "core/analysis/stats/statistics.h"
#include "core/store/run_reader.h"

#include <optional>
#include <span>

namespace tilescope::query {

/// What a run of the lm's mode generate measured. A step is one token of all sequences.
struct GenerationFigures {
    /// From the start of the prompt to the first token of all sequences, in ms; over the timed generations.
    std::optional<analysis::Statistics> firstTokenMs = {};
    std::optional<analysis::Statistics> perTokenMs = {}; ///< over the other tokens
    std::optional<double> perTokenP99Ms = {};            ///< none below 100 tokens
    std::optional<double> tokensPerSecond = {};          ///< of all sequences together, without the prompt
    std::optional<double> bytesPerToken = {};            ///< that a step reads at least: meanDecodedBytes()
    /// bytesPerToken over the mean time, in % of the bandwidth of a measured copy on this device; none if the file has
    /// no such ceiling.
    std::optional<double> bandwidthPercent = {};
    Bytes cache{}; ///< keys and values, all layers and sequences
};

/// \param samples  those of the run, in order
/// \return         none if the run is of another mode
/// \throws Error   from the reader
std::optional<GenerationFigures> generationFigures(const store::RunReader& reader,
                                                   const store::RunRecord& run,
                                                   std::span<const Sample> samples);

} // namespace tilescope::query
