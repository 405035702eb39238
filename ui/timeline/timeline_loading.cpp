#include "ui/timeline/timeline_loading.h"

#include "core/query/tables/compare_tables.h"
#include "core/query/tables/step_tables.h"

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr std::size_t kMostPaths = 60;

// On the step time of B against that of A, as on the other pages.
analysis::Verdict stepVerdict(const SelectedRun& a, const SelectedRun& b)
{
    auto sessionA = a.file->borrow();
    auto sessionB = b.file->borrow();
    const auto difference = query::compareSteps(sessionA->reader(), a.key.run, sessionB->reader(), b.key.run);
    return difference ? difference->verdict : analysis::Verdict::Inconclusive;
}

} // namespace

LoadedTimelines loadTimelines(const std::vector<SelectedRun>& runs,
                              const std::vector<LaneArrangement>& arrangements,
                              const std::optional<Alignment>& alignment, bool equalLengths, bool frames,
                              const query::Cancelled& cancelled)
{
    LoadedTimelines loaded;
    std::vector<std::shared_ptr<const query::Timeline>> timelines;
    for (const SelectedRun& run : runs) {
        timelines.push_back(frames ? run.file->timelineWithFrames(run.key.run, cancelled)
                                   : run.file->timeline(run.key.run, cancelled));
        if (!timelines.back())
            return loaded; // cancelled: the result is dropped
        loaded.anything = loaded.anything || !timelines.back()->lanes.empty();
        if (!frames && !loaded.lacksStacks)
            loaded.lacksStacks = run.file->borrow()->reader().counts(run.key.run).frames > 0;
    }
    const auto traced =
        std::ranges::count_if(timelines, [](const auto& each) { return !each->lanes.empty(); });
    std::vector<TimelineSection> sections;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto& timeline = timelines[i];
        if (loaded.anything && timeline->lanes.empty()) {
            loaded.untraced.push_back(runs[i]);
            continue;
        }
        loaded.runs.push_back(runs[i]);
        TimelineSection section = makeSection(timeline, traced > 1);
        arrange(section, arrangements[i]);
        section.title = runs[i].title;
        section.letter = runs[i].letter;
        section.source = runs[i].source();
        if (runs[i].run->result.status != RunStatus::Running)
            section.partitions = query::stepsOf(runs[i].file->borrow()->reader(), runs[i].key.run);
        if (i > 0)
            section.verdict = stepVerdict(loaded.runs.front(), runs[i]);
        sections.push_back(std::move(section));
    }
    loaded.pairs.resize(sections.size());
    for (std::size_t i = 1; i < sections.size(); ++i)
        loaded.pairs[i] = std::make_shared<const std::vector<RangePair>>(
            pairRanges(*sections[i - 1].timeline, *sections[i].timeline));
    const query::Timeline& first = *sections.front().timeline;
    for (const std::string_view path : pathsToAlignAt(first, kMostPaths))
        loaded.paths.emplace_back(path);
    const std::vector<query::TimelineStep> steps = first.firstSteps();
    if (alignment)
        loaded.alignment = *alignment;
    else
        loaded.alignment = {steps.empty() ? kNoStep : steps.front().step, {}, equalLengths};
    loaded.aligned = alignedAt(std::move(sections), loaded.alignment);
    loaded.complete = !cancelled();
    return loaded;
}

} // namespace tilescope::ui
