#include "app/cli/drawing.h"

#include "core/base/output_file.h"
#include "core/base/paths.h"
#include "core/session/supervisor/child_process.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kPatience{300}; // also sufficient on a busy machine

/// Output and exit status of a program, which is killed if it takes too long.
struct Ended {
    bool well = false;
    std::string said;
};

/// Reads the available bytes; false if the other end is closed.
bool takeFrom(const FileDescriptor& pipe, std::string& into)
{
    std::array<char, 4096> buffer{};
    const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
    if (got > 0)
        into.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

Ended runToItsEnd(const fs::path& program, const std::vector<std::string>& arguments)
{
    session::ChildProcess child(program, arguments, {});
    child.input.reset();
    Ended ended;
    const auto until = std::chrono::steady_clock::now() + kPatience;
    std::string ignored;
    bool open = true;
    while (open && std::chrono::steady_clock::now() < until) {
        std::array<pollfd, 2> waited{pollfd{child.error.get(), POLLIN, 0},
                                     pollfd{child.output.get(), POLLIN, 0}};
        ::poll(waited.data(), waited.size(), 100);
        const bool error = takeFrom(child.error, ended.said);
        const bool output = takeFrom(child.output, ignored);
        open = error || output;
    }
    // The program has closed its pipes and ends within moments.
    std::optional<session::ExitStatus> status;
    while (!(status = child.ended()) && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ended.well = status && status->signal == 0 && status->code == 0;
    if (!status)
        ended.said = "it took more than five minutes";
    else if (ended.said.empty() && !ended.well)
        ended.said = status->text();
    return ended;
}

std::string textOf(const fs::path& file)
{
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
}

/// For the format that embeds it: the drawing, or its picture where a timeline with thousands of boxes makes that the
/// smaller one.
report::Drawings::Image imageOf(const fs::path& folder, const std::string& id)
{
    constexpr std::size_t kLargeDrawing = 400'000; // bytes
    std::string svg = textOf(folder / (id + ".svg"));
    if (svg.size() > kLargeDrawing)
        if (std::string png = textOf(folder / (id + ".png")); !png.empty() && png.size() < svg.size())
            return {"image/png", std::move(png)};
    return {"image/svg+xml", std::move(svg)};
}

/// The first line of a figure's caption file; the second one is about the machine.
std::string captionOf(const fs::path& folder, const std::string& id)
{
    const std::string caption = textOf(folder / (id + ".caption.txt"));
    return caption.substr(0, caption.find('\n'));
}

/// The program's last sentence; earlier lines are warnings.
std::string lastLine(std::string text)
{
    while (text.ends_with('\n'))
        text.pop_back();
    return text.substr(text.rfind('\n') + 1);
}

} // namespace

report::Drawings drawFigures(report::Document& document, const fs::path& folder)
{
    report::Drawings drawings;
    const fs::path window = siblingProgram("TILESCOPE_GUI", "tilescope-gui");
    std::error_code none;
    if (!fs::exists(window, none)) {
        drawings.whyNone = "charts need tilescope-gui, which is not installed here";
        return drawings;
    }
    for (report::Section& section : document.sections)
        for (report::Figure& figure : section.figures) {
            const fs::path recipe = folder / (figure.id + ".json");
            writeOutput(recipe, figure.recipe + "\n");
            std::vector<std::string> arguments{"--charts", recipe.string(), "-o", folder.string()};
            arguments.insert(arguments.end(), figure.files.begin(), figure.files.end());
            const Ended ended = runToItsEnd(window, arguments);
            if (ended.well) {
                drawings.images.emplace(figure.id, imageOf(folder, figure.id));
                figure.drawn = captionOf(folder, figure.id);
            } else
                drawings.whyNone = lastLine(ended.said);
        }
    return drawings;
}

} // namespace tilescope::cli
