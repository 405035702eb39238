#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::machine {

/// The LibTorch version that the engine is built for. Other minor versions have another binary interface.
inline constexpr const char* kTorchVersion = "2.11";

/// The folder of a torch package that the engine can load.
struct TorchLocation {
    std::filesystem::path folder; ///< contains lib/ and version.py
    std::string version;          ///< 2.11.0+cu130
    std::string foundBy;          ///< TILESCOPE_TORCH, python3, …

    /// Folders of the engine's libraries for LD_LIBRARY_PATH: torch/lib and those of the nvidia wheels beside
    /// it.
    std::vector<std::filesystem::path> libraryFolders() const;
};

/// The folder in TILESCOPE_TORCH; none if it is unset.
/// \throws Error (Environment)  the folder has no LibTorch, or one of another version or without CUDA
std::optional<TorchLocation> torchFromEnvironment();

/// Searches for a LibTorch if the engine's run path leads to none: TILESCOPE_TORCH, the torch that `python3`
/// would import, the wheels of `packaging/dev setup`. Returns the first suitable one; none if there is no
/// torch at all. Starts python3, which looks at neither the current folder nor relative elements of PATH and
/// PYTHONPATH; takes up to a second.
/// \throws Error (Environment)  like torchFromEnvironment(); no torch is suitable, with the reason for each
std::optional<TorchLocation> findTorch();

/// Checks the version of the LibTorch that this process has loaded: LD_LIBRARY_PATH may lead to an
/// incompatible one. A library that does not report its version passes.
/// \throws Error (Environment)  another version is loaded; names it
void requireLoadedTorch();

/// LD_LIBRARY_PATH with the folders of that LibTorch in front, without relative elements.
std::string libraryPathWith(const TorchLocation& torch);

} // namespace tilescope::machine
