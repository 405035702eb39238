#include "core/base/spelling.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace tilescope {

namespace {

constexpr std::size_t kLongest = 64; // a longer word is not a typing error

std::string folded(std::string_view word)
{
    std::string text(word.substr(0, kLongest));
    for (char& character : text) {
        if (character >= 'A' && character <= 'Z')
            character = static_cast<char>(character - 'A' + 'a');
        else if (character == '-')
            character = '_';
    }
    return text;
}

/// Optimal string alignment distance: Levenshtein distance plus transpositions.
std::size_t distance(std::string_view a, std::string_view b)
{
    const std::size_t stride = b.size() + 1;
    std::vector<std::size_t> cost((a.size() + 1) * stride);
    for (std::size_t i = 0; i <= a.size(); ++i)
        cost[i * stride] = i;
    for (std::size_t j = 0; j <= b.size(); ++j)
        cost[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            std::size_t& here = cost[i * stride + j];
            here = std::min({cost[(i - 1) * stride + j] + 1, cost[i * stride + j - 1] + 1,
                             cost[(i - 1) * stride + j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                here = std::min(here, cost[(i - 2) * stride + j - 2] + 1);
        }
    return cost.back();
}

} // namespace

std::string_view nearestWord(std::string_view typed, std::span<const std::string_view> words)
{
    const std::string mine = folded(typed);
    std::string_view nearest;
    std::size_t best = std::numeric_limits<std::size_t>::max();
    for (const std::string_view word : words) {
        const std::string theirs = folded(word);
        // A prefix counts as one error: `envir` means environment.
        const bool begins = mine.size() >= 2 && mine.size() < theirs.size() && theirs.starts_with(mine);
        const std::size_t slips = begins ? 1 : distance(mine, theirs);
        if (slips <= std::max<std::size_t>(1, theirs.size() / 3) &&
            slips < std::max(mine.size(), theirs.size()) && slips < best) {
            best = slips;
            nearest = word;
        }
    }
    return nearest;
}

std::string didYouMean(std::string_view typed, std::span<const std::string_view> words)
{
    std::string text;
    if (const std::string_view nearest = nearestWord(typed, words); !nearest.empty())
        text = "did you mean '" + std::string(nearest) + "'? ";
    text += "allowed here: ";
    for (std::size_t i = 0; i < words.size(); ++i)
        text += (i ? ", " : "") + std::string(words[i]);
    return text;
}

} // namespace tilescope
