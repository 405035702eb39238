#include "app/cli/plugin_cache.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

namespace tilescope::cli {

namespace fs = std::filesystem;

PluginCache PluginCache::ofUser()
{
    PluginCache cache;
    if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder && *folder)
        cache.folder = fs::path(folder) / "tilescope/plugins";
    else if (const char* home = std::getenv("HOME"); home && *home)
        cache.folder = fs::path(home) / ".cache/tilescope/plugins";
    std::error_code none;
    if (!cache.folder.empty() && fs::is_directory(cache.folder, none))
        for (const fs::directory_entry& entry : fs::directory_iterator(cache.folder, none))
            if (entry.path().filename().string().starts_with("tilescope_torch-")) {
                cache.files.push_back(entry.path());
                cache.size += Bytes{static_cast<std::int64_t>(entry.file_size(none))};
            }
    std::ranges::sort(cache.files);
    return cache;
}

void PluginCache::clear() const
{
    std::error_code ignored;
    for (const fs::path& file : files)
        fs::remove(file, ignored);
    fs::remove(folder, ignored); // if nothing else is in it
}

} // namespace tilescope::cli
