#include "core/exchange/import/snapshot_frames.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>

namespace tilescope::exchange {

namespace {

constexpr std::string_view kSlash = "\xe2\x88\x95"; // U+2215
/// Longer names are cut: the end of a C++ template is least informative.
constexpr std::size_t kMostLength = 300;

std::string withoutSlashes(std::string_view text)
{
    std::string result;
    for (const char character : text)
        if (character == '/')
            result += kSlash;
        else
            result += character;
    return result;
}

std::string withSlashes(std::string_view text)
{
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const bool isSlash = text.substr(at).starts_with(kSlash);
        result += isSlash ? '/' : text[at];
        at += isSlash ? kSlash.size() : 1;
    }
    return result;
}

std::string_view withoutPackages(std::string_view file)
{
    for (const std::string_view folder : {"site-packages/", "dist-packages/"})
        if (const std::size_t found = file.rfind(folder); found != std::string_view::npos)
            file.remove_prefix(found + folder.size());
    return file;
}

/// The first bytes of a text, whole characters.
std::string_view cut(std::string_view text)
{
    if (text.size() <= kMostLength)
        return text;
    std::size_t length = kMostLength;
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
        --length;
    return text.substr(0, length);
}

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

std::string frameText(std::string_view name, std::string_view file, std::int64_t line)
{
    return withoutSlashes(cut(withoutPackages(file))) + ":" + std::to_string(line) + ":" +
           withoutSlashes(cut(name));
}

bool isMachinery(const SnapshotFrame& frame)
{
    const auto within = [](std::string_view text, std::string_view part) {
        return text.find(part) != std::string_view::npos;
    };
    const auto startsWithAny = [](std::string_view text, std::initializer_list<std::string_view> beginnings) {
        return std::ranges::any_of(beginnings, [&](auto beginning) { return text.starts_with(beginning); });
    };
    const std::string_view name = frame.name;
    const std::string_view file = frame.file;
    if (startsWithAny(name, {"torch::unwind::", "torch::CapturedTraceback::", "__libc_"}) ||
        name == "_start" || within(name, "gather_with_cpp") || within(name, "CachingAllocator::") ||
        within(name, "wrap_kernel_functor_unboxed"))
        return true;
    if (within(file, "/core/boxing/") || file.starts_with("Register") || within(file, "/Register"))
        return true;
    const bool isC = file.ends_with(".c") || file.ends_with(".h");
    if (isC && (within(file, "Objects/") || within(file, "Python/") || within(file, "Modules/") ||
                within(file, "/Include/") || within(file, "pycore_")))
        return true;
    // Without debugging symbols the interpreter's functions have no file.
    const bool noFile = file.empty() || file == "??";
    return noFile && startsWithAny(name, {"Py", "_Py", "pymain_", "cfunction_", "method_vectorcall", "slot_",
                                          "run_mod", "run_eval_code", "builtin_exec"});
}

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

std::string opOfFrame(std::string_view name)
{
    constexpr std::string_view kOps = "at::_ops::";
    const std::size_t found = name.find(kOps);
    if (found == std::string_view::npos)
        return {};
    std::string_view op = name.substr(found + kOps.size());
    op = op.substr(0, op.find("::"));
    return "aten::" + std::string(op);
}

} // namespace tilescope::exchange
