#pragma once

#include "core/base/units.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilescope::analysis {

/// What the critical path of a step spends its time on.
enum class PathPart : std::uint8_t {
    Host,    ///< the program on a thread: ops, Python, CUDA calls that neither launch nor wait
    Launch,  ///< launch calls, and the latency between a cause and the start of a kernel
    Compute, ///< kernels limited by arithmetic: matrix products, attention, and kernels of unknown family
    Memory,  ///< copies, memsets, and kernels of families that are limited by memory traffic
    Communication,   ///< collectives, from the arrival of the last rank
    DataLoading,     ///< the program loads the next batch
    Synchronization, ///< calls that wait for a device, after what they wait for has ended
    Unexplained,     ///< no recorded activity and no recorded cause
};
inline constexpr std::size_t kPathParts = 8;

/// Number of the rules by which the parts of a path are found. A file keeps the parts of its steps with this number; raise it with
/// every change that finds other parts for the same events.
inline constexpr std::int64_t kPathRules = 2;

std::string_view wordOf(PathPart part); ///< host, launch, …

/// Time by part.
class PathParts {
public:
    Nanoseconds& operator[](PathPart part) { return times_[static_cast<std::size_t>(part)]; }
    Nanoseconds operator[](PathPart part) const { return times_[static_cast<std::size_t>(part)]; }
    Nanoseconds sum() const;
    /// The part with the most time; the first of several equal ones.
    PathPart largest() const;

    bool operator==(const PathParts&) const = default;

private:
    std::array<Nanoseconds, kPathParts> times_{};
};

} // namespace tilescope::analysis
