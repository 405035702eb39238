#include "core/report/study_runs.h"

#include "core/base/error.h"
#include "core/config/schema.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace tilescope::report {

namespace {

using RunPtr = std::shared_ptr<const RunFacts>;

/// The place of a run, and the criteria by which a report selects it.
struct Candidate {
    const Recording* recording = nullptr;
    RunId run;
    bool ok = false;
    std::int64_t startedUnixNs = 0;

    /// A successful attempt is preferred to a later one that failed.
    bool saysMore(const Candidate& than) const
    {
        return ok != than.ok ? ok : startedUnixNs >= than.startedUnixNs;
    }
};

/// Index of all runs by spec and by name. A file may have many runs of which a study uses few, so only
/// requested runs are read completely.
class Runs {
public:
    explicit Runs(const std::vector<Recording>& recordings)
    {
        for (const Recording& recording : recordings)
            recording.reader->eachRun([&](store::RunRecord&& record) {
                add({&recording, record.run, record.result.status == RunStatus::Ok, record.startedUnixNs},
                    record);
                return true;
            });
    }

    RunPtr withSpec(const std::string& hash) const
    {
        const auto found = bySpec_.find(hash);
        return found == bySpec_.end() ? nullptr : factsOf(found->second);
    }

    std::vector<RunPtr> withName(const std::string& name) const
    {
        std::vector<RunPtr> runs;
        if (const auto named = byName_.find(name); named != byName_.end())
            for (const std::string& hash : named->second)
                if (RunPtr run = withSpec(hash); run->record().name == name)
                    runs.push_back(std::move(run));
        std::ranges::sort(runs, {}, [](const RunPtr& run) {
            return std::pair(run->record().startedUnixNs, run->record().run.value);
        });
        return runs;
    }

private:
    void add(const Candidate& run, const store::RunRecord& record)
    {
        byName_[record.name].insert(record.specHash);
        const auto [known, isNew] = bySpec_.try_emplace(record.specHash, run);
        if (!isNew && run.saysMore(known->second))
            known->second = run;
    }

    RunPtr factsOf(const Candidate& run) const
    {
        RunPtr& known = facts_[{run.recording, run.run.value}];
        if (!known)
            known = std::make_shared<RunFacts>(
                *run.recording, std::move(query::runs(*run.recording->reader, run.run).rows.front()));
        return known;
    }

    std::unordered_map<std::string, Candidate> bySpec_;
    std::unordered_map<std::string, std::unordered_set<std::string>> byName_; ///< specs of the runs of
                                                                              ///< each name
    mutable std::map<std::pair<const Recording*, std::int64_t>, RunPtr> facts_;
};

PartRuns bySpec(const config::StudyPart& part, const Runs& runs)
{
    PartRuns found{.name = part.name, .about = part.about, .points = part.specs.size()};
    for (const ExperimentSpec& spec : part.specs)
        if (RunPtr run = runs.withSpec(config::specHash(spec)))
            found.runs.push_back(std::move(run));
    return found;
}

StudyRuns bySpec(config::Study study, bool quick, const Runs& runs)
{
    StudyRuns found{.study = std::move(study), .quick = quick};
    for (const config::StudyPart& part : found.study.parts)
        found.parts.push_back(bySpec(part, runs));
    return found;
}

StudyRuns byName(config::Study study, const Runs& runs)
{
    StudyRuns found{.study = std::move(study)};
    for (const config::StudyPart& part : found.study.parts) {
        PartRuns named{.name = part.name, .about = part.about};
        named.runs = runs.withName(found.study.name + ": " + part.name);
        named.points = named.runs.size();
        found.parts.push_back(std::move(named));
    }
    return found;
}

/// The names of the studies of a report.
std::vector<std::string> namesOf(const std::string& only)
{
    if (only.empty())
        return config::studyNames();
    const std::vector<std::string> handouts = config::handoutNames();
    if (std::ranges::find(handouts, only) == handouts.end())
        return {only};
    std::vector<std::string> names;
    for (const config::Handout::Entry& entry : config::loadHandout(only).entries)
        names.push_back(entry.study);
    return names;
}

/// The part of a study's points that was run.
double shareOf(const StudyRuns& study)
{
    std::size_t points = 0;
    for (const PartRuns& part : study.parts)
        points += part.points;
    return points == 0 ? 0.0 : static_cast<double>(study.runs()) / static_cast<double>(points);
}

/// The runs of a study's full edition, or of the points that a handout asks for if more of these were run.
StudyRuns fullRunsOf(const std::string& name, const Runs& runs)
{
    StudyRuns full = bySpec(config::loadStudy(name), false, runs);
    for (const std::string& handout : config::handoutNames())
        for (const config::Handout::Entry& entry : config::loadHandout(handout).entries)
            if (entry.study == name && !entry.overrides.empty())
                if (StudyRuns asked =
                        bySpec(config::loadStudy(name, config::Edition::Full, entry.overrides), false, runs);
                    asked.runs() > full.runs())
                    full = std::move(asked);
    return full;
}

StudyRuns runsOf(const std::string& name, const Runs& runs)
{
    StudyRuns full = fullRunsOf(name, runs);
    StudyRuns quick = bySpec(config::loadStudy(name, config::Edition::Quick), true, runs);
    StudyRuns named = byName(config::loadStudy(name), runs);
    // Both editions may share points: the edition with the larger share of its points was meant.
    StudyRuns& edition = shareOf(full) >= shareOf(quick) || full.runs() > quick.runs() ? full : quick;
    return named.runs() > edition.runs() ? std::move(named) : std::move(edition);
}

/// Whether a study was run, and not only others that share some of its points.
bool wasRun(const StudyRuns& found, const std::vector<std::string>& names)
{
    if (shareOf(found) == 1)
        return true;
    const auto isOfAnother = [&](const RunPtr& run) {
        const std::string& name = run->record().name;
        const std::string study = name.substr(0, name.find(": "));
        return study != found.study.name && std::ranges::find(names, study) != names.end();
    };
    return !std::ranges::all_of(
        found.parts, [&](const PartRuns& part) { return std::ranges::all_of(part.runs, isOfAnother); });
}

} // namespace

std::size_t StudyRuns::runs() const
{
    std::size_t sum = 0;
    for (const PartRuns& part : parts)
        sum += part.runs.size();
    return sum;
}

std::vector<Recording> openRecordings(const std::vector<std::filesystem::path>& files)
{
    std::vector<Recording> recordings;
    for (const std::filesystem::path& file : files)
        recordings.push_back({file, std::make_shared<store::RunReader>(file)});
    return recordings;
}

std::vector<StudyRuns> studyRuns(const std::vector<Recording>& recordings, const std::string& only)
{
    const Runs runs(recordings);
    std::vector<StudyRuns> studies;
    const std::vector<std::string> names = namesOf(only);
    for (const std::string& name : names) {
        StudyRuns found = runsOf(name, runs);
        if (found.runs() > 0 && (!only.empty() || wasRun(found, names)))
            studies.push_back(std::move(found));
    }
    return studies;
}

} // namespace tilescope::report
