#include "core/analysis/memory/library_frame.h"

#include "core/analysis/memory/library_modules.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

namespace tilescope::analysis {

namespace {

bool startsWithAny(std::string_view text, std::initializer_list<std::string_view> beginnings)
{
    return std::ranges::any_of(beginnings, [text](auto beginning) { return text.starts_with(beginning); });
}

bool containsAny(std::string_view text, std::initializer_list<std::string_view> parts)
{
    return std::ranges::any_of(parts,
                               [text](auto part) { return text.find(part) != std::string_view::npos; });
}

bool isDigit(char character)
{
    return std::isdigit(static_cast<unsigned char>(character)) != 0;
}

/// Whether a file is in `lib/python3.12/`, also where its folder is `lib64` or a zip.
bool isInStandardLibrary(std::string_view file)
{
    constexpr std::string_view kFolder = "/python3";
    for (std::size_t at = file.find(kFolder); at != std::string_view::npos; at = file.find(kFolder, at + 1)) {
        std::size_t end = at + kFolder.size();
        while (end < file.size() && (isDigit(file[end]) || file[end] == '.'))
            ++end;
        const std::string_view parent = file.substr(0, at);
        const std::string_view folder = parent.substr(parent.rfind('/') + 1);
        if (end < file.size() && file[end] == '/' && (folder == "lib" || folder == "lib64"))
            return true;
    }
    return false;
}

/// Whether a file is named by its path from a folder of modules, as PyTorch's profiler names all files, and belongs to the
/// standard library or to a known package: `threading.py`, `transformers/trainer.py`.
bool isInKnownModule(std::string_view file)
{
    const std::size_t slash = file.find('/');
    if (slash == std::string_view::npos)
        return file.ends_with(".py") &&
               std::ranges::binary_search(kStandardModules, file.substr(0, file.size() - 3));
    const std::string_view package = file.substr(0, slash);
    return package == "torch" || std::ranges::binary_search(kStandardPackages, package) ||
           std::ranges::binary_search(kKnownPackages, package);
}

bool isPackageFile(std::string_view file)
{
    return containsAny(file, {"site-packages/", "dist-packages/"}) || isInKnownModule(file);
}

/// The qualified name within a demangled function: `at::native::fill` of
/// `void at::native::fill<float>(at::Tensor&)`.
std::string_view qualifiedName(std::string_view function)
{
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t at = 0; at < function.size(); ++at) {
        if (function.substr(at).starts_with(kAnonymous)) {
            at += kAnonymous.size() - 1;
            continue;
        }
        const char character = function[at];
        if (character == '<')
            ++depth;
        else if (character == '>')
            --depth;
        else if (character == '(' && depth == 0)
            return function.substr(begin, at - begin);
        else if (character == ' ' && depth == 0)
            begin = at + 1;
    }
    return function.substr(begin);
}

bool isLibraryFunction(std::string_view function)
{
    std::string_view name = qualifiedName(function);
    while (name.starts_with('*') || name.starts_with('&'))
        name.remove_prefix(1);
    return startsWithAny(name, {"at::",      "c10::",      "c10d::", "torch::",      "caffe2::",  "std::",
                                "__gnu_cxx", "pybind11::", "cudnn",  "cublas",       "cutlass::", "cub::",
                                "thrust::",  "cuda::",     "nccl",   "ncclKernel",   "_Py",       "Py",
                                "THP",       "__libc_",    "_start", "start_thread", "clone"});
}

/// Source files of PyTorch, the compiler, CUDA and the C library in the frames of released builds.
bool isLibrarySource(std::string_view file)
{
    return isPackageFile(file) || containsAny(file, {"/aten/src/", "/c10/", "/torch/csrc/", "/pybind11/"}) ||
           startsWithAny(file, {"aten/src/", "c10/", "/usr/include/", "/usr/local/cuda", "/opt/rh/",
                                "../sysdeps/", "./nptl/", "./csu/", "../csu/", "/usr/src/"});
}

} // namespace

std::string withSlashes(std::string_view text)
{
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const bool isSlash = text.substr(at).starts_with(kFolderSlash);
        result += isSlash ? '/' : text[at];
        at += isSlash ? kFolderSlash.size() : 1;
    }
    return result;
}

bool isLibraryFrame(std::string_view function, std::string_view file)
{
    if (file.starts_with('<'))
        return startsWithAny(file, {"<frozen ", "<eval_with_key>", "<string>", "<__array_function__"});
    if (file.ends_with(".py"))
        return isPackageFile(file) || isInStandardLibrary(file);
    if (isLibraryFunction(function))
        return true;
    if (file.empty() || file == "??")
        return function.find('(') == std::string_view::npos; // a symbol of C, or none
    return isLibrarySource(file);
}

bool isLibraryFrame(std::string_view frame)
{
    if (frame.starts_with("<built-in") || frame.starts_with("built-in "))
        return true;
    constexpr std::string_view kEnd = "): ";
    const std::size_t line = frame.rfind(kEnd);
    const std::size_t file = line == std::string_view::npos ? line : frame.rfind('(', line);
    return file != std::string_view::npos &&
           isLibraryFrame(frame.substr(line + kEnd.size()), frame.substr(0, file));
}

} // namespace tilescope::analysis
