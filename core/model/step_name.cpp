#include "core/model/step_name.h"

#include "core/model/generation_mark.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace tilescope {

std::string_view withoutNumber(std::string_view name)
{
    std::size_t end = name.size();
    while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1])))
        --end;
    while (end > 0 && std::string_view(" _#:=-/").find(name[end - 1]) != std::string_view::npos)
        --end;
    return name.substr(0, end);
}

bool isNamedLikeStep(std::string_view name)
{
    static constexpr std::array<std::string_view, 19> kStems{
        "step",          "steps",      "iteration",       "iter",           "train_step",
        "training_step", "train step", "train iter",      "batch",          "train_iter",
        "training step", "eval_step",  "profilerstep",    "test_step",      "eval step",
        "valid_step",    "val_step",   "validation_step", "validation step"};
    const std::string_view stem = withoutNumber(name);
    return std::ranges::any_of(kStems, [stem](std::string_view known) {
        return std::ranges::equal(
            stem, known, {}, [](unsigned char c) { return std::tolower(c); },
            [](unsigned char c) { return static_cast<int>(c); });
    });
}

std::string_view frameworkOfStep(std::string_view name)
{
    if (const std::optional<GenerationMark> mark = generationMarkOf(name); mark && !mark->framework.empty())
        return mark->framework;
    const bool isOfLightning = name.starts_with("[pl]");
    if (name.ends_with("run_training_batch") ||
        (isOfLightning && (name.ends_with(".validation_step") || name.ends_with(".test_step") ||
                           name.ends_with(".predict_step"))))
        return "Lightning";
    return {};
}

std::string_view wordOf(StepType type)
{
    static constexpr std::array<std::string_view, 6> kWords{"train",  "validation", "prefill",
                                                            "decode", "generate",   "other"};
    return kWords[static_cast<std::size_t>(type)];
}

StepType stepTypeOf(std::string_view name)
{
    if (const std::optional<GenerationMark> mark = generationMarkOf(name))
        return mark->type;
    if (frameworkOfStep(name) == "Lightning")
        return name.ends_with("run_training_batch") ? StepType::Train : StepType::Validation;
    const std::string_view stem = withoutNumber(name);
    const auto has = [stem](std::string_view word) {
        const auto isSame = [](unsigned char a, unsigned char b) { return std::tolower(a) == b; };
        return std::search(stem.begin(), stem.end(), word.begin(), word.end(), isSame) != stem.end();
    };
    if (has("valid") || has("eval") || has("test"))
        return StepType::Validation;
    if (has("prefill"))
        return StepType::Prefill;
    if (has("decode"))
        return StepType::Decode;
    if (has("generate"))
        return StepType::Generate;
    return has("train") ? StepType::Train : StepType::Other;
}

} // namespace tilescope
