#pragma once

#include "core/analysis/time/text_of.h"
#include "core/model/events.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// An all-gather of one rank. Later work of the rank needs its result.
struct Gather {
    DeviceIndex device = {};
    StreamId stream = {};
    CorrelationId correlation = {};
    StringId path = {};
    std::int32_t step = kNoStep;
    Timestamp start{};
    Timestamp end{};
};

/// Work of the same rank that may need a gather: a kernel, copy or memset, but not communication.
struct DependentWork {
    DeviceIndex device = {};
    StreamId stream = {};
    CorrelationId correlation = {};
    StringId path = {};
    StringId name = {};
    std::int32_t step = kNoStep;
    Timestamp launched{}; ///< epoch where unknown
    Timestamp start{};
    Timestamp end{};
};

/// How the work that needs a gather was found.
enum class SlackRule : std::uint8_t {
    StreamOrder, ///< the first work after a recorded wait of its stream for the gather's stream
    Module,      ///< no such wait was recorded: the first work of the gather's module
};
std::string_view wordOf(SlackRule rule); ///< stream-order, module

/// Whether a gather ended before it was needed.
struct GatherSlack {
    std::size_t work = 0; ///< index of the work that needs the gather
    SlackRule rule = SlackRule::Module;
    Nanoseconds slack{0}; ///< from the end of the gather to the start of that work
    /// How long the stream of that work waited for the gather: the time of the gather in which the previous work
    /// of the stream had ended and the work was already launched. 0: the gather ended before it was needed.
    Nanoseconds stall{0};
};

/// The slack of each gather of one rank; none for a gather that no known work needs.
///
/// Launches are ordered by their correlation ids. Rule Module: work belongs to the gather's module if its path lies
/// in that module (moduleOf), or if annotations of PyTorch's FSDP2 name the module in both paths: `FSDP::all_gather
/// (m)` and `FSDP::all_gather_copy_out (m)`. The work must be launched after the gather, in the same step, on another
/// stream, and start after the gather's end. The rule is wrong for a gather that one module launches for another.
///
/// \param work   of the rank, in any order
/// \param waits  of the rank, in any order
/// O(n log n + gathers x work of a step).
std::vector<std::optional<GatherSlack>> slackOfGathers(std::span<const Gather> gathers,
                                                       std::span<const DependentWork> work,
                                                       std::span<const Wait> waits, const TextOf& textOf);

} // namespace tilescope::analysis
