#include "core/config/wording.h"

#include "core/base/spelling.h"
#include "core/config/utf8.h"

#include <fmt/format.h>

namespace tilescope::config {

namespace {

constexpr std::size_t kShownCharacters = 40;

} // namespace

std::string shown(std::string_view text)
{
    const std::string printable = madePrintable(text, kShownCharacters);
    return "'" + printable + (characterCount(text) > kShownCharacters ? "…'" : "'");
}

std::string joined(std::span<const std::string> words)
{
    return fmt::format("{}", fmt::join(words, ", "));
}

std::string question(std::string_view typed, std::span<const std::string> words)
{
    const std::vector<std::string_view> views(words.begin(), words.end());
    const std::string_view near = nearestWord(typed, views);
    return near.empty() ? std::string() : "did you mean '" + std::string(near) + "'? ";
}

} // namespace tilescope::config
