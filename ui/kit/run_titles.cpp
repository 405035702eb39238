#include "ui/kit/run_titles.h"

#include "core/config/schema.h"
#include "core/config/value_text.h"
#include "core/model/attention_backend.h"
#include "ui/kit/program_title.h"

#include <QHash>
#include <QStringList>

#include <algorithm>

namespace tilescope::ui {

namespace {

// 4096 is 4k, 1000 stays 1000.
QString shortCount(const QString& number)
{
    const auto value = number.toLongLong();
    return value >= 1024 && value % 1024 == 0 ? QString::number(value / 1024) + QLatin1Char('k') : number;
}

// Keys that distinguish runs of one file, beside the backend and the columns of the list, the most telling first: where a
// title is too long, its middle is omitted.
constexpr const char* kPrecision = "precision"; // the list has a column for it
constexpr const char* kBackend = "backend";
constexpr const char* kSeqLen = "seq_len";
constexpr const char* kName = "name";
// A key that titles mention, with what stands for it before a number in short ones.
struct Telling {
    std::string_view key;
    std::string_view letters;
};

const std::vector<Telling>& tellingKeys()
{
    static const std::vector<Telling> all = [] {
        std::vector<Telling> found;
        for (const std::string_view key : config::keysBy(&config::KeyUse::title))
            found.push_back({key, config::findKey(key)->use.letters});
        return found;
    }();
    return all;
}

// batch 4, but train, graph and ddp without their keys; empty if the value means that something is off.
QString telling(const Telling& telling, std::string_view value, bool isShort)
{
    const std::string_view key = telling.key;
    if (value == "none" || value == "false" || value.empty())
        return {};
    if (value == "true")
        return QString::fromUtf8(key);
    if (const std::string text = config::valueText(key, value); text != value)
        return QString::fromStdString(text); // 25 MiB
    const bool number = value.find_first_not_of("0123456789.") == std::string_view::npos;
    if (number && isShort)
        return QString::fromUtf8(telling.letters) + shortCount(QString::fromUtf8(value));
    return number ? QString::fromUtf8(key).replace(QLatin1Char('_'), QLatin1Char(' ')) + QLatin1Char(' ') +
                        shortCount(QString::fromUtf8(value))
                  : QString::fromUtf8(value);
}

// Keys that follow from another key or have no effect are left out.
bool isImplied(std::string_view key, const query::RunSummary& run)
{
    if (key == "kv_heads")
        return run.param(key) == run.param("heads");
    const BackendTraits* backend = findBackend(run.param("backend"));
    return key.substr(0, 5) == "tile_" && !(backend && backend->hasTiles);
}

} // namespace

RunTitles::RunTitles(const query::FileSnapshot& runs)
{
    std::vector<const query::RunSummary*> all;
    for (const query::RunSummary& run : runs.runs)
        all.push_back(&run);
    *this = RunTitles(all);
}

RunTitles::RunTitles(const std::vector<const query::RunSummary*>& runs)
{
    for (const query::RunSummary* run : runs)
        add(*run);
    findRedundant(runs);
}

// Leaves out one key after the other, the last first, while as many different titles remain.
void RunTitles::findRedundant(const std::vector<const query::RunSummary*>& runs)
{
    constexpr std::size_t kMostRuns = 2'000; // every key that varies takes a title a run
    if (runs.size() > kMostRuns)
        return;
    const auto countOf = [](std::vector<std::size_t> titles) {
        std::sort(titles.begin(), titles.end());
        return std::unique(titles.begin(), titles.end()) - titles.begin();
    };
    for (auto& [workload, group] : groups_) {
        std::vector<const query::RunSummary*> members;
        for (const query::RunSummary* run : runs)
            if (run->workload == workload)
                members.push_back(run);
        std::vector<std::size_t> titles;
        for (const query::RunSummary* run : members)
            titles.push_back(qHash(titleOf(*run, true, Length::Short)));
        const auto all = countOf(titles);
        for (std::size_t i = tellingKeys().size(); i-- > 0;) {
            const Telling& one = tellingKeys()[i];
            if (!group.varying.contains(one.key))
                continue;
            group.redundant.insert(one.key);
            for (std::size_t run = 0; run < members.size(); ++run)
                titles[run] = qHash(titleOf(*members[run], true, Length::Short));
            if (countOf(titles) < all)
                group.redundant.erase(one.key);
        }
    }
}

void RunTitles::add(const query::RunSummary& run)
{
    Group& group = groups_[run.workload];
    if (group.first == nullptr)
        group.first = &run;
    for (const Telling& one : tellingKeys())
        if (run.param(one.key) != group.first->param(one.key))
            group.varying.insert(one.key);
    for (const char* key : {kPrecision, kBackend, kSeqLen})
        if (run.param(key) != group.first->param(key))
            group.varying.insert(key);
    if (run.name != group.first->name)
        group.varying.insert(kName);
}

QString RunTitles::of(const query::RunSummary& run, bool withPrecision) const
{
    return titleOf(run, withPrecision, Length::Long);
}

QString RunTitles::shortOf(const query::RunSummary& run, bool withPrecision) const
{
    return titleOf(run, withPrecision, Length::Short);
}

QString RunTitles::briefOf(const query::RunSummary& run, bool withPrecision) const
{
    const QString brief = titleOf(run, withPrecision, Length::Brief);
    return brief.isEmpty() ? shortOf(run, withPrecision) : brief;
}

QString RunTitles::variedOf(const query::RunSummary& run, bool withPrecision) const
{
    for (const bool precision : {withPrecision, true})
        if (const QString varied = titleOf(run, precision, Length::Varied); !varied.isEmpty())
            return varied;
    return of(run, withPrecision);
}

QString RunTitles::titleOf(const query::RunSummary& run, bool withPrecision, Length length) const
{
    const bool isShort = length == Length::Short || length == Length::Brief;
    const bool isVaried = length == Length::Brief || length == Length::Varied;
    const auto group = groups_.find(run.workload);
    const auto isNamed = [&](const char* key) {
        return !isVaried || group == groups_.end() || group->second.varying.contains(key);
    };
    QStringList words;
    const QString backend = QString::fromUtf8(run.param(kBackend));
    if (backend.isEmpty() && (length != Length::Varied || isNamed(kName)))
        words << QString::fromStdString(run.traits().isImported ? programTitle(run.name) : run.name);
    else if (!backend.isEmpty() && isNamed(kBackend))
        words << backend;
    if (run.workload == "attention" && isNamed(kSeqLen)) {
        if (length == Length::Varied && words.isEmpty())
            words << QStringLiteral("N"); // a number alone says nothing
        words << shortCount(QString::fromUtf8(run.param(kSeqLen)));
    }
    if (group != groups_.end()) {
        for (const Telling& one : tellingKeys())
            if (group->second.varying.contains(one.key) && !isImplied(one.key, run) &&
                !(length != Length::Long && group->second.redundant.contains(one.key)))
                words << telling(one, run.param(one.key), isShort);
        if (withPrecision && group->second.varying.contains(kPrecision))
            words << QString::fromUtf8(run.param(kPrecision));
    }
    words.removeAll(QString());
    return words.join(QLatin1Char(' '));
}

} // namespace tilescope::ui
