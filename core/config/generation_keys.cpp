#include "core/config/schema_rows.h"

namespace tilescope::config {

void schema_rows::addGeneration(std::vector<KeyRow>& rows)
{
    const std::size_t before = rows.size();
    constexpr double kMostNewTokens = 65'536;
    using enum ValueType;
    using enum KeyGroup;
    const auto integer = integerOf(Workload::Lm);
    rows.push_back(row<&Spec::newTokens>(
        used(integer("new_tokens", "New tokens", 1, kMostNewTokens, "32",
                     "tokens that mode generate makes per sequence, each a timed step", "128", true),
             {.title = 103, .letters = "n", .details = 83, .filter = 73, .alongX = 23})));
    rows.push_back(
        row<&Spec::cache>({.name = "cache",
                           .label = "KV cache",
                           .type = Choice,
                           .group = Model,
                           .choices = words<CacheKind>(),
                           .defaultText = "contiguous",
                           .help = "how mode generate keeps the keys and values of earlier tokens: one "
                                   "block of memory, or pages in random order",
                           .example = "paged",
                           .attention = false,
                           .use = {.title = 193, .series = 53}}));
    rows.push_back(row<&Spec::page>(
        used(integer("page", "Page", 1, 65'536, "16", "tokens of a page of cache: paged", "64"),
             {.title = 196, .letters = "pg"})));
    rows.push_back(row<&Spec::sampling>({.name = "sampling",
                                         .label = "Sampling",
                                         .type = Choice,
                                         .group = Model,
                                         .choices = words<Sampling>(),
                                         .defaultText = "greedy",
                                         .help = "the next token: the most probable one, or drawn from the "
                                                 "probabilities with the random seed",
                                         .example = "seeded",
                                         .attention = false}));
    rows.push_back(
        row<&Spec::weights>({.name = "weights",
                             .label = "Weights",
                             .type = Choice,
                             .group = Model,
                             .choices = words<WeightFormat>(),
                             .defaultText = "as_precision",
                             .help = "number format of the weights in mode generate; fp8 is E4M3 with one "
                                     "scale per output",
                             .example = "fp8",
                             .attention = false,
                             .use = {.title = 198, .series = 56}}));
    rows.push_back(
        row<&Spec::check>({.name = "check",
                           .label = "Check logits",
                           .type = Boolean,
                           .group = Measurement,
                           .defaultText = "false",
                           .help = "compare the logits of each generated token with those of a forward "
                                   "pass in fp64 over the whole sequence",
                           .example = "true",
                           .attention = false,
                           .use = {.ofRecording = true}}));
    for (std::size_t i = before; i < rows.size(); ++i)
        rows[i].info.generation = true;
}

} // namespace tilescope::config
