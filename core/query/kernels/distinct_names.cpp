#include "core/query/kernels/distinct_names.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_map>

namespace tilescope::query {

namespace {

constexpr std::size_t kMostWords = 3;             // of a full name in brackets
constexpr std::size_t kMostCharacters = 24;       // of such a word
constexpr std::size_t kMostNameCharacters = 2048; // of a full name that are compared

/// Identifiers and numbers, in order. Underscores separate the parts of names that encode parameters.
std::vector<std::string_view> wordsOf(std::string_view name)
{
    name = name.substr(0, kMostNameCharacters);
    std::vector<std::string_view> words;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= name.size(); ++i) {
        const bool isWord = i < name.size() && std::isalnum(static_cast<unsigned char>(name[i])) != 0;
        if (isWord)
            continue;
        if (i > begin)
            words.push_back(name.substr(begin, i - begin));
        begin = i + 1;
    }
    return words;
}

/// Kernels with equal shown names.
class EqualNames {
public:
    explicit EqualNames(std::vector<const ShownName*> names)
        : names_(std::move(names)), details_(names_.size())
    {
        for (const ShownName* name : names_)
            words_.push_back(wordsOf(name->full));
    }

    void tellApart()
    {
        std::size_t longest = 0;
        for (const auto& words : words_)
            longest = std::max(longest, words.size());
        std::size_t used = 0;
        for (std::size_t place = 0; place < longest && used < kMostWords && !areDistinct(); ++place)
            used += append(place) ? 1 : 0;
        number();
        for (std::size_t i = 0; i < names_.size(); ++i)
            if (!details_[i].empty())
                *names_[i]->shown += " (" + details_[i] + ")";
    }

private:
    std::string_view wordAt(std::size_t name, std::size_t place) const
    {
        return place < words_[name].size() ? words_[name][place].substr(0, kMostCharacters)
                                           : std::string_view();
    }

    /// Whether the words at a place tell more names apart; then they are appended.
    bool append(std::size_t place)
    {
        std::set<std::pair<std::string, std::string_view>> with;
        std::set<std::string> without(details_.begin(), details_.end());
        for (std::size_t i = 0; i < names_.size(); ++i)
            with.emplace(details_[i], wordAt(i, place));
        if (with.size() <= without.size())
            return false;
        for (std::size_t i = 0; i < names_.size(); ++i) {
            const std::string_view word = wordAt(i, place);
            if (!word.empty() && !details_[i].empty())
                details_[i] += ' ';
            details_[i] += word;
        }
        return true;
    }

    bool areDistinct() const
    {
        return std::set<std::string>(details_.begin(), details_.end()).size() == details_.size();
    }

    /// Numbers those that are still equal.
    void number()
    {
        std::unordered_map<std::string, int> seen;
        for (std::string& detail : details_) {
            const int count = ++seen[detail];
            if (count > 1)
                detail += (detail.empty() ? "#" : " #") + std::to_string(count);
        }
    }

    std::vector<const ShownName*> names_;
    std::vector<std::vector<std::string_view>> words_;
    std::vector<std::string> details_;
};

} // namespace

void makeDistinct(std::span<const ShownName> names)
{
    std::unordered_map<std::string_view, std::vector<const ShownName*>> groups;
    for (const ShownName& name : names)
        groups[*name.shown].push_back(&name);
    std::vector<EqualNames> equal;
    for (auto& [shown, group] : groups)
        if (group.size() > 1)
            equal.emplace_back(std::move(group));
    groups.clear(); // its keys change
    for (EqualNames& each : equal)
        each.tellApart();
}

} // namespace tilescope::query
