#include "core/query/compare/compared_tokens.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace tilescope::query {

std::vector<ComparedToken> compareTokens(const GenerationTable& a, const GenerationTable& b)
{
    std::vector<ComparedToken> rows;
    const GenerationSummary* const sides[] = {a.of(StepType::Decode), b.of(StepType::Decode)};
    if (sides[0] == nullptr || sides[1] == nullptr)
        return rows;
    const auto add = [&rows](std::string what, std::string words, std::optional<double> ofA,
                             std::optional<double> ofB) {
        if (ofA || ofB)
            rows.push_back({std::move(what), std::move(words), ofA, ofB});
    };
    const auto first = [](const GenerationTable& table) {
        return table.firstToken ? std::optional(table.firstToken->p50) : std::nullopt;
    };
    add("first_token_p50", "time to first token, median", first(a), first(b));
    const std::string words(a.perTokenWords() == b.perTokenWords() ? a.perTokenWords()
                                                                   : "time per decode iteration");
    add("per_token_p50", words + ", median", sides[0]->wall.p50, sides[1]->wall.p50);
    add("per_token_p90", words + ", p90", sides[0]->wall.p90, sides[1]->wall.p90);
    add("per_token_p99", words + ", p99", sides[0]->wall.p99, sides[1]->wall.p99);
    add("decode_mean", "decode iteration, mean", sides[0]->wall.mean, sides[1]->wall.mean);
    const auto onGpu = [](const GenerationSummary& side, double time) {
        return side.onGpu ? std::optional(time) : std::nullopt;
    };
    for (std::size_t i = 0; i < kGenerationParts; ++i) {
        const std::string word(wordOf(static_cast<GenerationPart>(i)));
        if (sides[0]->parts[i] > 0 || sides[1]->parts[i] > 0)
            add("decode_" + word, "of it " + word, onGpu(*sides[0], sides[0]->parts[i]),
                onGpu(*sides[1], sides[1]->parts[i]));
    }
    add("decode_gpu_waits", "of it the GPU waits", onGpu(*sides[0], sides[0]->gpuIdle),
        onGpu(*sides[1], sides[1]->gpuIdle));
    return rows;
}

} // namespace tilescope::query
