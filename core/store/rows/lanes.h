#pragma once

#include "core/base/ids.h"
#include "core/model/events.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace tilescope::store {

/// Horizontal bands that a viewer draws. The event alone determines its lane.
enum class LaneKind : std::uint8_t {
    Step,   ///< the traced steps
    Range,  ///< host ranges of a thread
    Thread, ///< ops and CUDA calls of a thread
    Stream, ///< what ran on a stream
    Busy,   ///< when a device was busy, and why it was not
    Memory, ///< allocated and reserved bytes of a device
};

inline constexpr std::array<std::string_view, 6> kLaneWords{"step",   "range", "thread",
                                                            "stream", "busy",  "memory"};
inline std::string_view wordOf(LaneKind kind)
{
    return kLaneWords[static_cast<std::size_t>(kind)];
}
inline std::optional<LaneKind> laneKindOf(std::string_view word)
{
    const auto found = std::ranges::find(kLaneWords, word);
    return found == kLaneWords.end() ? std::nullopt
                                     : std::optional(static_cast<LaneKind>(found - kLaneWords.begin()));
}

/// A row of non-overlapping boxes in one lane, as stored.
struct TrackInfo {
    std::int64_t id = 0; ///< in the file
    LaneKind kind = LaneKind::Range;
    DeviceIndex device = {};
    StreamId stream = {};
    ThreadId thread = {};
    std::size_t row = 0; ///< within the lane, from 0 at the top
    std::int64_t events = 0;
};

/// What a box represents, besides its times: a text and a detail.
///
/// Range: the path. Thread: the name; detail 0 for an op, otherwise a CallDetail. Stream: the name; detail is
/// the DeviceEventKind. Busy: only detail, a BusyReason. Step: only detail, the step's number.
struct BoxCode {
    static constexpr std::uint64_t of(std::uint64_t text, std::uint64_t detail) { return text << 2 | detail; }
    static constexpr StringId text(std::uint64_t code)
    {
        return StringId{static_cast<std::uint32_t>(code >> 2)};
    }
    static constexpr unsigned detail(std::uint64_t code) { return code & 3; }
};

/// The kinds of CUDA calls that a thread's boxes distinguish.
enum class CallDetail : std::uint8_t {
    Call = 1,
    Waits = 2,   ///< for the device
    Tracing = 3, ///< what tracing itself did
};

/// A stretch of a track. Times are nanoseconds from the run's start.
struct Box {
    std::int64_t start = 0;
    std::int64_t length = 0;
    std::uint64_t code = 0; ///< see BoxCode; of steps and busy tracks the plain number

    bool operator==(const Box&) const = default;
};

/// A device's memory from `time` on.
struct MemoryPoint {
    std::int64_t time = 0;
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;

    bool operator==(const MemoryPoint&) const = default;
};

/// Assigns a box to a row: the first one below all whose last box has not ended. Boxes are in start order; of two that
/// start together, the longer one is first. Nothing nests deeper than kMostNestedRows: in a lane of more rows, boxes
/// overlap without nesting, and the first free row is taken, or they would need a row each. O(rows), usually 1.
/// \param endOf  end of the last box of a row
template <class EndOf> std::size_t rowFor(std::int64_t start, std::size_t rows, const EndOf& endOf)
{
    constexpr std::size_t kMostNestedRows = 512;
    constexpr std::size_t kMostSearched = 2048;
    if (rows > kMostNestedRows) {
        for (std::size_t row = 0; row < std::min(rows, kMostSearched); ++row)
            if (endOf(row) <= start)
                return row;
        return rows;
    }
    while (rows > 0 && endOf(rows - 1) <= start)
        --rows;
    return rows;
}

enum class BusyReason : std::uint8_t { Busy, Launching, Unexplained };

/// An event in a timeline: its lane, before a row is chosen, and its box. Used both for stored tracks and for
/// the timeline of a run that is being written.
struct LaneBox {
    TrackInfo lane;
    Box box;

    static LaneBox step(std::int32_t step, std::int64_t start, std::int64_t end)
    {
        return {{.kind = LaneKind::Step}, spanning(start, end, static_cast<std::uint64_t>(step))};
    }
    static LaneBox range(ThreadId thread, StringId path, std::int64_t start, std::int64_t end)
    {
        return {{.kind = LaneKind::Range, .thread = thread},
                spanning(start, end, BoxCode::of(path.value, 0))};
    }
    static LaneBox op(ThreadId thread, StringId name, std::int64_t start, std::int64_t end)
    {
        return {{.kind = LaneKind::Thread, .thread = thread},
                spanning(start, end, BoxCode::of(name.value, 0))};
    }
    static LaneBox call(ThreadId thread, StringId name, ApiKind kind, std::int64_t start, std::int64_t end)
    {
        const bool waits = kind == ApiKind::Synchronize || kind == ApiKind::Wait;
        const CallDetail detail = kind == ApiKind::Overhead ? CallDetail::Tracing
                                  : waits                   ? CallDetail::Waits
                                                            : CallDetail::Call;
        return {{.kind = LaneKind::Thread, .thread = thread},
                spanning(start, end, BoxCode::of(name.value, static_cast<std::uint64_t>(detail)))};
    }
    static LaneBox onStream(DeviceIndex device, StreamId stream, DeviceEventKind kind, StringId name,
                            std::int64_t start, std::int64_t end)
    {
        return {{.kind = LaneKind::Stream, .device = device, .stream = stream},
                spanning(start, end, BoxCode::of(name.value, static_cast<std::uint64_t>(kind)))};
    }
    static LaneBox busy(DeviceIndex device, BusyReason reason, std::int64_t start, std::int64_t end)
    {
        return {{.kind = LaneKind::Busy, .device = device},
                spanning(start, end, static_cast<std::uint64_t>(reason))};
    }

    std::int64_t end() const { return box.start + box.length; }

private:
    /// A negative length would be another program's.
    static Box spanning(std::int64_t start, std::int64_t end, std::uint64_t code)
    {
        return {start, std::max<std::int64_t>(end - start, 0), code};
    }
};

/// Builds the GPU activity lane: busy intervals, and the gaps between them by reason. A gap is attributed to
/// the host if the kernel that ended it was launched after the device had become idle; otherwise its reason
/// is unknown here.
class BusySpans {
public:
    static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

    /// \param launched  time of the host's launch call, kUnknown if not recorded
    /// \param emit      called with (start, end, BusyReason) for completed intervals
    template <class Emit>
    void add(std::int64_t start, std::int64_t end, std::int64_t launched, const Emit& emit)
    {
        if (coveredUntil_ == kUnknown) {
            from_ = start;
        } else if (start > coveredUntil_) {
            emit(from_, coveredUntil_, BusyReason::Busy);
            const bool hostLate = launched != kUnknown && launched >= coveredUntil_;
            emit(coveredUntil_, start, hostLate ? BusyReason::Launching : BusyReason::Unexplained);
            from_ = start;
        }
        coveredUntil_ = std::max(coveredUntil_, end);
    }
    template <class Emit> void finish(const Emit& emit) const
    {
        if (coveredUntil_ != kUnknown)
            emit(from_, coveredUntil_, BusyReason::Busy);
    }

private:
    std::int64_t from_ = 0;
    std::int64_t coveredUntil_ = kUnknown;
};

} // namespace tilescope::store
