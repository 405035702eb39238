#pragma once

#include "core/query/timeline/timeline.h"
#include "ui/kit/table_model.h"

#include <QString>

#include <memory>
#include <vector>

namespace tilescope::ui {

struct TimelineScene;

/// A stretch of one run's timeline, with the lanes that are to be written.
struct TimelineExcerpt {
    QString run; ///< lm-small2 #1 naive
    std::shared_ptr<const query::Timeline> timeline;
    std::int64_t from = 0; ///< nanoseconds of the timeline
    std::int64_t to = 0;   ///< end of the last box
    std::int64_t zero = 0; ///< the instant from which written times count
    std::vector<std::size_t> lanes;
};

/// The visible window for timelineCsv(): every lane that is not hidden, including folded ones. Times are
/// relative to the alignment of the runs.
std::vector<TimelineExcerpt> excerptsOf(const TimelineScene& scene);

/// Maximum number of events; beyond it a table has level-of-detail buckets.
inline constexpr std::size_t kMostCsvEvents = 50'000;

/// The events that overlap the excerpts, one per line, uncut: start and duration, and their lane, depth and
/// family. Memory is written as the value from one change to the next. If there are more than `most` in
/// total, each row of boxes is divided into buckets of equal length. A line of the kind `level-of-detail
/// bucket` gives the number of events in a bucket, the time that they cover, and the family that covers most.
/// \param separator  a comma for files, a tab for the clipboard
TableText timelineCsv(const std::vector<TimelineExcerpt>& excerpts, char separator = ',',
                      std::size_t most = kMostCsvEvents);

} // namespace tilescope::ui
