#include "core/base/search_path.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace tilescope {

namespace fs = std::filesystem;

namespace {

/// Calls `use` with each element, empty ones included.
template <class Use> void forEachElement(std::string_view searchPath, std::string_view separators, Use use)
{
    while (true) {
        const std::size_t end = std::min(searchPath.find_first_of(separators), searchPath.size());
        use(searchPath.substr(0, end));
        if (end == searchPath.size())
            return;
        searchPath.remove_prefix(end + 1);
    }
}

/// The dynamic linker replaces $ORIGIN by the folder of the program or library.
bool isAbsolute(std::string_view element)
{
    return element.starts_with('/') || element.starts_with("$ORIGIN") || element.starts_with("${ORIGIN}");
}

} // namespace

std::string withoutRelativeElements(std::string_view searchPath, std::string_view separators)
{
    std::string kept;
    forEachElement(searchPath, separators, [&](std::string_view element) {
        if (isAbsolute(element))
            kept.append(kept.empty() ? "" : ":").append(element);
    });
    return kept;
}

fs::path findProgram(std::string_view name)
{
    if (name.find('/') != std::string_view::npos)
        return name;
    const char* variable = std::getenv("PATH");
    fs::path found;
    forEachElement(variable ? variable : "/bin:/usr/bin", ":", [&](std::string_view element) {
        const fs::path program = fs::path(element) / name;
        std::error_code unreadable;
        if (found.empty() && element.starts_with('/') && fs::is_regular_file(program, unreadable) &&
            access(program.c_str(), X_OK) == 0)
            found = program;
    });
    return found;
}

} // namespace tilescope
