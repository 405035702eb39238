#pragma once

#include "core/analysis/path/launch_lag.h"
#include "core/analysis/path/path_part.h"
#include "core/analysis/time/busy_time.h"
#include "core/base/units.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// Why an activity cannot start before another has ended.
enum class Cause : std::uint8_t {
    Program,    ///< program order on a thread
    Launch,     ///< the thread reached the call that launches it
    Stream,     ///< order on a stream
    StreamWait, ///< a stream waits for an event of another stream stream
    Graph,      ///< order within a replayed CUDA graph
    Device,     ///< a call waits for the device
    Collective, ///< a rank of a collective has arrived
    HandOver,   ///< another thread continues
    Inferred,   ///< no cause is recorded; assumed: what the process last ran on another stream
};
inline constexpr std::size_t kCauses = 9;

std::string_view wordOf(Cause cause); ///< program, launch, …
/// Whether work of a device waits for other work of a device.
bool isOrderOnDevice(Cause cause);

/// A stretch of work on a thread or a stream. It may be empty.
struct Activity {
    Interval time{};
    PathPart part = PathPart::Host;
    std::uint32_t source = 0; ///< number that the caller assigns
    Timestamp calledUntil{};  ///< when the launch call returned; epoch: unknown
    /// Whether other work of the device, or the host, may have delayed this one after its launch.
    bool wasDeviceBusy = false;
};

/// `to` starts after `from` has ended.
struct Dependency {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    Cause cause = Cause::Program;
};

/// The recorded activities and their dependencies, as a model that reproduces the recorded times.
///
/// An activity starts when all its dependencies allow it: each at the end of `from` plus a lag. One dependency
/// binds; its lag is the recorded one. The usual lag of each cause decides which one binds: a dependency that
/// ended earlier may bind, because a launch takes longer than the step from kernel to kernel. The usual lag is
/// the lower quartile of the lags that were recorded where no other dependency held the activity back. That of
/// launches is read from launches onto an idle device, and is at most 50 µs; where the device was never idle, it is the shortest
/// one, at most 15 µs. Work that begins up to 1.5 µs after
/// other work of a device may have waited for it. Dependencies that do not bind get the usual lag of their cause, between
/// work of a device at most those 1.5 µs, or the recorded lag if that is less. Activities without a dependency keep their start. Every start is therefore
/// reproduced exactly, and changed durations give a prediction.
class ActivityGraph {
public:
    struct Constraint {
        std::uint32_t from = 0;
        Cause cause = Cause::Program;
        bool binds = false;
        Nanoseconds lag{0}; ///< negative where the activity started before the end of `from`
    };

    ActivityGraph() = default;
    /// \param activities    in any order; the graph numbers them by start, then end, then order in the list. So
    ///                      the empty arrival of a rank precedes a transfer that begins at the same instant
    /// \param dependencies  indices into `activities`; a dependency on an activity with a larger number is ignored
    /// \param usual         what the recording usually needs; none: as the activities show it
    /// O(n log n).
    ActivityGraph(std::vector<Activity> activities, std::vector<Dependency> dependencies,
                  const UsualLags& usual = {});

    std::span<const Activity> activities() const { return activities_; }
    std::span<const Constraint> constraintsOf(std::uint32_t activity) const;
    /// The constraint that set the start of an activity; nullptr if it has none.
    const Constraint* bindingOf(std::uint32_t activity) const;
    /// The number of an activity, by its index in the constructor's list.
    std::uint32_t numberOf(std::size_t index) const { return numbers_[index]; }
    /// The usual lag of a cause; 0 if there is none.
    Nanoseconds usualLag(Cause cause) const { return usual_[static_cast<std::size_t>(cause)]; }

    /// The times of the activities if durations and lags change. The identity gives the recorded times exactly.
    /// \param duration  returns the duration of an activity, by its number
    /// \param lag       returns the lag of a constraint of an activity
    /// O(n).
    using DurationOf = std::function<Nanoseconds(std::uint32_t)>;
    using LagOf = std::function<Nanoseconds(const Constraint&, std::uint32_t activity)>;
    std::vector<Interval> simulate(const DurationOf& duration, const LagOf& lag) const;

private:
    void sortActivities();
    void addConstraints(const std::vector<Dependency>& dependencies);
    using LagsByCause = std::array<std::vector<Nanoseconds>, kCauses>;
    /// The recorded lags of the dependencies that ended last.
    /// \param onlyAlone  of activities that no other one held back
    LagsByCause lagsOfLast(bool onlyAlone) const;
    void findUsualLags(const UsualLags& usual);
    /// A launch lag for a recording in which the device was never idle.
    Nanoseconds shortestLaunchLag() const;
    void bind();
    Nanoseconds recordedLag(const Constraint& constraint, std::uint32_t activity) const;
    /// The part of the recorded lag that the cause does not explain.
    Nanoseconds openLag(const Constraint& constraint, std::uint32_t activity) const;

    std::vector<Activity> activities_;
    std::vector<std::uint32_t> numbers_;
    std::vector<Constraint> constraints_;
    std::vector<std::uint32_t> first_; ///< by activity: its first index in `constraints_`; then the size
    std::array<Nanoseconds, kCauses> usual_{};
    Nanoseconds longestGap_{0}; ///< that work before on the device explains
};

} // namespace tilescope::analysis
