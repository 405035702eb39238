#include "core/report/study_runs.h"

#include "core/base/error.h"
#include "core/config/schema.h"

#include <algorithm>
#include <unordered_map>

namespace tilescope::report {

namespace {

using RunPtr = std::shared_ptr<const RunFacts>;

/// A point that ended well says more than a later attempt that did not.
bool saysMore(const RunFacts& run, const RunFacts& than)
{
    const bool ok = run.status() == RunStatus::Ok;
    if (ok != (than.status() == RunStatus::Ok))
        return ok;
    return run.record().startedUnixNs >= than.record().startedUnixNs;
}

/// All runs, found by their spec and by their name.
class Runs {
public:
    explicit Runs(const std::vector<Recording>& recordings)
    {
        for (const Recording& recording : recordings)
            for (query::RunRow& row : query::runs(*recording.reader).rows)
                add(std::make_shared<RunFacts>(recording, std::move(row)));
    }

    RunPtr withSpec(const std::string& hash) const
    {
        const auto found = bySpec_.find(hash);
        return found == bySpec_.end() ? nullptr : found->second;
    }

    std::vector<RunPtr> withName(const std::string& name) const
    {
        std::vector<RunPtr> runs;
        for (const auto& [hash, run] : bySpec_)
            if (run->record().name == name)
                runs.push_back(run);
        std::ranges::sort(runs, {}, [](const RunPtr& run) {
            return std::pair(run->record().startedUnixNs, run->record().run.value);
        });
        return runs;
    }

private:
    void add(RunPtr run)
    {
        RunPtr& known = bySpec_[run->record().specHash];
        if (!known || saysMore(*run, *known))
            known = std::move(run);
    }

    std::unordered_map<std::string, RunPtr> bySpec_;
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

StudyRuns runsOf(const std::string& name, const Runs& runs)
{
    StudyRuns full = bySpec(config::loadStudy(name), false, runs);
    StudyRuns quick = bySpec(config::loadStudy(name, config::Edition::Quick), true, runs);
    StudyRuns named = byName(config::loadStudy(name), runs);
    // Points of both editions can be the same: the edition that was meant is the one that has more of them.
    const auto share = [](const StudyRuns& study) {
        std::size_t points = 0;
        for (const PartRuns& part : study.parts)
            points += part.points;
        return points == 0 ? 0.0 : static_cast<double>(study.runs()) / static_cast<double>(points);
    };
    StudyRuns& edition = share(full) >= share(quick) || full.runs() > quick.runs() ? full : quick;
    return named.runs() > edition.runs() ? std::move(named) : std::move(edition);
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
    for (const std::string& name : only.empty() ? config::studyNames() : std::vector{only}) {
        StudyRuns found = runsOf(name, runs);
        if (found.runs() > 0)
            studies.push_back(std::move(found));
    }
    return studies;
}

} // namespace tilescope::report
