#include "core/config/quick.h"

#include "core/base/error.h"
#include "core/config/schema.h"
#include "core/config/spec_file.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_set>

namespace tilescope::config {

namespace {

constexpr int kWarmup = 1;
constexpr int kSteps = 3;
constexpr int kTraceSteps = 1;
constexpr std::int64_t kNewTokens = 8;
constexpr std::int64_t kLongestSequence = 512;
constexpr std::int64_t kLongestContext = 128;
/// A CPU takes half of a tiny model's step for logits over the default vocabulary of 10,000.
constexpr std::int64_t kLargestVocabulary = 1250;

const SizePreset& tiny()
{
    const auto& presets = sizePresets();
    const auto found = std::ranges::find(presets, "tiny", &SizePreset::name);
    if (found == presets.end())
        throw Error{.what = "there is no preset tiny",
                    .where = "--quick",
                    .remedy = "install Tilescope's resources beside it",
                    .kind = ErrorKind::Environment};
    return *found;
}

void makeTiny(ExperimentSpec& spec, const std::function<bool(std::string_view)>& isChosen)
{
    const SizePreset& preset = tiny();
    spec.size = preset.name;
    if (!isChosen("d_model"))
        spec.dModel = preset.dModel;
    if (!isChosen("d_ff"))
        spec.dFf = preset.dFf;
    if (!isChosen("layers"))
        spec.layers = preset.layers;
    if (!isChosen("heads"))
        spec.heads = preset.heads;
    if (spec.mode == Mode::Generate && !isChosen("kv_heads"))
        spec.kvHeads = std::gcd(spec.kvHeads, spec.heads); // divides heads
}

/// Divides one size by the same factor in all points.
void shorten(std::vector<ExperimentSpec>& specs, std::int64_t ExperimentSpec::*length, std::int64_t longest)
{
    std::int64_t divisor = 1;
    for (const ExperimentSpec& spec : specs)
        while (spec.*length / divisor > longest)
            divisor *= 2;
    for (ExperimentSpec& spec : specs)
        spec.*length = std::max<std::int64_t>(1, spec.*length / divisor);
}

} // namespace

std::vector<ExperimentSpec> quickEdition(std::vector<ExperimentSpec> specs, const Overrides& chosen)
{
    const auto isChosen = [&chosen](std::string_view key) {
        return std::ranges::find(chosen, key, &Overrides::value_type::first) != chosen.end();
    };
    for (ExperimentSpec& spec : specs) {
        if (spec.mode == Mode::Generate && !isChosen("new_tokens"))
            spec.newTokens = spec.steps = static_cast<int>(std::min(spec.newTokens, kNewTokens));
        if (!isChosen("warmup"))
            spec.warmup = std::min(spec.warmup, kWarmup);
        if (!isChosen("steps") && spec.mode != Mode::Generate)
            spec.steps = std::min(spec.steps, kSteps);
        if (!isChosen("trace_steps"))
            spec.traceSteps = std::min(spec.traceSteps, kTraceSteps);
        if (!isChosen("repeat"))
            spec.repeat = 1;
        if (spec.workload == Workload::Lm)
            makeTiny(spec, isChosen);
    }
    if (!isChosen("seq_len")) {
        shorten(specs, &ExperimentSpec::seqLen, kLongestSequence);
        shorten(specs, &ExperimentSpec::kvLen, kLongestSequence);
    }
    if (!isChosen("context"))
        shorten(specs, &ExperimentSpec::context, kLongestContext);
    if (!isChosen("vocab"))
        shorten(specs, &ExperimentSpec::vocab, kLargestVocabulary);
    return withoutRepeats(std::move(specs));
}

std::vector<ExperimentSpec> withoutRepeats(std::vector<ExperimentSpec> specs)
{
    std::unordered_set<std::string> seen;
    std::erase_if(specs, [&](const ExperimentSpec& spec) { return !seen.insert(specHash(spec)).second; });
    return specs;
}

} // namespace tilescope::config
