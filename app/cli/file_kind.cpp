#include "app/cli/file_kind.h"

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/output_file.h"
#include "core/base/units.h"

#include <array>
#include <cctype>
#include <stdexcept>
#include <string>
#include <utility>

namespace tilescope::cli {

namespace {

constexpr std::size_t kHead = 4096;
constexpr std::string_view kGzip = "\x1f\x8b";

bool has(std::string_view head, std::string_view text)
{
    return head.find(text) != std::string_view::npos;
}

bool isGzip(std::string_view head)
{
    return head.starts_with(kGzip);
}

bool isPage(std::string_view head)
{
    return (head.starts_with("<!doctype html") || head.starts_with("<!DOCTYPE html")) &&
           has(head, "Tilescope");
}

/// A packet of a trace: field 1 of the message, of the type bytes.
bool isPerfetto(std::string_view head)
{
    return head.starts_with('\x0a');
}

/// Within gzip what it holds is not looked at.
bool isTrace(std::string_view head)
{
    return isGzip(head) ||
           (head.starts_with('{') && (has(head, "\"traceEvents\"") || has(head, "\"schemaVersion\"")));
}

bool isSpeedscope(std::string_view head)
{
    return head.starts_with('{') && has(head, "speedscope");
}

/// The first line ends with a space and a number: "step;forward;gemm 1234".
bool isFolded(std::string_view head)
{
    const std::string_view line = head.substr(0, head.find('\n'));
    const std::size_t space = line.rfind(' ');
    if (space == std::string_view::npos || space + 1 == line.size() || space == 0)
        return false;
    for (const char c : line.substr(space + 1))
        if (std::isdigit(static_cast<unsigned char>(c)) == 0)
            return false;
    return true;
}

/// The first opcode of a pickle of protocol 2 or later.
bool isPickle(std::string_view head)
{
    return head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

bool isArrow(std::string_view /*head*/)
{
    return true; // a folder, which the exporter checks itself
}

constexpr auto kKinds = std::to_array<std::pair<std::string_view, FileKind>>({
    {"html", {"a page of tilescope share", isPage}},
    {"--perfetto", {"a Perfetto trace", isPerfetto}},
    {"--kineto", {"a trace in PyTorch's format", isTrace}},
    {"--arrow", {"a folder of Arrow files", isArrow}},
    {"--folded", {"folded stacks", isFolded}},
    {"--speedscope", {"a speedscope file", isSpeedscope}},
    {"--pprof", {"a pprof profile", isGzip}},
    {"--snapshot", {"a memory snapshot", isPickle}},
});

} // namespace

void requireSameKind(const std::filesystem::path& output, const FileKind& kind)
{
    std::error_code error;
    // Folders, devices and pipes are refused by who writes the output, with a reason of their own.
    if (!std::filesystem::is_regular_file(output, error) || std::filesystem::file_size(output, error) == 0 ||
        error)
        return;
    plainOutputPath(output); // a recording is not replaced, not even with --force
    if (kind.matches(readInputHead(output, Bytes{kHead}, "output")))
        return;
    throw Error{.what = "holds something else, not " + std::string(kind.name),
                .where = output.string(),
                .remedy = "choose another name, or add --force to replace the file",
                .kind = ErrorKind::Usage};
}

const FileKind& fileKind(std::string_view option)
{
    for (const auto& [name, kind] : kKinds)
        if (name == option)
            return kind;
    throw std::out_of_range(std::string(option));
}

} // namespace tilescope::cli
