#pragma once

#include "core/base/units.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tilescope::cli {

/// Files in a folder of the user's cache that can be made again.
struct FileCache {
    std::filesystem::path folder; ///< below userCacheDirectory(); empty: it is unknown
    std::vector<std::filesystem::path> files = {};
    std::int64_t count = 0; ///< plug-ins or models, which may have several files
    Bytes size{};

    /// The plug-ins for LibTorch that `tilescope record --build-plugin` has built.
    static FileCache ofPlugins();
    /// The models that TorchInductor compiled (compile: inductor): packages, their notes and logs of failures.
    static FileCache ofCompiledModels();
    /// Removes the files; those of running programs stay usable.
    void clear() const;
};

} // namespace tilescope::cli
