#include "core/trace/host/code_places.h"

#include "core/trace/host/path_tree.h"

#include <algorithm>
#include <array>
#include <source_location>
#include <unordered_set>

namespace tilescope::trace {

namespace {

void removeAll(std::string& text, std::string_view part)
{
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
        text.erase(at, part.size());
}

/// The start of a signature's parameters, or its end if there are none, and the start of its name.
struct NameBounds {
    std::size_t begin = 0;
    std::size_t end = 0;
};

NameBounds nameIn(std::string_view signature)
{
    constexpr std::string_view kCall = "operator()";
    NameBounds name{.begin = 0, .end = signature.size()};
    int depth = 0; // of template arguments
    for (std::size_t i = 0; i < signature.size(); ++i) {
        const char character = signature[i];
        if (depth == 0 && signature.substr(i).starts_with(kCall)) {
            i += kCall.size() - 1;
        } else if (character == '<') {
            ++depth;
        } else if (character == '>') {
            --depth;
        } else if (depth == 0 && character == ' ') {
            name.begin = i + 1;
        } else if (depth == 0 && character == '(') {
            name.end = i;
            break;
        }
    }
    return name;
}

} // namespace

std::string_view fileInTree(std::string_view file)
{
    // The compiler sees a path relative to the root or to the build folder, and a compiler cache may replace
    // one with the other. Only the part within the source tree is kept.
    constexpr std::array<std::string_view, 4> kFolders{"/core/", "/kernels/", "/app/", "/tests/"};
    std::size_t begin = std::string_view::npos;
    for (const std::string_view folder : kFolders)
        if (const std::size_t found = file.rfind(folder); found != std::string_view::npos)
            begin = begin == std::string_view::npos ? found : std::max(begin, found);
    return begin == std::string_view::npos ? file : file.substr(begin + 1);
}

std::string functionName(std::string_view signature)
{
    std::string text(signature.substr(0, signature.find(" [with ")));
    removeAll(text, "{anonymous}::");           // GCC's
    removeAll(text, "(anonymous namespace)::"); // Clang's
    const NameBounds name = nameIn(text);
    return name.begin < name.end ? text.substr(name.begin, name.end - name.begin) : text;
}

std::vector<CodePlace> codePlaces(const std::vector<const PathNode*>& nodes)
{
    std::unordered_set<const PathNode*> seen;
    std::vector<CodePlace> places;
    for (const PathNode* node : nodes)
        for (; node && seen.insert(node).second; node = node->parent) {
            const std::source_location where = node->opened.load(std::memory_order_relaxed);
            if (where.line() == 0)
                continue;
            places.push_back({.path = node->path,
                              .file = std::string(fileInTree(where.file_name())),
                              .line = where.line(),
                              .function = functionName(where.function_name())});
        }
    std::ranges::sort(places, {}, &CodePlace::path);
    return places;
}

} // namespace tilescope::trace
