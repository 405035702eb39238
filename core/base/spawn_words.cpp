#include "core/base/spawn_words.h"

#include "core/base/search_path.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

extern char** environ;

namespace tilescope {

namespace {

/// Variables and what separates their elements.
constexpr std::array<std::pair<const char*, std::string_view>, 3> kSearchPaths{
    {{"PATH", ":"}, {"LD_LIBRARY_PATH", ":;"}, {"PYTHONPATH", ":"}}};

bool isSearchPath(const std::string& name)
{
    return std::ranges::any_of(kSearchPaths, [&](const auto& each) { return name == each.first; });
}

} // namespace

std::vector<char*> pointersTo(std::vector<std::string>& words)
{
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> environmentWith(const std::map<std::string, std::string>& given)
{
    std::map<std::string, std::string> changes = given;
    for (const auto& [name, separators] : kSearchPaths)
        if (const char* value = std::getenv(name); value && !changes.contains(name))
            changes.emplace(name, withoutRelativeElements(value, separators));
    std::vector<std::string> variables;
    for (char** entry = environ; *entry; ++entry) {
        const std::string text = *entry;
        if (!changes.contains(text.substr(0, text.find('='))))
            variables.push_back(text);
    }
    for (const auto& [name, value] : changes)
        // An empty search path means the current folder.
        if (!value.empty() || !isSearchPath(name))
            variables.push_back(name + "=" + value);
    return variables;
}

} // namespace tilescope
