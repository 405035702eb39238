#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::machine {

/// The LibTorch that the engine is built for; another minor version has another binary interface.
inline constexpr const char* kTorchVersion = "2.11";

/// A torch package folder that the engine can load.
struct TorchLocation {
    std::filesystem::path folder; ///< holds lib/ and version.py
    std::string version;          ///< 2.11.0+cu130
    std::string foundBy;          ///< TILESCOPE_TORCH, python3, …

    /// Folders that the engine's libraries lie in, for LD_LIBRARY_PATH: torch/lib and those of the nvidia
    /// wheels beside it.
    std::vector<std::filesystem::path> libraryFolders() const;
};

/// The folder that TILESCOPE_TORCH names; none where it is unset.
/// \throws Error (Environment)  where it holds no LibTorch, or one of another version or without CUDA
std::optional<TorchLocation> torchFromEnvironment();

/// Looks for a LibTorch where the engine's own run path has none: TILESCOPE_TORCH, the torch that `python3`
/// would import, the wheels that `packaging/dev setup` installed. The first that fits; none where there is no
/// torch at all. Starts python3; up to a second.
/// \throws Error (Environment)  as torchFromEnvironment; where none fits, saying why for each
std::optional<TorchLocation> findTorch();

/// Checks the LibTorch that this process has loaded: LD_LIBRARY_PATH may have led to another one than those
/// that are searched, and its functions would be called as if they were ours. One that does not tell its
/// version passes.
/// \throws Error (Environment)  where it is of another version; names it
void requireLoadedTorch();

/// LD_LIBRARY_PATH with that LibTorch before what it holds already.
std::string libraryPathWith(const TorchLocation& torch);

} // namespace tilescope::machine
