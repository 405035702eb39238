#pragma once

#include "core/trace/host/host_record.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tilescope::trace {

/// What one step showed before the steps that are recorded, found again by the order of things: each thread
/// runs the same ops and launches in the same order in every step. Or several steps, numbered from 0, that the recorded
/// ones repeat in this order: the tokens of a generation. One thread at a time.
class ReferenceStep {
public:
    void clear();

    void noteOp(std::uint32_t thread, std::int32_t step, const HostRecord::OpBody& op);
    void noteLaunch(std::uint32_t thread, const HostRecord& launch);

    struct Found {
        std::uint32_t value = kNone;
        bool matches = true; ///< false: the reference step ran something else in its place
    };
    /// Shapes of the op that ran in the place of this one.
    Found shapesOf(std::uint32_t thread, std::int32_t step, const HostRecord::OpBody& op) const;
    /// The op that launched the corresponding work in the reference step; for recordings without ops.
    Found opOf(std::uint32_t thread, const HostRecord& launch) const;

private:
    struct Op {
        std::uint32_t name = kNone;
        std::uint32_t shapes = kNone;
    };
    struct Launch {
        std::uint32_t path = kNone;
        std::uint32_t op = kNone;
    };
    using Key = std::pair<std::int32_t, std::uint32_t>; // step, thread

    void noteStep(std::int32_t step);
    Key keyOf(std::uint32_t thread, std::int32_t step) const;

    std::int32_t steps_ = 1;
    std::map<Key, std::vector<Op>> ops_; // then by ordinal in the step
    std::map<Key, std::vector<Launch>> launches_;
};

} // namespace tilescope::trace
