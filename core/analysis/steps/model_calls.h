#pragma once

#include "core/analysis/time/busy_time.h"
#include "core/model/step_name.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// A call of a model, and what the shapes of its tensors say.
struct ModelCall {
    Interval time{};
    std::optional<std::int64_t> sequences = {};
    std::optional<std::int64_t> tokens = {};  ///< new ones of a sequence
    std::optional<std::int64_t> context = {}; ///< of a sequence in the cache, with the new ones
};

/// A block of a GPU's or the host's memory.
struct LivedBlock {
    Timestamp allocated{};
    Timestamp freed = Timestamp::max(); ///< max: not in the recording
    std::int64_t bytes = 0;             ///< as requested
};

/// What a call of a model does for the generation of text.
struct GenerationCall {
    StepType type = StepType::Other; ///< Prefill, Decode or Other
    std::int32_t generation = 0;     ///< counts the prompts, from 0: calls with the same number continue one
    std::optional<std::int64_t> sequences = {};
    std::optional<std::int64_t> tokens = {};     ///< new ones of a sequence
    std::optional<std::int64_t> context = {};    ///< of a sequence in the cache, with the new ones
    std::optional<std::int64_t> cacheBytes = {}; ///< of keys and values of all sequences after the call
    bool isByCache = false;                      ///< found by what grows from call to call, not by shapes
    std::string_view why = {};                   ///< type Other: why it is not known
};

/// Which calls process a prompt, and which decode one token of each sequence.
///
/// Shapes tell it where they were recorded: a call of one token with a longer context decodes, a call of several tokens
/// before it that has no other context is its prompt. Otherwise the growth of the cache does: a cache of c tokens is c times as large as
/// what a token takes, so sizes c g in one call, (c + 1) g in the next and (c + 2) g in the one after tell c. The call before decodes no
/// token if blocks of it are c times as large as in the calls after it. Calls that decode one token are alike but for the cache; without a
/// cache, nearly all sizes grow. Token ids take 8 bytes each (PyTorch); the ids between the calls grow by 8 bytes a sequence, and tell
/// the context of calls whose cache has a fixed size.
///
/// \param calls   in start order, disjoint
/// \param blocks  in the order of their allocation
/// \return one for each call; empty if no call decodes: the calls do not generate
/// O(n log n) for n blocks, with few sizes in a call.
std::vector<GenerationCall> generationCalls(std::span<const ModelCall> calls,
                                            std::span<const LivedBlock> blocks);

} // namespace tilescope::analysis
