#include "ui/kit/run_groups.h"

#include <map>
#include <string_view>
#include <unordered_map>

namespace tilescope::ui {

namespace {

constexpr std::string_view kOfStudy = ": "; // between the names of a study and of its sweep

} // namespace

RunGroups::RunGroups(std::shared_ptr<const query::FileSnapshot> snapshot)
    : snapshot_(std::move(snapshot)), titles_(*snapshot_)
{
    groups_.emplace_back();
    place();
    const std::vector<query::RunSummary>& runs = snapshot_->runs;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        groups_[groupOf_[i]].runs.push_back(std::uint32_t(i));
        for (int group = int(groupOf_[i]); group >= 0; group = groups_[std::size_t(group)].parent)
            groups_[std::size_t(group)].counts.add(runs[i].result.status);
    }
    for (RunGroup& group : groups_) {
        std::vector<const query::RunSummary*> members;
        for (const std::uint32_t run : group.runs)
            members.push_back(&runs[run]);
        group.titles = members.size() == runs.size() ? titles_ : RunTitles(members);
    }
}

int RunGroups::groupNamed(const QString& name, int parent)
{
    groups_.emplace_back().name = name;
    groups_.back().parent = parent;
    return int(groups_.size()) - 1;
}

void RunGroups::place()
{
    const std::vector<query::RunSummary>& runs = snapshot_->runs;
    groupOf_.assign(runs.size(), 0);
    const auto studyOf = [](std::string_view name) { return name.substr(0, name.find(kOfStudy)); };
    std::unordered_map<std::string_view, std::size_t> named; // how many runs
    for (const query::RunSummary& run : runs)
        if (!run.traits().isImported)
            ++named[run.name];
    std::map<std::string_view, std::size_t> sweeps; // of each study
    std::size_t grouped = 0;
    std::size_t names = 0;
    const auto isGroup = [&](const std::string& name, std::size_t count) {
        return count > 1 || studyOf(name).size() < name.size();
    };
    for (const auto& [name, count] : named)
        if (isGroup(std::string(name), count)) {
            ++sweeps[studyOf(name)];
            grouped += count;
            ++names;
        }
    if (names == 1 && grouped == runs.size())
        return;
    std::unordered_map<std::string_view, std::uint32_t> known; // groups by the names of their runs
    std::unordered_map<std::string_view, int> studies;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const query::RunSummary& run = runs[i];
        const auto size = named.find(run.name);
        if (run.traits().isImported || size == named.end() || !isGroup(run.name, size->second))
            continue;
        const auto [at, isNew] = known.try_emplace(run.name);
        if (isNew) {
            const std::string_view study = studyOf(run.name);
            QString name = QString::fromStdString(run.name);
            int parent = 0;
            if (study.size() < run.name.size() && sweeps[study] > 1) {
                const auto [entry, isNewStudy] = studies.try_emplace(study);
                if (isNewStudy)
                    entry->second = groupNamed(QString::fromUtf8(study.data(), qsizetype(study.size())), 0);
                parent = entry->second;
                name = QString::fromStdString(run.name.substr(study.size() + kOfStudy.size()));
            }
            at->second = std::uint32_t(groupNamed(name, parent));
        }
        groupOf_[i] = at->second;
    }
}

} // namespace tilescope::ui
