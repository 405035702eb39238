#include "core/exchange/import/snapshot_frames.h"

#include "core/analysis/memory/library_frame.h"

#include <algorithm>
#include <initializer_list>

namespace tilescope::exchange {

namespace {

/// Longer names are cut: the end of a C++ template is least informative.
constexpr std::size_t kMostLength = 300;

std::string withoutSlashes(std::string_view text)
{
    std::string result;
    for (const char character : text)
        if (character == '/')
            result += analysis::kFolderSlash;
        else
            result += character;
    return result;
}

std::string_view withoutInstallation(std::string_view file)
{
    for (const std::string_view folder : {"site-packages/", "dist-packages/"})
        if (const std::size_t found = file.rfind(folder); found != std::string_view::npos) {
            file.remove_prefix(found);
            if (const std::string_view package = file.substr(folder.size()); package.starts_with("torch/"))
                return package;
        }
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

} // namespace

std::string frameText(std::string_view name, std::string_view file, std::int64_t line)
{
    return withoutSlashes(cut(withoutInstallation(file))) + ":" + std::to_string(line) + ":" +
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
