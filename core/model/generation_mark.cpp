#include "core/model/generation_mark.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <span>
#include <system_error>
#include <utility>

namespace tilescope {

namespace {

using Count = std::optional<std::int64_t>;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

/// The number that follows `word` in a name; none if there is no such number up to `most`.
Count numberAfter(std::string_view name, std::string_view word, std::int64_t most = kMostTokens)
{
    const std::size_t at = name.find(word);
    std::int64_t number = 0;
    if (at == std::string_view::npos)
        return {};
    const auto [end, error] =
        std::from_chars(name.data() + at + word.size(), name.data() + name.size(), number);
    return error != std::errc{} || number < 0 || number > most ? Count() : Count(number);
}

/// The number before `word`.
Count numberBefore(std::string_view name, std::string_view word)
{
    const std::size_t end = name.find(word);
    std::size_t begin = end == std::string_view::npos ? 0 : end;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])))
        --begin;
    return end == std::string_view::npos ? Count() : numberAfter(name.substr(begin), "");
}

Count sumOfCounts(Count a, Count b)
{
    return !a ? b : !b ? a : Count(*a + *b);
}

/// An iteration that processes prompts is prefill, also where it decodes other sequences.
void setServerType(GenerationMark& mark)
{
    if (mark.prompts.value_or(0) > 0)
        mark.type = StepType::Prefill;
    else if (mark.prompts && mark.decoded.value_or(0) > 0)
        mark.type = StepType::Decode;
    else
        mark.why = "the mark names no sequences";
}

GenerationMark sglangMark(std::string_view name)
{
    GenerationMark mark{.framework = "SGLang"};
    const std::string_view mode = name.substr(std::string_view("step[").size());
    const Count sequences = numberAfter(name, "bs=");
    mark.newTokens = numberAfter(name, "toks=");
    if (mode.starts_with("DECODE") || mode.starts_with("TARGET_VERIFY")) {
        mark.type = StepType::Decode;
        mark.isSpeculative = mode.starts_with("TARGET_VERIFY");
        mark.decoded = sequences;
        if (!mark.newTokens && !mark.isSpeculative)
            mark.newTokens = sequences;
    } else if (mode.starts_with("EXTEND") || mode.starts_with("MIXED") || mode.starts_with("PREFILL") ||
               mode.starts_with("SPLIT_PREFILL")) {
        mark.type = StepType::Prefill;
        mark.isChunked = mode.starts_with("MIXED") || mode.starts_with("SPLIT_PREFILL");
        mark.isOfBoth = mode.starts_with("MIXED");
        mark.prompts = sequences;
    } else {
        mark.why = mode.starts_with("IDLE") ? "the server was idle" : "the mark names another mode";
        mark.isSpeculative = mode.starts_with("DRAFT_EXTEND");
        mark.decoded = sequences;
    }
    return mark;
}

GenerationMark vllmMark(std::string_view name)
{
    GenerationMark mark{.framework = "vLLM"};
    if (name.starts_with("execute_new_")) {
        mark.prompts = numberAfter(name, "execute_new_");
        mark.decoded = numberAfter(name, "_cached_");
        setServerType(mark);
        if (mark.type == StepType::Decode)
            mark.newTokens = mark.decoded;
        return mark;
    }
    const std::size_t second = name.find("_generation_");
    const std::string_view context = name.substr(0, second);
    const std::string_view generation = second == std::string_view::npos ? "" : name.substr(second);
    mark.prompts = numberAfter(context, "context_");
    mark.decoded = numberAfter(generation, "_generation_");
    setServerType(mark);
    if (mark.type == StepType::Other)
        return mark;
    const auto newTokens = [](std::string_view part) {
        const Count sums = numberAfter(part, "(sq");
        return sums ? sums : numberAfter(part, "(");
    };
    const Count promptTokens = newTokens(context);
    const Count decodedTokens = newTokens(generation);
    mark.newTokens = sumOfCounts(promptTokens, decodedTokens);
    const Count promptCache = numberAfter(context, "sk");
    const Count decodedCache = numberAfter(generation, "sk");
    // Traces exist whose decoded sequences state their new tokens as sk: a cache of one token a sequence is none.
    const bool isPlausible = !decodedCache || mark.decoded.value_or(0) == 0 || *decodedCache > *mark.decoded;
    if (promptCache && decodedCache && isPlausible)
        mark.cachedTokens = sumOfCounts(promptCache, decodedCache);
    mark.isChunked = promptCache && promptTokens && *promptCache > *promptTokens;
    mark.isSpeculative = mark.decoded.value_or(0) > 0 && decodedTokens && *decodedTokens > *mark.decoded;
    return mark;
}

GenerationMark tensorRtMark(std::string_view name)
{
    GenerationMark mark{.framework = "TensorRT-LLM",
                        .prompts = numberBefore(name, " ctx reqs"),
                        .decoded = numberBefore(name, " gen reqs")};
    setServerType(mark);
    const Count promptTokens = numberBefore(name, " ctx tokens");
    const Count decodedTokens = numberBefore(name, " gen tokens");
    mark.isSpeculative = mark.decoded.value_or(0) > 0 && decodedTokens && *decodedTokens > *mark.decoded;
    if (mark.type == StepType::Decode)
        mark.newTokens = decodedTokens ? decodedTokens : mark.decoded;
    else if (promptTokens)
        mark.newTokens = sumOfCounts(promptTokens, decodedTokens ? decodedTokens : mark.decoded);
    return mark;
}

/// `prefill[bs=4 toks=512 ctx=128]`
GenerationMark computedMark(std::string_view name, StepType type)
{
    GenerationMark mark{.type = type, .newTokens = numberAfter(name, "toks=")};
    const Count sequences = numberAfter(name, "bs=");
    mark.context = numberAfter(name, "ctx=");
    mark.cacheBytes = numberAfter(name, "kv=", kMostBytes);
    if (mark.context && sequences)
        mark.cachedTokens = *mark.context * *sequences;
    (type == StepType::Prefill ? mark.prompts : mark.decoded) = sequences;
    if (type == StepType::Other)
        mark.why = "nothing in the recording tells whether this call of the model processes a prompt";
    return mark;
}

bool isNamedAs(std::string_view stem, std::span<const std::string_view> words)
{
    return std::ranges::any_of(words, [stem](std::string_view word) {
        return std::ranges::equal(stem, word, {}, [](unsigned char c) { return std::tolower(c); });
    });
}

constexpr std::array<std::string_view, 6> kPrefillNames{"prefill",       "prefill_step", "prefill step",
                                                        "prefill_stage", "run_prefill",  "prefill_forward"};
constexpr std::array<std::string_view, 9> kDecodeNames{"decode_step",  "decode step",    "decode_one_token",
                                                       "decode_token", "decode_one",     "decode_next_token",
                                                       "decode_stage", "decode_forward", "decode_iteration"};
constexpr std::array<std::string_view, 2> kEitherNames{"llama_decode", "llama_context::decode"};

} // namespace

std::optional<GenerationMark> generationMarkOf(std::string_view name)
{
    if (name.starts_with("step["))
        return sglangMark(name);
    if (name.starts_with("execute_")) {
        if (name.starts_with("execute_model"))
            return GenerationMark{.framework = "vLLM",
                                  .why = "the mark does not say whether prompts are processed"};
        if (name.starts_with("execute_new_") || name.find("context_") != std::string_view::npos)
            return vllmMark(name);
        return {};
    }
    if (name.starts_with("[Executor] _forward_step ") || name.starts_with("[Executor] _forward_step:"))
        return tensorRtMark(name);
    for (const auto& [begin, type] : {std::pair(std::string_view("prefill["), StepType::Prefill),
                                      std::pair(std::string_view("decode["), StepType::Decode),
                                      std::pair(std::string_view("model_call["), StepType::Other)})
        if (name.starts_with(begin))
            return computedMark(name, type);
    const std::string_view stem = withoutNumber(name);
    if (isNamedAs(stem, kPrefillNames))
        return GenerationMark{.type = StepType::Prefill};
    if (isNamedAs(stem, kDecodeNames) || isNamedAs(stem, std::array<std::string_view, 1>{"decode"}))
        return GenerationMark{.type = StepType::Decode};
    if (isNamedAs(stem, kEitherNames))
        return GenerationMark{.framework = "llama.cpp",
                              .why =
                                  "llama_decode processes prompts and decodes; its range does not say which"};
    return {};
}

bool isNamedLikeIteration(std::string_view name)
{
    const std::optional<GenerationMark> mark = generationMarkOf(name);
    return mark && mark->framework.empty();
}

std::string nameOfIteration(StepType type, std::optional<std::int64_t> sequences,
                            std::optional<std::int64_t> newTokens, std::optional<std::int64_t> context,
                            std::optional<std::int64_t> cacheBytes)
{
    std::string inside;
    const auto add = [&inside](std::string_view word, std::optional<std::int64_t> count) {
        if (count)
            inside += (inside.empty() ? "" : " ") + std::string(word) + std::to_string(*count);
    };
    add("bs=", sequences);
    add("toks=", newTokens);
    add("ctx=", context);
    add("kv=", cacheBytes);
    return (type == StepType::Other ? "model_call" : std::string(wordOf(type))) + "[" + inside + "]";
}

} // namespace tilescope
