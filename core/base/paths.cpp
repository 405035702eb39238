#include "core/base/paths.h"

#include "core/base/environment_variable.h"
#include "core/base/error.h"

#include <sys/stat.h>

#include <fstream>
#include <sstream>

namespace tilescope {

namespace fs = std::filesystem;

fs::path executablePath()
{
    return fs::read_symlink("/proc/self/exe");
}

fs::path resourcesDirectory()
{
    if (const std::string named = environmentVariable("TILESCOPE_RESOURCES"); !named.empty()) {
        if (fs::is_directory(named))
            return named;
        throw Error{.what = "no such folder",
                    .where = "TILESCOPE_RESOURCES=" + named,
                    .remedy = "unset it, or name Tilescope's resources folder",
                    .kind = ErrorKind::Environment};
    }
    const fs::path installed = executablePath().parent_path().parent_path() / "share" / "tilescope";
    if (fs::is_directory(installed))
        return installed;
    throw Error{.what = "Tilescope's resources are missing",
                .where = installed.string(),
                .remedy = "install Tilescope again, or name the folder in TILESCOPE_RESOURCES",
                .kind = ErrorKind::Environment};
}

fs::path userCacheDirectory()
{
    if (const std::string cache = environmentVariable("XDG_CACHE_HOME"); !cache.empty())
        return fs::path(cache) / "tilescope";
    if (const std::string home = environmentVariable("HOME"); !home.empty())
        return fs::path(home) / ".cache/tilescope";
    return {};
}

std::string installedText(const fs::path& file)
{
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    if (!stream)
        throw Error{.what = "cannot be read",
                    .where = file.string(),
                    .remedy = "install Tilescope again",
                    .kind = ErrorKind::Environment};
    return text.str();
}

fs::path siblingProgram(const char* variable, const char* name)
{
    if (const std::string named = environmentVariable(variable); !named.empty())
        return named;
    return executablePath().parent_path() / name;
}

bool isSameFile(int descriptor, const std::filesystem::path& path)
{
    struct stat open {};
    struct stat named {};
    return fstat(descriptor, &open) == 0 && stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
           open.st_ino == named.st_ino;
}

} // namespace tilescope
