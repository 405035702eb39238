// What comparisons of runs say.

#include "core/analysis/compare/run_comparison.h"
#include "core/base/quantity.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace tilescope::analysis {

namespace {

template <class... Values> std::string format(const char* pattern, Values... values)
{
    std::array<char, 300> text{};
    std::snprintf(text.data(), text.size(), pattern, values...);
    return text.data();
}

std::string runsText(const TimeDifference& difference)
{
    if (difference.runsA == 1 && difference.runsB == 1)
        return "one run of each";
    return std::to_string(difference.runsA) + (difference.runsA == 1 ? " run and " : " runs and ") +
           std::to_string(difference.runsB);
}

/// A bound of a ratio. That of two runs may be beyond 1e10, where further digits say nothing.
std::string boundText(double ratio)
{
    if (ratio >= 1000 && ratio < 1e6)
        return format("%.0f", ratio);
    return ratio >= 0.001 && ratio < 1000 ? format("%.3f", ratio) : format("%.0e", ratio);
}

/// B / A = 1.041 (95 % interval 0.960 to 1.130; 5 runs and 5)
std::string ratioText(const TimeDifference& difference)
{
    if (!difference.ratio95)
        return format("B / A = %.3f (%s)", difference.ratio, runsText(difference).c_str());
    return format("B / A = %.3f (95 %% interval %s to %s; %s)", difference.ratio,
                  boundText(difference.ratio95->low).c_str(), boundText(difference.ratio95->high).c_str(),
                  runsText(difference).c_str());
}

/// What an inconclusive ratio is of; empty for medians.
std::string basisText(Basis basis)
{
    static constexpr std::array<const char*, 4> words{
        "", "without the time that threads waited for a core ", "of the quickest tenth of the steps ",
        "of the quickest tenth of the steps, without the time that threads waited for a core, "};
    return words[static_cast<std::size_t>(basis)];
}

} // namespace

std::string_view wordOf(Verdict verdict)
{
    static constexpr std::array<std::string_view, 4> words{"inconclusive", "no-difference", "faster",
                                                           "slower"};
    return words[static_cast<std::size_t>(verdict)];
}

std::string_view wordOf(Basis basis)
{
    static constexpr std::array<std::string_view, 4> words{"medians", "without-waiting", "quick-steps",
                                                           "quick-steps-without-waiting"};
    return words[static_cast<std::size_t>(basis)];
}

std::string sentenceOf(const TimeDifference& difference)
{
    const auto percent = [](double ratio) { return 100 * std::abs(ratio - 1); };
    const Basis basis = difference.basis;
    switch (difference.verdict) {
    case Verdict::Faster:
    case Verdict::Slower: {
        const bool isSlower = difference.verdict == Verdict::Slower;
        static constexpr std::array<const char*, 4> subjects{
            "A step of B takes", "Without the time that threads waited for a core, a step of B takes",
            "The host was busy. The quickest tenth of the steps of B takes",
            "The host was busy. Without the time that threads waited for a core, the quickest tenth of the "
            "steps of B "
            "takes"};
        const bool isOfQuickSteps = basis == Basis::QuickSteps || basis == Basis::QuickStepsWithoutWaiting;
        std::string sentence =
            format("%s %.1f %% %s than %s of A: %s", subjects[static_cast<std::size_t>(basis)],
                   percent(difference.ratio), isSlower ? "longer" : "less", isOfQuickSteps ? "that" : "one",
                   ratioText(difference).c_str());
        if (!difference.ratio95)
            sentence += format(", beyond the %.0f %% by which single runs such as these may differ",
                               percent(isSlower ? difference.ratio / difference.allowed.low
                                                : difference.allowed.high / difference.ratio));
        return sentence + ".";
    }
    case Verdict::NoDifference:
        return format("%s beyond %.0f %%: %s.",
                      basis == Basis::WithoutWaiting
                          ? "No difference in the step time without the time that threads waited for a core"
                      : basis == Basis::Medians
                          ? "No difference in the step time"
                          : "No difference in the quickest tenth of the steps of a busy host",
                      100 * kNoDifference, ratioText(difference).c_str());
    case Verdict::Inconclusive:
        break;
    }
    if (!difference.between.isMeasured())
        return "Inconclusive: one run of each. Repeat both 5 times to decide.";
    const std::string ratio = basisText(basis) + ratioText(difference);
    const auto repeats = difference.repeatsNeeded();
    if (!difference.between.inTurn && difference.between.source == BetweenRuns::Source::Repeats)
        return format("Inconclusive: %s, which were not taken in turn. %s", ratio.c_str(),
                      measureInTurn(repeats.value_or(kMostRepeats)).c_str());
    if (repeats)
        return format("Inconclusive: %s. Repeat both %lld times to decide.", ratio.c_str(),
                      static_cast<long long>(*repeats));
    return format("Inconclusive: %s. Runs differ by %s %%: compare on a quieter machine.", ratio.c_str(),
                  quantity::threeDigits(100 * difference.deviation).c_str());
}

std::string measureInTurn(std::int64_t repeats)
{
    return format("Take them in turn to decide: tilescope compare --measure A B --repeat %lld.",
                  static_cast<long long>(repeats));
}

std::string whyNoInterval(const TimeDifference& difference)
{
    return difference.ratio95 ? std::string() : "one run of each: how much runs differ is not measured";
}

} // namespace tilescope::analysis
