#include "core/predict/suggest.h"

#include "core/model/attention_backend.h"
#include "core/predict/predict_memory.h"

#include <functional>
#include <optional>

namespace tilescope::predict {

namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

/// A changed spec and its changes.
struct Changed {
    ExperimentSpec spec;
    Keys keys = {};
};
using Change = std::function<std::optional<Changed>(Changed)>;

std::optional<Suggestion> fitting(const Changed& changed, const TargetDevice& device)
{
    const auto memory = predictMemory(changed.spec, device);
    if (!memory || memory->outOfMemory)
        return {};
    return Suggestion{changed.keys, memory->peakAllocated, memory->peakReserved};
}

std::optional<Changed> halfPrecision(Changed point)
{
    if (point.spec.precision == Precision::Bf16 || point.spec.precision == Precision::Fp16 ||
        point.spec.precision == Precision::Fp8)
        return {};
    point.spec.precision = Precision::Bf16;
    point.keys.emplace_back("precision", "bf16");
    return point;
}

std::optional<Changed> fusedAttention(Changed point)
{
    if (!traitsOf(point.spec.backend).keepsScores)
        return {};
    point.spec.backend = Backend::Flash;
    point.keys.emplace_back("backend", "flash");
    return point;
}

Change recomputation(Checkpointing checkpointing, const char* word)
{
    return [checkpointing, word](Changed point) -> std::optional<Changed> {
        const bool keepsActivations = point.spec.mode != Mode::Forward || point.spec.grad;
        if (point.spec.workload != Workload::Lm || !keepsActivations ||
            point.spec.checkpointing == checkpointing)
            return {};
        point.spec.checkpointing = checkpointing;
        point.keys.emplace_back("checkpointing", word);
        return point;
    };
}

/// The largest of value/2, value/4, … that fits.
std::optional<Suggestion> smaller(const ExperimentSpec& spec, const TargetDevice& device, const char* key,
                                  std::int64_t value,
                                  const std::function<void(ExperimentSpec&, std::int64_t)>& set)
{
    for (std::int64_t less = value / 2; less >= 1; less /= 2) {
        Changed changed{spec, {{key, std::to_string(less)}}};
        set(changed.spec, less);
        if (auto suggestion = fitting(changed, device))
            return suggestion;
    }
    return {};
}

std::optional<Suggestion> shorter(const ExperimentSpec& spec, const TargetDevice& device)
{
    if (spec.workload == Workload::Lm)
        return smaller(spec, device, "context", spec.context,
                       [](ExperimentSpec& s, std::int64_t length) { s.context = length; });
    if (spec.kvLen != spec.seqLen)
        return {};
    return smaller(spec, device, "seq_len", spec.seqLen, [](ExperimentSpec& s, std::int64_t length) {
        s.seqLen = length;
        s.kvLen = length;
    });
}

/// All changes together that affect neither sizes nor the meaning of results.
std::optional<Suggestion> together(const ExperimentSpec& spec, const TargetDevice& device,
                                   const std::vector<Change>& changes)
{
    Changed all{spec};
    for (const Change& change : changes)
        if (auto changed = change(all))
            all = std::move(*changed);
    return all.keys.size() > 1 ? fitting(all, device) : std::nullopt;
}

} // namespace

std::string Suggestion::flags() const
{
    std::string text;
    for (const auto& [key, value] : keys)
        text += (text.empty() ? "--set " : " --set ") + key + "=" + value;
    return text;
}

std::vector<Suggestion> suggestions(const ExperimentSpec& spec, const TargetDevice& device)
{
    const Change block = recomputation({Checkpointing::Kind::Block}, "block");
    std::vector<Suggestion> found;
    const auto take = [&found](std::optional<Suggestion> suggestion) {
        if (suggestion)
            found.push_back(std::move(*suggestion));
    };
    for (const Change& change :
         {Change(fusedAttention), recomputation({Checkpointing::Kind::Attention}, "attention"), block,
          Change(halfPrecision)})
        if (const auto changed = change({spec}))
            take(fitting(*changed, device));
    if (found.empty())
        take(together(spec, device, {fusedAttention, block, halfPrecision}));
    take(smaller(spec, device, "batch", spec.batch,
                 [](ExperimentSpec& s, std::int64_t batch) { s.batch = batch; }));
    take(shorter(spec, device));
    return found;
}

} // namespace tilescope::predict
