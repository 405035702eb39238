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
    std::int64_t to = 0;   ///< behind the last one
    std::int64_t zero = 0; ///< from which the written times count
    std::vector<std::size_t> lanes;
};

/// What the view's window shows, for timelineCsv: every lane that is not hidden, folded ones too. Times count
/// from where the runs are aligned.
std::vector<TimelineExcerpt> excerptsOf(const TimelineScene& scene);

/// Above so many events a table has level-of-detail buckets instead.
inline constexpr std::size_t kMostCsvEvents = 50'000;

/// The events that overlap the excerpts, one a line, whole: start and duration, and what their lane, depth
/// and family are. Memory is written as the value from one change to the next. Where there are more than
/// `most` of them in all, each row of boxes is cut into buckets of equal length, and a line tells how many
/// events touch a bucket, how much of it they cover, and the family that covers most; such lines are of the
/// kind `level-of-detail bucket`.
/// \param separator  a comma for files, a tab for the clipboard
TableText timelineCsv(const std::vector<TimelineExcerpt>& excerpts, char separator = ',',
                      std::size_t most = kMostCsvEvents);

} // namespace tilescope::ui
