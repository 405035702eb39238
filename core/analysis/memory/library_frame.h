#pragma once

#include <string>
#include <string_view>

namespace tilescope::analysis {

/// Stands for a slash in the components of a path of ranges, where a slash would separate components. Looks the same.
inline constexpr std::string_view kFolderSlash = "\xe2\x88\x95"; // U+2215

/// The text with slashes in place of kFolderSlash.
std::string withSlashes(std::string_view text);

/// Whether a frame of a stack belongs to a library rather than to the program's own code.
///
/// Library files are installed packages (site-packages, dist-packages), Python's standard library and generated code
/// (`<frozen runpy>`, `<eval_with_key>.3`). A relative path, which PyTorch's profiler makes of every file below a folder of
/// modules, counts as one if it begins with a module of the standard library or a known package (library_modules.h). Library functions of C++ are those of PyTorch (at, c10,
/// torch, caffe2), pybind11, the standard library, CUDA's libraries and the C runtime. A C++ frame without a file
/// is the program's own only if its demangled name says so.
/// \param function  `forward`, or `at::_ops::mm::call(at::Tensor const&)`
/// \param file      as recorded: absolute, relative, empty or `??`
bool isLibraryFrame(std::string_view function, std::string_view file);

/// The same for a frame in the words of PyTorch's profiler: `train.py(96): step` or `<built-in method mm>`. False for
/// one that names no file, such as `nn.Module: Linear_3`.
bool isLibraryFrame(std::string_view frame);

} // namespace tilescope::analysis
