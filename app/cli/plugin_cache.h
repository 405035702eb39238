#pragma once

#include "core/base/units.h"

#include <filesystem>
#include <vector>

namespace tilescope::cli {

/// The plug-ins for LibTorch that `tilescope record --build-plugin` has built.
struct PluginCache {
    std::filesystem::path
        folder; ///< $XDG_CACHE_HOME/tilescope/plugins, otherwise ~/.cache/…; empty: neither is known
    std::vector<std::filesystem::path> files = {};
    Bytes size{};

    static PluginCache ofUser();
    /// Removes the files; those of running programs stay usable.
    void clear() const;
};

} // namespace tilescope::cli
