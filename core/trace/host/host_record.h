#pragma once

#include "core/model/events.h"

#include <cstddef>
#include <cstdint>

namespace tilescope::trace {

inline constexpr std::uint32_t kNone = ~0U;

/// The owner of an event, determined when it occurs.
struct HostContext {
    std::uint32_t path = kNone;  ///< PathNode::id
    std::uint32_t range = kNone; ///< numbered over the life of the process
    std::uint32_t op = kNone;    ///< likewise
};

/// A record of a host thread: one cache line, plain data.
struct HostRecord {
    enum class Kind : std::uint8_t { Range, Op, Launch, Api, Alloc, Step, GraphNode, Frame, Stack, Sample };
    struct RangeBody {
        std::uint32_t id, parent;
        std::uint32_t name; ///< PathNode with this component
        std::int64_t start, end;
    };
    struct OpBody {
        std::uint32_t id, name; ///< its parent is context.op
        std::uint32_t ordinal;  ///< ops that this thread had started before in this step
        std::uint32_t shapes;   ///< name; kNone if not recorded
        std::int64_t sequence, start, end;
    };
    struct LaunchBody {
        std::uint32_t correlation;
        std::uint32_t ordinal; ///< launches that this thread had made before in this step
        std::int64_t time;
    };
    struct ApiBody {
        std::uint32_t correlation;
        std::uint32_t function; ///< CUPTI's callback domain << 24 | its callback id
        std::int64_t start, end;
    };
    struct FrameBody {
        std::uint32_t name;
        std::int64_t start, end;
    };
    /// Frames that the stack of a thread has from now on, behind those that stay.
    struct StackBody {
        struct Frame {
            std::uint32_t name; ///< PathNode::id
            std::uint32_t line;
        };
        static constexpr std::size_t kMost = 4;
        std::uint32_t thread; ///< of samples; otherwise that of the log
        std::uint16_t kept;   ///< frames that stay, from the outermost
        std::uint16_t count;  ///< of `frames`
        Frame frames[kMost];  ///< outermost first
    };
    /// An instant at which a thread had the stack that was told last.
    struct SampleBody {
        std::int64_t time;
        std::uint32_t thread;
    };
    struct StepBody {
        std::int64_t time; ///< from then on events belong to `step`
    };
    struct GraphNodeBody {
        std::uint64_t node;
        std::uint64_t original; ///< that it is a copy of; 0: made anew
    };
    struct AllocBody {
        std::uint64_t address;
        std::int64_t bytes, allocated, time;
    };

    Kind kind{};
    std::uint8_t detail =
        0; ///< OpScope, ApiKind, AllocAction, SampleState; of launches 1: its stack was told
    std::int32_t step = kNoStep;
    HostContext context{};
    union {
        RangeBody range;
        OpBody op;
        LaunchBody launch;
        ApiBody api;
        AllocBody alloc;
        StepBody change;
        GraphNodeBody graphNode;
        FrameBody frame;
        StackBody stack;
        SampleBody sample;
    };
    HostRecord() : op{} {}
};
static_assert(sizeof(HostRecord) == 64);

} // namespace tilescope::trace
