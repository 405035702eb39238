#include "core/query/file_session.h"

#include "core/model/parallelism.h"
#include "core/query/runs/milliseconds.h"
#include "core/query/runs/run_list.h"
#include "core/query/steps/step_tables.h"
#include "core/query/timeline/timeline_reader.h"
#include "core/store/host_sample_reader.h"
#include "core/store/run_reader.h"

#include <algorithm>
#include <map>

namespace tilescope::query {

namespace {

/// None while the run grows, unless the file stores the totals of steps: each look would read all its events.
void addTracedSteps(RunSummary& summary, const store::RunReader& reader)
{
    if (summary.result.status == RunStatus::Running && reader.stepTotals(summary.run).empty())
        return;
    struct Sum {
        double ms = 0;
        double count = 0;
    };
    Sum all;
    std::map<std::int32_t, Sum> byStep;
    for (const StepRow& row : stepsOf(reader, summary.run)) {
        if (!row.leftOut.empty())
            continue;
        const double ms = milliseconds(row.partition.wall.length());
        for (Sum* sum : {&all, &byStep[row.step]}) {
            sum->ms += ms;
            ++sum->count;
        }
    }
    if (all.count > 0)
        summary.tracedStep = all.ms / all.count;
    for (const auto& [step, sum] : byStep)
        summary.tracedSteps[step] = sum.ms / sum.count;
}

RunSummary summaryOf(const store::RunReader& reader, RunRow row, const std::shared_ptr<SharedTexts>& texts)
{
    store::RunRecord& record = row.record;
    RunSummary summary;
    summary.step = row.stepMs();
    summary.phases = std::move(row.phases);
    summary.run = record.run;
    summary.uid = std::move(record.uid);
    summary.name = std::move(record.name);
    summary.workload = std::move(record.workload);
    summary.specHash = std::move(record.specHash);
    summary.params = {record.specJson, texts};
    summary.startedUnixNs = record.startedUnixNs;
    summary.result = std::move(record.result);
    summary.note = std::move(record.note);
    summary.tag = std::move(record.tag);
    const bool isRecording = summary.traits().coversRecording;
    if (isRecording && !summary.step)
        addTracedSteps(summary, reader);
    // Other runs of one process are many, and each would cost a query.
    if (const std::string_view gpus = summary.params["gpus"]; isRecording || (!gpus.empty() && gpus != "1"))
        summary.processes = processChoices(reader.topology(summary.run));
    return summary;
}

// An interrupted run may still be running: a slow writer can be mistaken for a dead one.
bool hasEnded(RunStatus status)
{
    return status != RunStatus::Running && status != RunStatus::Interrupted;
}

// The run in an earlier snapshot, if both snapshot and record say that it has ended.
const RunSummary* ended(const FileSnapshot& snapshot, const store::RunRecord& record)
{
    const RunSummary* found = snapshot.find(record.run);
    const bool same = found != nullptr && found->uid == record.uid;
    return same && hasEnded(found->result.status) && hasEnded(record.result.status) ? found : nullptr;
}

} // namespace

std::string_view RunSummary::param(std::string_view key) const
{
    const std::string_view value = params[key];
    return value.empty() && workload == "lm" ? valueWithoutRanks(key) : value;
}

const RunSummary* FileSnapshot::find(RunId run) const
{
    const auto found = std::ranges::lower_bound(runs, run, {}, &RunSummary::run);
    return found != runs.end() && found->run == run ? &*found : nullptr;
}

struct FileSession::State {
    store::RunReader reader;

    FileSnapshot read(const FileSnapshot* before) const;
};

FileSession::FileSession(const std::filesystem::path& file) : state_(new State{store::RunReader(file)}) {}

FileSession::~FileSession() = default;

FileSnapshot FileSession::snapshot(const FileSnapshot* before) const
{
    FileSnapshot snapshot;
    state_->reader.atOnce([&] { snapshot = state_->read(before); });
    return snapshot;
}

FileSnapshot FileSession::State::read(const FileSnapshot* before) const
{
    FileSnapshot snapshot;
    snapshot.file = reader.file();
    const auto texts = std::make_shared<SharedTexts>();
    std::vector<store::RunRecord> unread; // the last entries of snapshot.runs, empty until read
    const auto read = [&] {
        std::size_t at = snapshot.runs.size() - unread.size();
        for (RunRow& row : runRows(reader, std::move(unread)))
            snapshot.runs[at++] = summaryOf(reader, std::move(row), texts);
        unread.clear();
    };
    reader.eachRun([&](store::RunRecord&& record) {
        // The measurements of a run that has ended are final; its annotations are not.
        const RunSummary* known = before == nullptr ? nullptr : ended(*before, record);
        if (known == nullptr) {
            snapshot.runs.emplace_back();
            unread.push_back(std::move(record));
            if (unread.size() == RunList::kPage)
                read();
            return true;
        }
        read();
        snapshot.runs.push_back(*known);
        if (!record.result.peakAllocated) // read from the events, which are final as well
            record.result.peakAllocated = known->result.peakAllocated;
        snapshot.runs.back().result = std::move(record.result);
        snapshot.runs.back().note = std::move(record.note);
        snapshot.runs.back().tag = std::move(record.tag);
        return true;
    });
    read();
    return snapshot;
}

std::shared_ptr<const Timeline> FileSession::timeline(RunId run, const Cancelled& cancelled) const
{
    std::optional<Timeline> read = readTimeline(state_->reader, run, cancelled);
    return read ? std::make_shared<const Timeline>(std::move(*read)) : nullptr;
}

bool FileSession::hasStacks(RunId run) const
{
    return state_->reader.counts(run).frames > 0 || store::hasHostSamples(state_->reader.file(), run);
}

std::shared_ptr<const Timeline> FileSession::withFrames(RunId run,
                                                        const std::shared_ptr<const Timeline>& timeline,
                                                        const Cancelled& cancelled) const
{
    if (!hasStacks(run))
        return timeline;
    std::optional<Timeline> whole = query::withFrames(state_->reader, run, *timeline, cancelled);
    return whole ? std::make_shared<const Timeline>(std::move(*whole)) : nullptr;
}

ItemDetails FileSession::details(RunId run, const Timeline& timeline, const TimelineItem& item) const
{
    return describeItem(state_->reader, run, timeline, item);
}

ItemLinks FileSession::links(RunId run, const Timeline& timeline, const TimelineItem& item,
                             const Cancelled& cancelled) const
{
    return linksOf(state_->reader, run, timeline, item, cancelled);
}

LiveMemoryTable FileSession::liveAtPeak(RunId run) const
{
    LiveMemoryTable table;
    state_->reader.atOnce([&] { table = liveMemory(state_->reader, {.run = run}, {}); });
    return table;
}

const store::RunReader& FileSession::reader() const
{
    return state_->reader;
}

} // namespace tilescope::query
