#pragma once

#include "core/analysis/path/recording_view.h"

#include <cstddef>
#include <vector>

namespace tilescope::analysis {

/// An order between streams that the calls of a process imply.
struct InferredWait {
    std::size_t from = 0; ///< device event that is waited for, by its index in the view
    std::size_t to = 0;   ///< first device event after the wait
};

/// The orders between streams of a recording that holds calls which record events and let streams wait for them, but
/// neither events nor streams: such as that of PyTorch's profiler. Assumes that an event is recorded on the stream of the
/// thread's last launch, that the stream of its next launch waits, with what any thread launches onto it first, and that it
/// waits for the event of another stream that was recorded last. Orders that the recorded times contradict are left out.
/// O(n log n).
std::vector<InferredWait> inferredWaits(const RecordingView& view);

} // namespace tilescope::analysis
