#pragma once

#include "core/analysis/time/busy_time.h"

#include <optional>
#include <span>
#include <vector>

namespace tilescope::analysis {

/// A batch that other processes have loaded for a thread.
struct LoadedBatch {
    Interval loading{};  ///< in the other processes
    bool isLate = false; ///< the thread waited for it: `loading` ends when the thread could go on
};

/// When other processes loaded the batches that a thread takes. They are not recorded, but while a thread waits for
/// each batch, they load one after the other without a pause: the time from one arrival to the next is that of one
/// batch. A batch for which the thread did not wait took the median of these times, and was ready in time.
/// \param taken    when the thread took each batch, in order
/// \param shortest the shortest take of a batch in the whole recording, if it is known
/// \return       by batch; none where nothing is known. All are none if the thread never waited twice in a row.
std::vector<std::optional<LoadedBatch>> loadedBatches(std::span<const Interval> taken,
                                                      std::optional<Nanoseconds> shortest = {});

} // namespace tilescope::analysis
