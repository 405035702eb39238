#include "core/config/wording.h"

#include "core/base/spelling.h"
#include "core/config/schema.h"
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

std::string asFlags(std::string remedy, std::string_view flag)
{
    const bool isSet = flag.starts_with("--set");
    for (const KeyInfo& key : keys()) {
        const std::string written = std::string(key.name) + ": ";
        const std::string typed = (isSet ? "--set " : "--") + std::string(key.name) + (isSet ? "=" : " ");
        for (std::size_t at = 0; (at = remedy.find(written, at)) != std::string::npos; at += typed.size()) {
            if (at > 0 && remedy[at - 1] != ' ') // the end of another word
                continue;
            remedy.replace(at, written.size(), typed);
        }
    }
    return remedy;
}

} // namespace tilescope::config
