#include "ui/timeline/timeline_alignment.h"

#include "ui/timeline/range_pairs.h"

#include <algorithm>

namespace tilescope::ui {

AlignedSections alignedAt(std::vector<TimelineSection> sections, const Alignment& alignment)
{
    std::optional<double> length; // of the first run's
    double longest = 0;
    for (TimelineSection& section : sections) {
        section.alignAt = 0;
        section.stretch = 1;
        section.alignedAt.clear();
        section.alignedLength = 0;
        section.step.reset();
        std::optional<std::pair<std::int64_t, std::int64_t>> at;
        for (const query::TimelineStep& step : section.timeline->firstSteps()) {
            if (step.step != alignment.step)
                continue;
            section.step = step;
            at = alignment.path.empty()
                     ? std::pair(step.start, step.end)
                     : firstOf(*section.timeline, alignment.path, step.hostStart, step.hostEnd);
        }
        if (!at)
            continue;
        section.alignAt = double(at->first);
        section.alignedLength = at->second - at->first;
        section.alignedAt = alignment.path.empty()
                                ? QString::fromStdString(section.timeline->titleOf(*section.step))
                                : QString::fromStdString(alignment.path).section(QLatin1Char('/'), -1);
        const auto own = double(section.alignedLength);
        if (!length)
            length = own;
        if (alignment.equalLengths && own > 0)
            section.stretch = *length / own;
        longest = std::max(longest, own * section.stretch);
    }
    AlignedSections result{std::move(sections), {}};
    if (longest > 0)
        result.window = TimeWindow{-0.01 * longest, 1.02 * longest};
    return result;
}

} // namespace tilescope::ui
