#pragma once

#include "core/model/step_name.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope {

/// More sequences or tokens than a program has. Larger numbers are damage; the product of two that are not fits in 64 bits.
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;

/// What the name of a range says of an iteration of a program that generates text.
///
/// Formats and their sources:
/// - `step[DECODE bs=32]`, `step[EXTEND bs=15 toks=15360]` of SGLang: mode, sequences, tokens.
/// - `execute_context_1(888)_generation_2(2)` of vLLM: sequences and tokens by phase. Where the parentheses hold `sq8155sk8430`, sq and
///   sk are the sums over the sequences of their new tokens and of their tokens in the cache, with the new ones.
/// - `execute_new_1_cached_3` of vLLM before it counted tokens: new and running sequences.
/// - `[Executor] _forward_step 7: 2 ctx reqs, 300 ctx tokens, 3 gen reqs` of TensorRT-LLM.
/// - `prefill`, `decode_step 3`, `llama_decode`: ranges of programs.
/// - `prefill[bs=4 toks=512 ctx=128 kv=262144]`: steps that an import computes from calls of a model; ctx is that of one sequence, kv are
///   the bytes of the cache.
struct GenerationMark {
    StepType type = StepType::Other;
    std::string_view framework = {};               ///< empty: the program marks it
    std::optional<std::int64_t> prompts = {};      ///< sequences whose prompts are processed
    std::optional<std::int64_t> decoded = {};      ///< sequences that are decoded
    std::optional<std::int64_t> newTokens = {};    ///< that the model processes, of all sequences
    std::optional<std::int64_t> cachedTokens = {}; ///< in the cache afterwards, of all sequences
    std::optional<std::int64_t> context = {};      ///< of a sequence, where only it is known
    std::optional<std::int64_t> cacheBytes = {};   ///< of all sequences
    bool isChunked = false; ///< a part of prompts: their first tokens are in the cache already
    bool isOfBoth =
        false; ///< prompts and decoded sequences, whose numbers are not known apart: prompts is of both
    bool isSpeculative = false; ///< verifies several tokens of a sequence
    std::string_view why = {};  ///< type Other: why it is not known

    /// Sequences of both kinds; none: unknown.
    std::optional<std::int64_t> sequences() const
    {
        return !prompts ? decoded : !decoded ? prompts : std::optional(*prompts + *decoded);
    }
    /// Processes prompts and decodes.
    bool isMixed() const { return isOfBoth || (prompts.value_or(0) > 0 && decoded.value_or(0) > 0); }
};

/// None: the range is no iteration.
std::optional<GenerationMark> generationMarkOf(std::string_view name);

/// Whether a program may name its own iterations so: prefill, decode_step 3. The bare word decode also names other work, such as
/// that of images: it counts only beside prefill.
bool isNamedLikeIteration(std::string_view name);

/// The name of a step that generationMarkOf() reads back: `decode[bs=4 toks=4 ctx=129]`. Only what is known of one is in it.
/// \param context  of a sequence
std::string nameOfIteration(StepType type, std::optional<std::int64_t> sequences,
                            std::optional<std::int64_t> newTokens, std::optional<std::int64_t> context,
                            std::optional<std::int64_t> cacheBytes = {});

} // namespace tilescope
