#include "ui/timeline/timeline_loading.h"

#include "core/query/compare/compare_tables.h"
#include "core/query/generation/iterations.h"
#include "core/query/steps/step_tables.h"

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr std::size_t kMostPaths = 60;

// On the step time of a run against that of the first, as on the other pages.
class StepVerdicts {
public:
    explicit StepVerdicts(const SelectedRun& first)
        : session_(first.file->borrow()), baseline_(session_->reader(), first.key.run)
    {
    }

    analysis::Verdict of(const SelectedRun& run)
    {
        const auto session = run.file->borrow();
        const auto difference = baseline_.compareWith(session->reader(), run.key.run);
        return difference ? difference->verdict : analysis::Verdict::Inconclusive;
    }

private:
    query::SharedFile::Lease session_;
    query::StepBaseline baseline_;
};

std::vector<TimelinePhase> phasesOf(const store::RunReader& reader, RunId run,
                                    const query::Timeline& timeline)
{
    std::vector<TimelinePhase> phases;
    const auto at = [&timeline](Timestamp time) { return double((time - timeline.origin).count()); };
    for (const query::Iteration& each : query::iterationsOf(reader, run).list)
        phases.push_back({at(each.wall.start), at(each.wall.end), each.type, each.process});
    return phases;
}

} // namespace

LoadedTimelines loadTimelines(const std::vector<SelectedRun>& runs,
                              const std::map<std::filesystem::path, LaneArrangement>& arrangements,
                              const std::optional<Alignment>& alignment, bool equalLengths, bool frames,
                              const query::Cancelled& cancelled)
{
    LoadedTimelines loaded;
    std::vector<std::shared_ptr<const query::Timeline>> timelines;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const SelectedRun& run = runs[i];
        if (timelines.size() == kMostTimelines) {
            loaded.left = runs.size() - i;
            break;
        }
        auto timeline = frames ? run.file->timelineWithFrames(run.key.run, cancelled)
                               : run.file->timeline(run.key.run, cancelled);
        if (!timeline || cancelled())
            return loaded; // the result is dropped
        if (!frames && !loaded.lacksStacks)
            loaded.lacksStacks = run.file->borrow()->hasStacks(run.key.run);
        if (timeline->lanes.empty()) {
            loaded.untraced.push_back(run);
            continue;
        }
        loaded.runs.push_back(run);
        timelines.push_back(std::move(timeline));
    }
    loaded.complete = !cancelled();
    loaded.anything = !timelines.empty();
    if (!loaded.anything)
        return loaded;
    std::vector<TimelineSection> sections;
    std::optional<StepVerdicts> verdicts;
    if (loaded.runs.size() > 1)
        verdicts.emplace(loaded.runs.front());
    for (std::size_t s = 0; s < timelines.size(); ++s) {
        const SelectedRun& run = loaded.runs[s];
        TimelineSection section = makeSection(timelines[s], timelines.size() > 1);
        if (const auto chosen = arrangements.find(run.file->path()); chosen != arrangements.end())
            arrange(section, chosen->second);
        section.title = run.title;
        section.letter = run.letter;
        section.source = run.source();
        if (run.run->result.status != RunStatus::Running) {
            const auto session = run.file->borrow();
            section.partitions = query::stepsOf(session->reader(), run.key.run);
            section.phases = phasesOf(session->reader(), run.key.run, *section.timeline);
        }
        if (s > 0)
            section.verdict = verdicts->of(run);
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
