#include "core/exchange/import/step_finder.h"

#include "core/model/step_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>

namespace tilescope::exchange {

namespace {

constexpr std::string_view kOptimizerStep = "Optimizer.step#";
constexpr std::string_view kDeepSpeedStep = "DeepSpeedEngine.step"; ///< also ends a step

bool endsStep(std::string_view name)
{
    return name.starts_with(kOptimizerStep) || name == kDeepSpeedStep;
}

/// The framework that marks its iterations with ranges of this name; empty: none.
std::string_view frameworkOf(std::string_view name)
{
    if (name.starts_with("step[")) // step[DECODE bs=32]
        return "SGLang";
    if (name.starts_with("execute_context_") || name.starts_with("execute_new_") ||
        name.starts_with("execute_model"))
        return "vLLM";
    if (name.starts_with("[Executor] _forward_step "))
        return "TensorRT-LLM";
    if (name.ends_with("run_training_batch")) // [pl][profile]run_training_batch
        return "Lightning";
    return {};
}

std::optional<std::int32_t> numberOf(std::string_view name)
{
    std::size_t begin = name.size();
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])))
        --begin;
    std::int32_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + begin, name.data() + name.size(), number);
    if (begin == name.size() || error != std::errc{})
        return std::nullopt;
    return number;
}

/// Numbers steps by their names if these numbers ascend strictly, otherwise by position.
void numberSteps(std::vector<FoundStep>& steps, std::span<const std::optional<std::int32_t>> numbers)
{
    bool areNumbered = true;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        areNumbered = areNumbered && numbers[i] && (i == 0 || *numbers[i - 1] < *numbers[i]);
    for (std::size_t i = 0; i < steps.size(); ++i)
        steps[i].number = areNumbered ? *numbers[i] : static_cast<std::int32_t>(i);
}

/// The ranges of the thread with the most candidates, or of all threads where the steps of the process were marked one
/// after the other; a nested candidate is part of its outermost one.
FoundSteps stepsOf(std::span<const StepCandidate> ranges, std::string source, bool ofAllThreads = false)
{
    std::map<std::uint32_t, std::size_t> byThread;
    for (const StepCandidate& range : ranges)
        ++byThread[range.thread];
    if (byThread.empty())
        return {};
    const auto most = std::ranges::max_element(byThread, {}, [](const auto& entry) { return entry.second; });
    FoundSteps found{.source = std::move(source), .thread = most->first};
    std::vector<std::optional<std::int32_t>> numbers;
    for (const StepCandidate& range : ranges) {
        if ((!ofAllThreads && range.thread != most->first) || range.end <= range.start)
            continue;
        if (!found.steps.empty() && range.start < found.steps.back().end) {
            FoundStep& last = found.steps.back();
            if (range.end <= last.end || range.start <= last.start)
                continue;
            last.end = range.start;
            ++found.cuts;
        }
        found.steps.push_back({0, range.start, range.end, range.range});
        numbers.push_back(numberOf(range.name));
    }
    numberSteps(found.steps, numbers);
    return found;
}

} // namespace

bool mayDelimitSteps(std::string_view name)
{
    constexpr std::size_t kLongest = 64;
    return name.size() <= kLongest && (endsStep(name) || isNamedLikeStep(name) || !frameworkOf(name).empty());
}

FoundSteps stepsFromRanges(std::span<const StepCandidate> ranges, std::int64_t first)
{
    std::vector<StepCandidate> marked;
    std::vector<StepCandidate> named;
    std::vector<StepCandidate> ofFramework;
    std::vector<StepCandidate> updates;
    for (const StepCandidate& range : ranges)
        (range.isMarked                     ? marked
         : endsStep(range.name)             ? updates
         : !frameworkOf(range.name).empty() ? ofFramework
                                            : named)
            .push_back(range);
    if (!marked.empty())
        return stepsOf(marked, std::string(withoutNumber(marked.front().name)), true);
    if (named.size() >= 2)
        if (FoundSteps found =
                stepsOf(named, "ranges named " + std::string(withoutNumber(named.front().name)));
            found.steps.size() >= 2)
            return found;
    if (ofFramework.size() >= 2)
        if (FoundSteps found =
                stepsOf(ofFramework, "marks of " + std::string(frameworkOf(ofFramework.front().name)));
            found.steps.size() >= 2)
            return found;
    FoundSteps found = stepsOf(updates, "Optimizer.step");
    if (found.steps.size() < 2)
        return {};
    std::int64_t start = first;
    for (FoundStep& step : found.steps) {
        step.start = std::exchange(start, step.end);
        step.range.reset();
    }
    found.isInferred = true;
    return found;
}

FoundSteps stepsFromKernels(std::span<const KernelInstant> kernels)
{
    constexpr std::size_t kFewest = 12;
    const std::size_t count = kernels.size();
    if (count < kFewest)
        return {};
    // The period of the middle half: its length less its longest border (Knuth, Morris and Pratt).
    const std::size_t from = count / 4;
    const auto middle = kernels.subspan(from, count / 2);
    std::vector<std::uint32_t> border(middle.size(), 0);
    for (std::size_t i = 1; i < middle.size(); ++i) {
        std::uint32_t k = border[i - 1];
        while (k > 0 && middle[i].name != middle[k].name)
            k = border[k - 1];
        border[i] = middle[i].name == middle[k].name ? k + 1 : k;
    }
    const std::size_t period = middle.size() - border.back();
    constexpr std::size_t kShortest = 2;
    if (period < kShortest || 2 * period > middle.size())
        return {};
    std::size_t begin = from;
    while (begin > 0 && kernels[begin - 1].name == kernels[begin - 1 + period].name)
        --begin;
    std::size_t end = from + middle.size();
    while (end < count && kernels[end].name == kernels[end - period].name)
        ++end;
    // The kernel of the period before which the stream pauses longest, in sum.
    std::vector<std::int64_t> pauses(period, 0);
    for (std::size_t i = begin + 1; i < end; ++i)
        pauses[(i - begin) % period] += std::max<std::int64_t>(0, kernels[i].start - kernels[i - 1].end);
    const auto phase = static_cast<std::size_t>(std::ranges::max_element(pauses) - pauses.begin());
    FoundSteps found{.source = "period of the kernels", .isInferred = true, .isOnDevice = true};
    for (std::size_t i = begin + phase; i + period <= end; i += period) {
        const std::int64_t stop =
            i + period < count ? kernels[i + period].start : kernels[i + period - 1].end;
        found.steps.push_back({static_cast<std::int32_t>(found.steps.size()), kernels[i].start, stop, {}});
    }
    if (found.steps.size() < 3)
        return {};
    return found;
}

} // namespace tilescope::exchange
