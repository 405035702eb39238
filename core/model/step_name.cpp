#include "core/model/step_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <system_error>

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
    if (name.starts_with("step[")) // step[DECODE bs=32]
        return "SGLang";
    // execute_context_1(888)_generation_0(0), execute_32_context_0(…)_generation_32(…), execute_new_1_cached_3
    const bool isExecution = name.starts_with("execute_");
    if (isExecution && (name.starts_with("execute_model") || name.starts_with("execute_new_") ||
                        name.find("context_") != std::string_view::npos))
        return "vLLM";
    if (name.starts_with("[Executor] _forward_step ") || name.starts_with("[Executor] _forward_step:"))
        return "TensorRT-LLM";
    const bool isOfLightning = name.starts_with("[pl]");
    if (name.ends_with("run_training_batch") ||
        (isOfLightning && (name.ends_with(".validation_step") || name.ends_with(".test_step") ||
                           name.ends_with(".predict_step"))))
        return "Lightning";
    return {};
}

std::string_view wordOf(StepType type)
{
    static constexpr std::array<std::string_view, 5> kWords{"train", "validation", "prefill", "decode",
                                                            "other"};
    return kWords[static_cast<std::size_t>(type)];
}

namespace {

/// The number that follows `word` in a name; none if there is no such number.
std::optional<int> numberAfter(std::string_view name, std::string_view word)
{
    const std::size_t at = name.find(word);
    int number = 0;
    if (at == std::string_view::npos ||
        std::from_chars(name.data() + at + word.size(), name.data() + name.size(), number).ec != std::errc{})
        return {};
    return number;
}

/// The number before `word`.
std::optional<int> numberBefore(std::string_view name, std::string_view word)
{
    const std::size_t end = name.find(word);
    std::size_t begin = end == std::string_view::npos ? 0 : end;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])))
        --begin;
    return end == std::string_view::npos ? std::nullopt : numberAfter(name.substr(begin), "");
}

StepType typeOfServerStep(std::optional<int> prompts, std::optional<int> decoded)
{
    if (prompts.value_or(0) > 0)
        return StepType::Prefill;
    return prompts && decoded.value_or(0) > 0 ? StepType::Decode : StepType::Other;
}

} // namespace

StepType stepTypeOf(std::string_view name)
{
    const std::string_view framework = frameworkOfStep(name);
    if (framework == "SGLang") {
        const std::string_view mode = name.substr(std::string_view("step[").size());
        if (mode.starts_with("DECODE") || mode.starts_with("TARGET_VERIFY"))
            return StepType::Decode;
        return mode.starts_with("EXTEND") || mode.starts_with("MIXED") || mode.starts_with("PREFILL")
                   ? StepType::Prefill
                   : StepType::Other;
    }
    if (framework == "vLLM")
        return name.starts_with("execute_new_")
                   ? typeOfServerStep(numberAfter(name, "execute_new_"), numberAfter(name, "_cached_"))
                   : typeOfServerStep(numberAfter(name, "context_"), numberAfter(name, "_generation_"));
    if (framework == "TensorRT-LLM")
        return typeOfServerStep(numberBefore(name, " ctx reqs"), numberBefore(name, " gen reqs"));
    if (framework == "Lightning")
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
    if (has("decode") || has("generate"))
        return StepType::Decode;
    return has("train") ? StepType::Train : StepType::Other;
}

} // namespace tilescope
