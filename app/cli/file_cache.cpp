#include "app/cli/file_cache.h"

#include "core/base/paths.h"

#include <algorithm>
#include <string_view>
#include <system_error>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

enum class Kind { Main, Beside, Other };

/// The files that `kindOf` has a kind for.
template <class KindOf> FileCache found(std::string_view name, const KindOf& kindOf)
{
    FileCache cache;
    if (const fs::path all = userCacheDirectory(); !all.empty())
        cache.folder = all / name;
    std::error_code none;
    if (cache.folder.empty() || !fs::is_directory(cache.folder, none))
        return cache;
    for (const fs::directory_entry& entry : fs::directory_iterator(cache.folder, none)) {
        const Kind kind = entry.is_regular_file(none) ? kindOf(entry.path()) : Kind::Other;
        if (kind == Kind::Other)
            continue;
        cache.files.push_back(entry.path());
        cache.count += kind == Kind::Main ? 1 : 0;
        cache.size += Bytes{static_cast<std::int64_t>(entry.file_size(none))};
    }
    std::ranges::sort(cache.files);
    return cache;
}

} // namespace

FileCache FileCache::ofPlugins()
{
    return found("plugins", [](const fs::path& file) {
        return file.filename().string().starts_with("tilescope_torch-") ? Kind::Main : Kind::Other;
    });
}

FileCache FileCache::ofCompiledModels()
{
    return found("inductor", [](const fs::path& file) {
        const fs::path extension = file.extension();
        return extension == ".pt2"                           ? Kind::Main
               : extension == ".note" || extension == ".log" ? Kind::Beside
                                                             : Kind::Other;
    });
}

void FileCache::clear() const
{
    std::error_code ignored;
    for (const fs::path& file : files)
        fs::remove(file, ignored);
    fs::remove(folder, ignored); // if nothing else is in it
}

} // namespace tilescope::cli
