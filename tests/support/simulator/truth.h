#pragma once

#include "tests/support/simulator/execution.h"

#include <nlohmann/json.hpp>

#include <array>
#include <vector>

namespace tilescope::simulator {

struct Span {
    Duration start{0};
    Duration end{0};

    Duration length() const { return end - start; }
};

/// Time by kind of work.
using WorkTimes = std::array<Duration, kWorks>;

/// What is true of a step of a rank.
///
/// A step begins with its range or, if later, with the end of the step before it. It ends with its range or,
/// if later, when the device has finished what the step started on the stream that works most for steps.
struct StepTruth {
    std::size_t rank = 0;
    std::int64_t number = 0;
    Span wall{};
    /// The longest chain of work that ends with the step, each piece as soon as the one before allows it.
    WorkTimes path{};
    /// A chain that prefers what would have allowed a piece of the device to begin at most 1 µs earlier: a path
    /// that cannot be told from the first one.
    WorkTimes rivalPath{};
    /// Chains that are shorter than the longest one by at most 10 µs (kNearlyAsLong): at some pieces they follow a reason that would have
    /// allowed the piece to begin earlier. Without those that are like the path or each other, within a fiftieth of the wall time.
    std::vector<WorkTimes> nearPaths{};
    Duration busy{0}; ///< at least one kernel, copy or memset ran
    /// By what the next work on the device, or the end of the step, waited for while the device was idle.
    WorkTimes idle{};
    Duration exposedCommunication{0}; ///< a collective occupied a stream and no other kernel ran
};

/// A collective of several ranks.
struct CollectiveTruth {
    std::int64_t number = 0;
    std::size_t lastRank = 0;
    Duration late{0};     ///< from the arrival of the second to last rank
    Duration transfer{0}; ///< from the arrival of the last rank
};

struct Truth {
    std::vector<StepTruth> steps; ///< by rank, then in order of time
    std::vector<CollectiveTruth> collectives;
    std::vector<std::int32_t> endStreams; ///< by rank: the stream that works most for steps
};

/// \param endStreams  by rank: the stream whose work ends steps; empty: the one that works most for them. A changed program
///                    is compared with the unchanged one by the same stream
Truth truthOf(const SimulatedProgram& program, const Execution& execution,
              const std::vector<std::int32_t>& endStreams = {});

/// A period of a device: it ends when work of a rank begins or, if none begins then, ends.
struct PeriodTruth {
    WorkTimes path{}; ///< as of StepTruth
    WorkTimes rivalPath{};
    std::vector<WorkTimes> nearPaths{};
};

/// \throws std::invalid_argument  no work of the rank begins or ends at the end of the period
PeriodTruth truthOfPeriod(const SimulatedProgram& program, const Execution& execution, std::size_t rank,
                          Span period);
nlohmann::json jsonOf(const PeriodTruth& truth);

nlohmann::json jsonOf(const Truth& truth);

} // namespace tilescope::simulator
