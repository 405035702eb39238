#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

/// A step of a foreign program: half open, in nanoseconds of one process' clock.
struct FoundStep {
    std::int32_t number = 0;
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::optional<std::size_t> range =
        {};                ///< index of the range that is the step; none: the step was computed
    std::string name = {}; ///< of a computed step; empty: step_NUMBER
};

/// A host range that may delimit steps.
struct StepCandidate {
    std::string_view name;
    std::size_t range = 0; ///< the caller's index of the range
    std::uint32_t thread = 0;
    std::int64_t start = 0;
    std::int64_t end = 0;
    bool isMarked = false; ///< its recorder calls it a step
    bool isChosen = false; ///< the user calls it a step
};

/// The steps of one process and how they were found.
struct FoundSteps {
    std::vector<FoundStep> steps = {};
    /// "user's choice: epoch", "ProfilerStep", "marks of vLLM", "Optimizer.step", "executions of train_step (JAX)",
    /// "period of the kernels"
    std::string source;
    bool isInferred = false; ///< no range of the recording is a step: the steps were computed
    bool isOnDevice = false; ///< the steps are times of the device, which runs behind the host
    std::optional<std::uint32_t> thread = {}; ///< of the ranges that delimit the steps
    std::int64_t cuts = 0; ///< steps that end where the next one begins, as their ranges overlap
};

/// Whether ranges of this name may delimit steps: step, iteration, train_step_12, Optimizer.step#AdamW.step, and what
/// serving and training frameworks call their iterations.
bool mayDelimitSteps(std::string_view name);

/// Steps from ranges: those that the user chose, otherwise those marked as steps (ProfilerStep#3), of whatever thread, otherwise
/// ranges that are named like steps, at least two on one thread, otherwise iterations of frameworks, even a single one, otherwise
/// ranges named prefill or decode_step where no optimizer steps, otherwise
/// from one Optimizer.step to the next, otherwise from one execution of a function that JAX compiled to the next: of the function
/// that takes most of the time. Empty if none of these is there.
///
/// Where optimizers of several classes take turns, a step ends with the last one of the turn.
/// \param ranges  in start order, the longest first, of one process; all that are chosen, marked or whose name mayDelimitSteps()
/// \param first   start of the first event of the process
FoundSteps stepsFromRanges(std::span<const StepCandidate> ranges, std::int64_t first);

/// A kernel of one stream, for its sequence.
struct KernelInstant {
    std::uint32_t name = 0;
    std::int64_t start = 0;
    std::int64_t end = 0;
};

/// Steps from the sequence of kernels of the busiest stream: the shortest period with which the middle half of
/// the sequence repeats exactly, extended to both sides as far as it holds. A step begins where the mean
/// pause before a kernel of the period is longest. Empty if fewer than three periods are found. O(n).
/// \param kernels  in start order
FoundSteps stepsFromKernels(std::span<const KernelInstant> kernels);

} // namespace tilescope::exchange
