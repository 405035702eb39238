#include "core/exchange/import/step_finder.h"

#include "core/model/generation_mark.h"
#include "core/model/step_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
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

/// The function of `XlaModule:#hlo_module=jit_train_step,program_id=12#`, which XLA's ranges for NVTX name; empty: none. Modules
/// without a program are those that its autotuner tries.
std::string_view functionOfModule(std::string_view name)
{
    constexpr std::string_view kModule = "hlo_module=jit_";
    const std::size_t begin = name.find(kModule);
    if (!name.starts_with("XlaModule:#") || begin == std::string_view::npos)
        return {};
    const std::string_view function = name.substr(begin + kModule.size());
    const std::size_t end = function.find(",program_id=");
    return end == std::string_view::npos ? std::string_view() : function.substr(0, end);
}

/// The function of `PjitFunction(train_step)`, which JAX compiled; empty: none.
std::string_view compiledFunctionOf(std::string_view name)
{
    constexpr std::string_view kBefore = "PjitFunction(";
    return name.starts_with(kBefore) && name.ends_with(')')
               ? name.substr(kBefore.size(), name.size() - kBefore.size() - 1)
               : functionOfModule(name);
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

/// From one update to the next. The first step begins with the process.
FoundSteps stepsFromUpdates(std::span<const StepCandidate> updates, std::int64_t first)
{
    // Of optimizers of several classes that take turns, the last one of a turn ends the step.
    std::vector<std::string_view> turn;
    for (const StepCandidate& each : updates)
        if (std::ranges::find(turn, each.name) == turn.end())
            turn.push_back(each.name);
    std::vector<StepCandidate> last;
    bool takesTurns = turn.size() >= 2 && updates.size() >= 2 * turn.size();
    for (std::size_t i = 0; i < updates.size() && takesTurns; ++i) {
        takesTurns = updates[i].name == turn[i % turn.size()] && updates[i].thread == updates[0].thread;
        if (i % turn.size() + 1 == turn.size())
            last.push_back(updates[i]);
    }
    FoundSteps found = stepsOf(takesTurns ? std::span<const StepCandidate>(last) : updates, "Optimizer.step");
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

/// Whether these ranges are iterations of a program that generates: the bare word decode also names other work, such as that of images.
bool tellIterations(std::span<const StepCandidate> ranges)
{
    const auto isBare = [](const StepCandidate& range) {
        constexpr std::string_view kDecode = "decode";
        return std::ranges::equal(withoutNumber(range.name), kDecode, {},
                                  [](unsigned char c) { return std::tolower(c); });
    };
    return ranges.size() >= 2 && !std::ranges::all_of(ranges, isBare);
}

/// Executions of a compiled function, none within another function's.
struct Executions {
    std::vector<StepCandidate> list = {};
    std::int64_t time = 0;

    std::int64_t begin() const { return list.front().start; }
    std::int64_t end() const { return list.back().end; }
    /// Whether several executions of another function belong to each of these: they are executed during most of its time.
    bool repeat(const Executions& other) const
    {
        constexpr double kMost = 0.8;
        const std::int64_t common = std::min(end(), other.end()) - std::max(begin(), other.begin());
        return 2 * list.size() <= other.list.size() &&
               static_cast<double>(common) >= kMost * static_cast<double>(other.end() - other.begin());
    }
};

/// From one execution to the next of the compiled function that takes most of the time, or of one that is executed as long and less
/// often; the last one as long as its call.
FoundSteps stepsFromExecutions(std::span<const StepCandidate> executions)
{
    std::map<std::string_view, Executions> functions;
    std::int64_t until = std::numeric_limits<std::int64_t>::min();
    for (const StepCandidate& each : executions) {
        if (each.start < until)
            continue; // within another one
        until = each.end;
        Executions& function = functions[compiledFunctionOf(each.name)];
        function.list.push_back(each);
        function.time += each.end - each.start;
    }
    std::erase_if(functions, [](const auto& entry) { return entry.second.list.size() < 3; });
    const auto byTime = [](const auto& entry) { return entry.second.time; };
    const auto most = std::ranges::max_element(functions, {}, byTime);
    if (most == functions.end())
        return {};
    const auto outer = std::ranges::max_element(functions, {}, [&](const auto& entry) {
        return entry.second.repeat(most->second) ? entry.second.time : -1;
    });
    const auto& [name, function] = outer->second.repeat(most->second) ? *outer : *most;
    FoundSteps found = stepsOf(function.list, "executions of " + std::string(name) + " (JAX)");
    for (std::size_t i = 0; i < found.steps.size(); ++i) {
        if (i + 1 < found.steps.size())
            found.steps[i].end = found.steps[i + 1].start;
        found.steps[i].range.reset();
    }
    found.isInferred = true;
    return found;
}

} // namespace

bool mayDelimitSteps(std::string_view name)
{
    constexpr std::size_t kLongest = 64;
    return (name.size() <= kLongest &&
            (endsStep(name) || isNamedLikeStep(name) || isNamedLikeIteration(name))) ||
           !compiledFunctionOf(name).empty() || !frameworkOfStep(name).empty();
}

FoundSteps stepsFromRanges(std::span<const StepCandidate> ranges, std::int64_t first)
{
    std::vector<StepCandidate> chosen;
    std::vector<StepCandidate> marked;
    std::vector<StepCandidate> named;
    std::vector<StepCandidate> ofFramework;
    std::vector<StepCandidate> updates;
    std::vector<StepCandidate> executions;
    std::vector<StepCandidate> iterations;
    for (const StepCandidate& range : ranges)
        (range.isChosen                            ? chosen
         : range.isMarked                          ? marked
         : endsStep(range.name)                    ? updates
         : !compiledFunctionOf(range.name).empty() ? executions
         : !frameworkOfStep(range.name).empty()    ? ofFramework
         : isNamedLikeIteration(range.name)        ? iterations
                                                   : named)
            .push_back(range);
    if (!chosen.empty())
        return stepsOf(chosen, "user's choice: " + std::string(withoutNumber(chosen.front().name)), true);
    if (!marked.empty())
        return stepsOf(marked, std::string(withoutNumber(marked.front().name)), true);
    if (named.size() >= 2)
        if (FoundSteps found =
                stepsOf(named, "ranges named " + std::string(withoutNumber(named.front().name)));
            found.steps.size() >= 2)
            return found;
    if (!ofFramework.empty())
        if (FoundSteps found =
                stepsOf(ofFramework, "marks of " + std::string(frameworkOfStep(ofFramework.front().name)));
            !found.steps.empty())
            return found;
    if (updates.empty() && tellIterations(iterations))
        if (FoundSteps found = stepsOf(iterations, "ranges named prefill and decode"); !found.steps.empty())
            return found;
    FoundSteps found = stepsFromUpdates(updates, first);
    return found.steps.empty() ? stepsFromExecutions(executions) : found;
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
