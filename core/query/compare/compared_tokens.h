#pragma once

#include "core/query/generation/generation_table.h"

#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// A time of two programs that generate text.
struct ComparedToken {
    std::string what = {};        ///< first_token, per_token_p50, decode_attention, …
    std::string words = {};       ///< time to first token, median
    std::optional<double> a = {}; ///< ns; none: not known
    std::optional<double> b = {};

    std::optional<double> change() const { return a && b ? std::optional(*b - *a) : std::nullopt; }
};

/// Times to first token and per output token, and what a mean decode iteration is made of. Empty unless both programs decode.
std::vector<ComparedToken> compareTokens(const GenerationTable& a, const GenerationTable& b);

} // namespace tilescope::query
