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

/// An all-gather of one rank, which later work of the rank needs.
struct Gather {
    DeviceIndex device = {};
    StreamId stream = {};
    CorrelationId correlation = {};
    StringId path = {};
    std::int32_t step = kNoStep;
    Timestamp start{};
    Timestamp end{};
};

/// Work of the same rank that may need a gather: a kernel, copy or memset, but no communication.
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
    StreamOrder, ///< the first behind a recorded wait of its stream for the gather's stream
    Module,      ///< no such wait was recorded: the first of the gather's module
};
std::string_view wordOf(SlackRule rule); ///< stream-order, module

/// Whether a gather ended before it was needed.
struct GatherSlack {
    std::size_t work = 0; ///< index of the kernel that needs it
    SlackRule rule = SlackRule::Module;
    Nanoseconds slack{0}; ///< from the end of the gather to the start of that work
    /// How long the stream of that work stood still for the gather: while it ran, what the stream did before had ended
    /// and the work was launched. 0: the gather ended before it was needed.
    Nanoseconds stall{0};
};

/// The slack of each gather of one rank; none where no work was found that needs it.
///
/// Launches are ordered by their correlation ids. Rule Module: work belongs to the gather's module if its path lies in
/// that module (moduleOf), or if both carry the module in an annotation of PyTorch's FSDP2: `FSDP::all_gather (m)` and
/// `FSDP::all_gather_copy_out (m)`. It was launched after the gather, in the same step, on another stream, and starts
/// after the gather's end. The rule is wrong for a gather that is launched in one module for another.
///
/// \param work   of the rank, in any order
/// \param waits  of the rank, in any order
/// O(n log n + gathers x work of a step).
std::vector<std::optional<GatherSlack>> slackOfGathers(std::span<const Gather> gathers,
                                                       std::span<const DependentWork> work,
                                                       std::span<const Wait> waits, const TextOf& textOf);

} // namespace tilescope::analysis
