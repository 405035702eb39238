#include "ui/window/run_filter.h"

#include "core/config/schema.h"
#include "core/model/text.h"
#include "ui/kit/natural_order.h"

#include <algorithm>
#include <unordered_map>

namespace tilescope::ui {

namespace {

// What the list of runs is filtered by.
std::vector<std::string_view> facetWords()
{
    std::vector<std::string_view> names{"status", "study", "sweep"};
    for (const std::string_view key : config::keysBy(&config::KeyUse::filter))
        names.push_back(key);
    names.insert(names.end(), {"flags", "tag"});
    return names;
}

constexpr std::string_view kOfStudy = ": ";

char smallLetter(char c)
{
    return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
}

bool equal(char a, char b)
{
    return smallLetter(a) == b;
}

// `small` has small letters only.
bool startsWith(std::string_view text, std::string_view small)
{
    return text.size() >= small.size() &&
           std::equal(small.begin(), small.end(), text.begin(), [](char s, char t) { return equal(t, s); });
}

bool isEqual(std::string_view text, std::string_view small)
{
    return text.size() == small.size() && startsWith(text, small);
}

bool contains(std::string_view text, std::string_view small)
{
    return std::search(text.begin(), text.end(), small.begin(), small.end(), equal) != text.end() ||
           small.empty();
}

// The value of a key; flags are looked at one by one elsewhere.
std::string_view filterValueOf(const query::RunSummary& run, std::string_view key)
{
    if (key == "status")
        return wordOf(run.result.status);
    const std::string_view name = run.name;
    const std::size_t colon = name.find(kOfStudy);
    if (key == "study")
        return colon == std::string_view::npos ? std::string_view() : name.substr(0, colon);
    if (key == "sweep")
        return colon == std::string_view::npos ? name : name.substr(colon + kOfStudy.size());
    if (key == "workload")
        return run.workload;
    if (key == "device")
        return run.result.device;
    if (key == "tag")
        return run.tag;
    if (key == "note")
        return run.note;
    return run.param(key);
}

// A key that may be in front of a colon.
bool isKey(std::string_view key)
{
    return !key.empty() && std::ranges::all_of(key, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
}

QString quoted(const QString& text)
{
    return text.contains(QLatin1Char(' ')) || text.contains(QLatin1Char(','))
               ? QLatin1Char('"') + text + QLatin1Char('"')
               : text;
}

// The words of a filter, with the commas between values as a control character.
constexpr char kBetween = '\x1f';

std::vector<std::string> wordsOf(const QString& filter)
{
    std::vector<std::string> words;
    std::string word;
    bool isQuoted = false;
    bool isWord = false;
    for (const char c : filter.toStdString()) {
        if (c == '"') {
            isQuoted = !isQuoted;
            isWord = true;
        } else if (c == ' ' && !isQuoted) {
            if (isWord)
                words.push_back(std::exchange(word, {}));
            isWord = false;
        } else {
            word += c == ',' && !isQuoted ? kBetween : smallLetter(c);
            isWord = true;
        }
    }
    if (isWord)
        words.push_back(word);
    return words;
}

} // namespace

std::vector<RunFilter::Term> RunFilter::parse(const QString& words)
{
    std::vector<Term> terms;
    for (std::string& word : wordsOf(words)) {
        Term term;
        const std::size_t sign = word.find_first_of(":=");
        if (sign != std::string::npos && isKey(std::string_view(word).substr(0, sign))) {
            term.key = word.substr(0, sign);
            term.isWhole = word[sign] == '=';
            word.erase(0, sign + 1);
        }
        for (std::size_t from = 0; from <= word.size();) {
            const std::size_t to = std::min(word.find(kBetween, from), word.size());
            term.values.push_back(word.substr(from, to - from));
            from = to + 1;
        }
        terms.push_back(std::move(term));
    }
    return terms;
}

QString RunFilter::text(const std::vector<Term>& terms)
{
    QStringList words;
    for (const Term& term : terms) {
        QStringList values;
        for (const std::string& value : term.values)
            values << quoted(QString::fromStdString(value));
        const QString key = QString::fromStdString(term.key);
        const QString sign = term.key.empty() ? QString() : QString(QLatin1Char(term.isWhole ? '=' : ':'));
        words << key + sign + values.join(QLatin1Char(','));
    }
    return words.join(QLatin1Char(' '));
}

RunFilter::RunFilter(const QString& words) : terms_(parse(words)) {}

bool RunFilter::matches(const query::RunSummary& run) const
{
    return std::ranges::all_of(terms_, [&run](const Term& term) { return matches(run, term); });
}

bool RunFilter::matches(const query::RunSummary& run, const Term& term)
{
    const auto any = [&term](auto&& holds) { return std::ranges::any_of(term.values, holds); };
    if (!term.key.empty()) {
        const auto fits = [&](std::string_view value) {
            return any([&](const std::string& wanted) {
                return term.isWhole ? isEqual(value, wanted) : startsWith(value, wanted);
            });
        };
        if (term.key == "flags")
            return std::ranges::any_of(run.result.flags, fits);
        return fits(filterValueOf(run, term.key));
    }
    return any([&run](const std::string& wanted) {
        if (wanted.starts_with('#'))
            return std::to_string(run.run.value) == std::string_view(wanted).substr(1);
        for (const char* key : {"status", "workload", "device", "tag", "note"})
            if (contains(filterValueOf(run, key), wanted))
                return true;
        if (contains(run.name, wanted))
            return true;
        for (const auto& [key, value] : run.params) {
            const bool isOff = value.empty() || value == "none" || value == "false";
            if (!isOff && (contains(value, wanted) || contains(key, wanted)))
                return true;
        }
        return false;
    });
}

bool RunFilter::has(const QString& words, const QString& key, const QString& value)
{
    const std::string wanted = value.toLower().toStdString();
    return std::ranges::any_of(parse(words), [&](const Term& term) {
        return term.isWhole && term.key == key.toStdString() &&
               std::ranges::find(term.values, wanted) != term.values.end();
    });
}

QString RunFilter::toggled(const QString& words, const QString& key, const QString& value)
{
    std::vector<Term> terms = parse(words);
    const std::string wanted = value.toLower().toStdString();
    const auto known = std::ranges::find_if(
        terms, [&key](const Term& term) { return term.isWhole && term.key == key.toStdString(); });
    if (known == terms.end())
        terms.push_back({key.toStdString(), {wanted}, true});
    else if (std::erase(known->values, wanted) == 0)
        known->values.push_back(wanted);
    else if (known->values.empty())
        terms.erase(known);
    return text(terms);
}

std::vector<RunFacet> facetsOf(const std::vector<const query::FileSnapshot*>& files)
{
    constexpr std::size_t kMostValues = 40;
    std::vector<RunFacet> facets;
    const QCollator order = naturalOrder();
    for (const std::string_view key : facetWords()) {
        std::unordered_map<std::string_view, std::size_t> counts;
        const bool isFlags = std::string_view(key) == "flags";
        for (const query::FileSnapshot* file : files)
            for (const query::RunSummary& run : file->runs) {
                if (isFlags)
                    for (const std::string& flag : run.result.flags)
                        ++counts[flag];
                else if (const std::string_view value = filterValueOf(run, key); !value.empty())
                    ++counts[value];
            }
        if (counts.size() < (isFlags || std::string_view(key) == "tag" ? 1 : 2) ||
            counts.size() > kMostValues)
            continue;
        RunFacet& facet = facets.emplace_back();
        facet.key = QString::fromLatin1(key);
        for (const auto& [value, count] : counts)
            facet.values.emplace_back(QString::fromUtf8(value.data(), qsizetype(value.size())), count);
        std::ranges::sort(facet.values,
                          [&order](const auto& a, const auto& b) { return order(a.first, b.first); });
    }
    return facets;
}

std::vector<std::pair<QString, QString>> facetValues(const query::RunSummary& run)
{
    std::vector<std::pair<QString, QString>> values;
    for (const std::string_view key : facetWords()) {
        const std::string_view value = std::string_view(key) != "flags" ? filterValueOf(run, key)
                                       : run.result.flags.empty()
                                           ? std::string_view()
                                           : std::string_view(run.result.flags.front());
        if (!value.empty())
            values.emplace_back(QString::fromLatin1(key),
                                QString::fromUtf8(value.data(), qsizetype(value.size())));
    }
    return values;
}

} // namespace tilescope::ui
