#pragma once

#include "tests/support/simulator/simulated_program.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::simulator {

inline constexpr std::int64_t kNoNumber = -1;
/// A chain that is shorter than the longest by so much is a critical path as well.
inline constexpr Duration kNearlyAsLong{10'000};

/// A stretch of time of a thread or a stream that is spent on one kind of work. It may be empty.
struct Piece {
    Work work = Work::Host;
    Duration start{0};
    Duration end{0};
    std::optional<std::uint32_t> before = {}; ///< the piece whose end decided when this one could begin
    Work between = Work::Host;                ///< what the time from that end to `start` is spent on
    struct Rival {
        std::uint32_t before = 0;
        Work between = Work::Host;
        Duration earlier{0}; ///< how much earlier it would have allowed the piece to begin
    };
    std::optional<Rival> rival =
        {}; ///< would have allowed the piece to begin up to 1 µs earlier, instead of `before`
    std::vector<Rival> near = {}; ///< each would have allowed it to begin up to 10 µs earlier
};

/// A CUDA call, as a tracer records it.
struct ExecutedCall {
    std::size_t thread = 0; ///< index in the program
    std::string name;
    std::int64_t correlation = 0;
    Duration start{0};
    Duration end{0};
};

/// An op, an annotation or a step.
struct ExecutedRange {
    std::size_t thread = 0;
    RangeKind kind = RangeKind::Op;
    std::string name;
    std::int64_t number = 0; ///< of a step; of an op, its id
    Duration start{0};
    Duration end{0};
};

/// A kernel, copy, memset or collective.
struct ExecutedWork {
    std::size_t rank = 0;
    std::int32_t stream = 0;
    Work work = Work::Matmul;
    std::string name;
    std::int64_t correlation = 0;
    std::int64_t op = 0;           ///< id of the innermost op that started it; 0: none
    std::int64_t step = kNoNumber; ///< the step in which the host started it
    std::int64_t collective = kNoNumber;
    std::size_t graphNode = 0; ///< from 1
    std::int64_t bytes = 0;
    CopyKind copy = CopyKind::HostToDevice;
    bool isPageable = false;
    Duration start{0};
    Duration end{0};
    std::uint32_t firstPiece = 0; ///< of a collective, its arrival
    std::uint32_t piece = 0;      ///< with which it ends
};

/// A wait that a tracer records besides the call, if the program says so.
struct ExecutedWait {
    std::size_t rank = 0;
    Action action = Action::StreamWait;
    std::int32_t stream = 0;      ///< that waits, or that the thread waits for
    std::int32_t waitedFor = 0;   ///< of an event: the stream on which it was recorded
    std::int64_t correlation = 0; ///< of the call that waits
    std::int64_t recorded = 0;    ///< of the call that recorded the event
    Duration start{0};
    Duration end{0};
};

/// The time that the tracer takes, as it records it: without the thread.
struct ExecutedTracing {
    std::size_t rank = 0;
    Duration start{0};
    Duration end{0};
};

struct Execution {
    std::vector<Piece> pieces;
    std::vector<ExecutedCall> calls;
    std::vector<ExecutedRange> ranges; ///< in the order in which they begin on a thread, outer ones first
    std::vector<ExecutedWork> works;
    std::vector<ExecutedWait> waits;
    std::vector<ExecutedTracing> tracings;
    /// By thread: its pieces in order.
    std::vector<std::vector<std::uint32_t>> ofThread;
};

/// By kind of work: the factor by which its durations are multiplied.
struct Scale {
    std::array<double, kWorks> factors;

    Scale() { factors.fill(1); }
    double& operator[](Work work) { return factors[static_cast<std::size_t>(work)]; }
    double operator[](Work work) const { return factors[static_cast<std::size_t>(work)]; }
};

/// Executes a program.
///
/// A kernel begins when its call has submitted it and an idle device has picked it up (latency), all earlier
/// work of its stream has ended (gap), and so have the events that the stream waits for. Streams do not slow
/// each other down. A stream accepts `queueDepth` commands that have not ended; then a call that starts work
/// waits. A copy between pinned memory and a device is asynchronous. A copy from a device to pageable memory
/// returns when it has ended. A copy from pageable memory waits for its stream, stages the data, and then
/// submits the copy. cudaFree waits for the device. A collective occupies its stream from its own arrival,
/// and transfers once all ranks have arrived.
/// \throws std::invalid_argument  if the program waits for something that never happens
Execution execute(const SimulatedProgram& program, const Scale& scale = {});

} // namespace tilescope::simulator
