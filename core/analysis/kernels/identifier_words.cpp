#include "core/analysis/kernels/identifier_words.h"

#include <algorithm>
#include <cctype>

namespace tilescope::analysis {

namespace {

constexpr std::size_t kMostLetters = 512;

enum class Letter { None, Lower, Upper, Digit };

Letter letterOf(char c)
{
    const auto character = static_cast<unsigned char>(c);
    if (std::isdigit(character) != 0)
        return Letter::Digit;
    if (std::isupper(character) != 0)
        return Letter::Upper;
    return std::islower(character) != 0 ? Letter::Lower : Letter::None;
}

} // namespace

IdentifierWords::IdentifierWords(std::string_view identifier)
{
    identifier = identifier.substr(0, kMostLetters);
    letters_.reserve(identifier.size());
    Letter last = Letter::None;
    for (std::size_t i = 0; i < identifier.size(); ++i) {
        const Letter letter = letterOf(identifier[i]);
        if (letter != Letter::None) {
            const Letter next = i + 1 < identifier.size() ? letterOf(identifier[i + 1]) : Letter::None;
            // RMSNorm: the last letter of a run of capitals begins the next word.
            const bool begins = letter == Letter::Upper
                                    ? last != Letter::Upper || next == Letter::Lower
                                    : letter != last && !(letter == Letter::Lower && last == Letter::Upper);
            borders_.push_back(begins);
            letters_ += static_cast<char>(std::tolower(static_cast<unsigned char>(identifier[i])));
        }
        last = letter;
    }
    borders_.push_back(true);
    leaveOut("gemma");
}

void IdentifierWords::leaveOut(std::string_view word)
{
    for (std::size_t at = letters_.find(word); at != std::string::npos; at = letters_.find(word, at)) {
        const std::size_t end = at + word.size();
        const auto borders = borders_.begin() + static_cast<std::ptrdiff_t>(at);
        if (!borders_[at] || !borders_[end] ||
            std::find(borders + 1, borders + static_cast<std::ptrdiff_t>(word.size()), true) !=
                borders + static_cast<std::ptrdiff_t>(word.size())) {
            at = end;
            continue;
        }
        letters_.erase(at, word.size());
        borders_.erase(borders, borders + static_cast<std::ptrdiff_t>(word.size()));
    }
}

bool IdentifierWords::contain(std::string_view pattern) const
{
    const auto take = [&pattern](bool matches, bool atFront) {
        if (matches)
            atFront ? pattern.remove_prefix(1) : pattern.remove_suffix(1);
        return matches;
    };
    const bool isFirst = take(pattern.starts_with('^'), true);
    const bool isLast = take(pattern.ends_with('$'), false);
    const bool openLeft = take(pattern.starts_with('*'), true);
    const bool openRight = take(pattern.ends_with('*'), false);
    if (pattern.empty())
        return false;
    for (std::size_t at = letters_.find(pattern); at != std::string::npos;
         at = letters_.find(pattern, at + 1)) {
        const std::size_t end = at + pattern.size();
        if ((openLeft || borders_[at]) && (openRight || borders_[end]) && (!isFirst || at == 0) &&
            (!isLast || end == letters_.size()))
            return true;
    }
    return false;
}

} // namespace tilescope::analysis
