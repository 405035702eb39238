#include "core/exchange/tables/stack_frames.h"

#include "core/analysis/memory/library_frame.h"

#include <algorithm>
#include <charconv>

namespace tilescope::exchange {

namespace {

using analysis::withSlashes;

SnapshotFrame frameOf(std::string_view component)
{
    // `file:line:name`: the line is the first number between two colons; C++ names have colons too.
    for (std::size_t colon = component.find(':'); colon != std::string_view::npos;
         colon = component.find(':', colon + 1)) {
        const std::size_t second = component.find(':', colon + 1);
        if (second == std::string_view::npos)
            break;
        std::int64_t line = 0;
        const char* const begin = component.data() + colon + 1;
        const char* const end = component.data() + second;
        if (const auto parsed = std::from_chars(begin, end, line);
            begin != end && parsed.ec == std::errc{} && parsed.ptr == end)
            return {withSlashes(component.substr(second + 1)), withSlashes(component.substr(0, colon)), line};
    }
    return {withSlashes(component), {}, 0};
}

} // namespace

std::vector<SnapshotFrame> framesOf(std::string_view path)
{
    std::vector<SnapshotFrame> frames;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        frames.push_back(frameOf(path.substr(0, slash)));
        path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
    }
    std::ranges::reverse(frames);
    return frames;
}

ReadableStack userFramesFirst(std::string_view path)
{
    ReadableStack stack{.frames = framesOf(path)};
    const auto hasPlace = [](const SnapshotFrame& frame) { return !frame.file.empty(); };
    if (std::ranges::none_of(stack.frames, hasPlace))
        return {};
    const auto libraries =
        std::stable_partition(stack.frames.begin(), stack.frames.end(), [](const SnapshotFrame& frame) {
            return !analysis::isLibraryFrame(frame.name, frame.file);
        });
    stack.own = static_cast<std::size_t>(libraries - stack.frames.begin());
    return stack;
}

std::string shownFrame(const SnapshotFrame& frame)
{
    if (frame.file.empty() || frame.file == "??")
        return frame.name;
    std::string_view file = frame.file;
    for (const std::string_view folder : {"site-packages/", "dist-packages/"})
        if (file.starts_with(folder))
            file.remove_prefix(folder.size());
    return std::string(file) + ":" + std::to_string(frame.line) + " " + frame.name;
}

std::string stackName(std::string_view path)
{
    const auto shortFrame = [](SnapshotFrame frame) {
        frame.file.erase(0, frame.file.rfind('/') + 1);
        return shownFrame(frame);
    };
    const ReadableStack stack = userFramesFirst(path);
    if (stack.frames.empty())
        return {};
    const std::string innermost = shortFrame(framesOf(path).front());
    const std::string own = shortFrame(stack.frames.front());
    return stack.own == 0 || own == innermost ? innermost : own + " → " + innermost;
}

std::string stackLine(std::string_view path)
{
    const ReadableStack stack = userFramesFirst(path);
    if (stack.frames.empty())
        return std::string(path);
    std::string line;
    for (std::size_t i = 0; i < stack.frames.size(); ++i) {
        if (i == stack.own)
            line += i == 0 ? "library: " : "; library: ";
        else if (i > 0)
            line += " < ";
        line += shownFrame(stack.frames[i]);
    }
    return line;
}

} // namespace tilescope::exchange
