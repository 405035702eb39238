#include "core/exchange/export/export_text.h"

#include "core/exchange/tables/text.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tilescope::exchange {

namespace {

constexpr std::string_view kDivisionSlash = "\u2215";

/// The length of a slash at the beginning of a text, 0 if there is none.
std::size_t slashAt(std::string_view text)
{
    if (text.starts_with('/'))
        return 1;
    return text.starts_with(kDivisionSlash) ? kDivisionSlash.size() : 0;
}

/// Whether a character cannot be part of a path in a name: paths stand in quotes, brackets, lists, or alone.
bool endsPath(char c)
{
    constexpr std::string_view kEnds = "\"'()<>[]{}|,;:=*?";
    return static_cast<unsigned char>(c) <= ' ' || kEnds.find(c) != std::string_view::npos;
}

/// The length of the next component of a path, without a slash.
std::size_t componentLength(std::string_view text)
{
    std::size_t length = 0;
    while (length < text.size() && !endsPath(text[length]) && slashAt(text.substr(length)) == 0)
        ++length;
    return length;
}

bool holdsHomes(std::string_view component)
{
    return component == "home" || component == "Users" || component == "users";
}

/// The length of the home folder that a path begins with; 0 if there is none.
/// \param path  begins with a slash
std::size_t homeLength(std::string_view path)
{
    std::string_view parent;
    std::size_t at = 0;
    bool isTop = true;
    for (std::size_t slash = 0; (slash = slashAt(path.substr(at))) > 0;) {
        const std::size_t length = componentLength(path.substr(at + slash));
        const std::string_view component = path.substr(at + slash, length);
        at += slash + length;
        if (length > 0 && (holdsHomes(parent) || (component == "root" && (isTop || parent == "var"))))
            return at;
        if (length > 0) {
            parent = component;
            isTop = false;
        }
    }
    return 0;
}

/// The length of this process's home folder at the beginning of a path; 0 if it begins otherwise.
std::size_t ownHomeLength(std::string_view path)
{
    const char* home = std::getenv("HOME"); // NOLINT(concurrency-mt-unsafe): nothing sets it
    const std::string_view own = home == nullptr ? "" : home;
    constexpr std::size_t kShortest = 3; // "/" and "//" are not folders of a user
    if (own.size() < kShortest || !own.starts_with('/') || own.ends_with('/') || !path.starts_with(own))
        return 0;
    const std::string_view rest = path.substr(own.size());
    return rest.empty() || endsPath(rest.front()) || slashAt(rest) > 0 ? own.size() : 0;
}

std::size_t pathLength(std::string_view path)
{
    std::size_t length = 0;
    while (length < path.size() && !endsPath(path[length]))
        ++length;
    return length;
}

} // namespace

std::string withoutHomes(std::string_view text)
{
    std::string clean;
    clean.reserve(text.size());
    bool mayBegin = true; // a slash within a word belongs to the path of a range: step/forward
    while (!text.empty()) {
        const std::size_t slash = slashAt(text);
        std::size_t length = slash;
        if (slash > 0 && mayBegin) {
            length = pathLength(text);
            const std::string_view path = text.substr(0, length);
            const std::size_t home = std::max(homeLength(path), ownHomeLength(path));
            clean += home > 0 ? "~" : "";
            clean += path.substr(home);
        } else if (slash > 0) {
            clean += text.substr(0, slash);
            mayBegin = true;
        } else {
            for (length = 1; length < text.size() && slashAt(text.substr(length)) == 0;)
                ++length;
            clean += text.substr(0, length);
            mayBegin = endsPath(text[length - 1]);
        }
        text.remove_prefix(length);
    }
    return clean;
}

std::string exportedText(std::string_view text, bool withIdentity)
{
    return validUtf8(withIdentity ? std::string(text) : withoutHomes(text));
}

const std::string& ExportTexts::operator()(StringId id)
{
    if (const auto found = texts_.find(id); found != texts_.end())
        return found->second;
    if (texts_.size() >= kMost)
        texts_.clear();
    std::string text = id ? exportedText(reader_.text(id), withIdentity_) : std::string();
    return texts_.emplace(id, std::move(text)).first->second;
}

} // namespace tilescope::exchange
