#pragma once

#include "core/analysis/path/recording_view.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tilescope::analysis {

/// Which work on a device has to end before a call can launch more, because a stream holds a limited number of
/// commands.
///
/// The number is read from the calls of each stream that took long and returned when earlier work ended: it is
/// the distance that most of them have in common. One or two such calls are enough if one of them took more than 20 µs and returned
/// within 10 µs, and the stream never held more commands. So are eight shorter ones that returned within 2 µs, if nearly all calls that took
/// longer than the shortest did so and the stream held the same number then, its largest. Otherwise it never was full.
class LaunchQueues {
public:
    explicit LaunchQueues(const RecordingView& view);

    /// What a call waits for that finds the queue of its stream full.
    struct Room {
        std::size_t event = 0;       ///< index of the device event whose end makes room
        Nanoseconds shortestCall{0}; ///< for this stream: what a call takes that does not wait
    };
    /// By the correlation of the call.
    std::optional<Room> makesRoomFor(std::uint32_t correlation) const;

private:
    /// What one call launched on a stream.
    struct Command {
        std::uint32_t correlation = 0;
        Interval call{}; ///< empty: unknown
        Timestamp start{};
        Timestamp end{};
        std::size_t event = 0; ///< that ends last
    };

    struct Queue {
        std::size_t depth = 0; ///< commands that it holds
        Nanoseconds shortestCall{0};
    };
    static std::optional<Queue> queueOf(const std::vector<Command>& commands);

    std::unordered_map<std::uint32_t, Room> rooms_; ///< by correlation
};

} // namespace tilescope::analysis
