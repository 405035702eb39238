#pragma once

#include "core/query/timeline/gap_reasons.h"
#include "core/query/timeline/timeline_levels.h"
#include "core/query/timeline/timeline_names.h"
#include "core/store/tracks/packed_track.h"

#include <cstdint>
#include <vector>

namespace tilescope::query {

/// Unpacks a piece of a stored track into its part of a row. Names are already resolved, so any thread may
/// call run(), once; only the thread that builds the row may call other members.
class RowFilling {
public:
    /// The properties of the boxes with one code.
    struct Kind {
        std::uint32_t name = 0;
        std::uint8_t hue = 0; ///< TrackBuilder::classOf()
        store::CallDetail detail = store::CallDetail::Call;
    };

    /// \param kinds  of each of boxes.codes()
    /// \param shift  added to each start, nanoseconds
    RowFilling(store::PackedBoxes boxes, std::vector<Kind> kinds, TrackBuilder::Part part, std::int64_t shift)
        : boxes_(std::move(boxes)), kinds_(std::move(kinds)), part_(std::move(part)), shift_(shift)
    {
    }

    /// Frees the packed boxes.
    /// \throws Error  they are damaged
    void run();

    // After run().
    const TrackBuilder::Part& part() const { return part_; }
    /// The times in which the host waited, and those in which the tracer worked.
    const Stretches& waiting() const { return waiting_; }
    const Stretches& tracing() const { return tracing_; }

private:
    store::PackedBoxes boxes_;
    std::vector<Kind> kinds_;
    TrackBuilder::Part part_;
    std::int64_t shift_;
    Stretches waiting_, tracing_;
};

} // namespace tilescope::query
