#include "core/query/runs/run_list.h"

#include "core/base/plural.h"
#include "core/model/text.h"
#include "core/query/runs/json_members.h"

#include <algorithm>
#include <unordered_map>

namespace tilescope::query {

namespace {

/// Groups runs by the first reason for which they failed.
class Reasons {
public:
    void add(RunId run, const std::string& reason)
    {
        const auto known = places_.find(reason);
        if (known != places_.end()) {
            reasons_[known->second].second.push_back(run);
        } else if (reasons_.size() == kMost) {
            ++others_;
        } else {
            places_.emplace(reason, reasons_.size());
            reasons_.push_back({reason, {run}});
        }
    }

    std::vector<std::string> sentences() const
    {
        std::vector<std::string> sentences;
        for (const auto& [reason, runs] : reasons_)
            sentences.push_back((runs.size() == 1 ? "Run " : "Runs ") + listOf(runs) + ": " + reason);
        if (others_ > 0)
            sentences.push_back(counted(static_cast<std::int64_t>(others_), "more run") +
                                " did not end well; --format json gives the " +
                                plural(static_cast<std::int64_t>(others_), "reason"));
        return sentences;
    }

private:
    static constexpr std::size_t kMost = 20;
    std::vector<std::pair<std::string, std::vector<RunId>>> reasons_;
    std::unordered_map<std::string, std::size_t> places_;
    std::size_t others_ = 0;
};

std::string withoutQuotes(std::string_view text)
{
    const bool isQuoted = text.size() >= 2 && text.starts_with('"');
    return std::string(isQuoted ? text.substr(1, text.size() - 2) : text);
}

/// Whether the key has its own column in a list of runs.
bool standsBeside(std::string_view key)
{
    return key == "name" || key == "workload";
}

/// The keys of a spec with their values as display texts.
config::KeyTexts textsOf(std::string_view spec)
{
    config::KeyTexts texts;
    JsonMembers members(spec);
    while (const auto member = members.next())
        texts.emplace_back(withoutQuotes(member->first), withoutQuotes(member->second));
    return texts;
}

} // namespace

RunList::RunList(const store::RunReader& reader, std::optional<RunId> run, Survey survey) : reader_(reader)
{
    reader.atOnce([&] { lookAtAll(run, survey); });
}

void RunList::lookAtAll(std::optional<RunId> run, Survey survey)
{
    if (run) {
        page_ = runs(reader_, run).rows;
        ids_ = {*run};
    }
    if (survey == Survey::None) {
        if (!run)
            ids_ = reader_.runIds();
        return;
    }
    Reasons reasons;
    const auto look = [&](const store::RunRecord& record) {
        varying_.add(textsOf(record.specJson));
        anyFlags_ = anyFlags_ || !record.result.flags.empty();
        if (record.result.status != RunStatus::Ok && !record.result.reason.empty())
            reasons.add(record.run, record.result.reason);
    };
    if (run)
        look(page_.front().record);
    else
        reader_.eachRun([&](store::RunRecord&& record) {
            ids_.push_back(record.run);
            look(record);
            return true;
        });
    anyVarying_ =
        std::ranges::any_of(varying_.keys(), [](const std::string& key) { return !standsBeside(key); });
    reasons_ = reasons.sentences();
    for (const Phase phase : reader_.timedPhases())
        timedPhases_.push_back(phase);
    std::ranges::sort(timedPhases_);
}

config::KeyTexts RunList::varying(const store::RunRecord& run) const
{
    config::KeyTexts values = varying_.of(textsOf(run.specJson));
    std::erase_if(values, [](const auto& value) { return standsBeside(value.first); });
    return values;
}

const RunRow& RunList::operator[](std::size_t row) const
{
    if (row < pageFrom_ || row - pageFrom_ >= page_.size()) {
        const std::size_t from = row / kPage * kPage;
        const std::size_t last = std::min(from + kPage, ids_.size()) - 1;
        page_ = runs(reader_, ids_[from], ids_[last]);
        pageFrom_ = from;
        ++pagesRead_;
    }
    return page_.at(row - pageFrom_);
}

} // namespace tilescope::query
