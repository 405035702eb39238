#include "core/machine/torch_location.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/base/search_path.h"
#include "core/machine/program_output.h"
#include "core/machine/small_file.h"

#include <link.h>

#include <algorithm>
#include <cstdlib>

namespace tilescope::machine {

namespace fs = std::filesystem;

namespace {

/// `__version__ = '2.11.0+cu130'` of torch/version.py.
std::string versionOf(const fs::path& folder)
{
    const std::string text = readSmallFile(folder / "version.py");
    const std::size_t key = text.find("\n__version__ = ");
    const std::size_t open = text.find_first_of("'\"", key == std::string::npos ? text.size() : key);
    if (open == std::string::npos)
        return {};
    const std::size_t close = text.find(text[open], open + 1);
    return close == std::string::npos ? std::string{} : text.substr(open + 1, close - open - 1);
}

bool isOurVersion(const std::string& version)
{
    return version.starts_with(kTorchVersion + std::string("."));
}

std::string whyUnfit(const TorchLocation& torch)
{
    std::error_code error;
    if (!fs::exists(torch.folder / "lib" / "libtorch_cpu.so", error) && error)
        return "cannot be read (" + error.message() + ")";
    if (!fs::exists(torch.folder / "lib" / "libtorch_cpu.so", error))
        return "has no LibTorch (no lib/libtorch_cpu.so)";
    if (!isOurVersion(torch.version))
        return "has torch " + (torch.version.empty() ? "of an unknown version" : torch.version) +
               "; Tilescope needs " + kTorchVersion;
    if (!fs::exists(torch.folder / "lib" / "libtorch_cuda.so", error))
        return "has a torch without CUDA (no lib/libtorch_cuda.so)";
    return {};
}

TorchLocation locationOf(const fs::path& folder, std::string foundBy)
{
    return {folder, versionOf(folder), std::move(foundBy)};
}

/// The folder from which `python3 SCRIPT` would import torch; empty if it would fail. Importing torch itself takes
/// seconds.
fs::path torchOfPython()
{
    // -c puts the current folder in front of the module path. -I would also leave out the user's packages and
    // PYTHONPATH, where torch may be; -P exists from Python 3.11 on.
    constexpr const char* kScript = "import sys; sys.path = [p for p in sys.path if p.startswith('/')]\n"
                                    "import importlib.util as u; s = u.find_spec('torch')\n"
                                    "print(s.submodule_search_locations[0] if s else '')";
    const std::string folder = outputOf({"python3", "-c", kScript}, {}, false).text;
    return folder.substr(0, folder.find('\n'));
}

std::vector<fs::path> installedWheels()
{
    std::vector<fs::path> found;
    const fs::path cache = userCacheDirectory();
    if (cache.empty())
        return found;
    const fs::path library = cache / "current" / "venv" / "lib";
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(library, error))
        if (entry.path().filename().string().starts_with("python3"))
            found.push_back(entry.path() / "site-packages" / "torch");
    return found;
}

} // namespace

std::vector<fs::path> TorchLocation::libraryFolders() const
{
    std::vector<fs::path> folders{folder / "lib"};
    std::error_code error;
    // Resolves links, because a link to the torch folder has no nvidia folder beside it.
    const fs::path wheels = fs::weakly_canonical(folder, error).parent_path();
    // The wheels of CUDA 13 share nvidia/cu13/lib; cuDNN, NCCL and others have separate folders.
    for (const fs::directory_entry& entry : fs::directory_iterator(wheels / "nvidia", error))
        if (fs::is_directory(entry.path() / "lib", error))
            folders.push_back(entry.path() / "lib");
    std::sort(folders.begin() + 1, folders.end());
    return folders;
}

std::optional<TorchLocation> torchFromEnvironment()
{
    const char* named = std::getenv("TILESCOPE_TORCH");
    if (!named || !*named)
        return {};
    const TorchLocation torch = locationOf(named, "TILESCOPE_TORCH");
    if (const std::string reason = whyUnfit(torch); !reason.empty())
        throw Error{.what = reason,
                    .where = "TILESCOPE_TORCH=" + std::string(named),
                    .remedy = std::string("name the torch folder of a torch ") + kTorchVersion +
                              " wheel, or unset it",
                    .kind = ErrorKind::Environment};
    return torch;
}

std::optional<TorchLocation> findTorch()
{
    if (const auto named = torchFromEnvironment())
        return named;
    std::vector<TorchLocation> candidates;
    if (const fs::path folder = torchOfPython(); !folder.empty())
        candidates.push_back(locationOf(folder, "python3"));
    for (const fs::path& folder : installedWheels())
        candidates.push_back(locationOf(folder, "packaging/dev setup"));
    std::string refusals;
    for (const TorchLocation& candidate : candidates) {
        const std::string reason = whyUnfit(candidate);
        if (reason.empty())
            return candidate;
        refusals += (refusals.empty() ? "" : ", and ") + candidate.folder.string() + ", found by " +
                    candidate.foundBy + ", " + reason;
    }
    if (refusals.empty())
        return {};
    throw Error{.what = refusals,
                .where = "LibTorch",
                .remedy = std::string("install torch ") + kTorchVersion +
                          " for python3, or name the torch folder of such a wheel in TILESCOPE_TORCH",
                .kind = ErrorKind::Environment};
}

void requireLoadedTorch()
{
    fs::path library;
    const auto look = [](dl_phdr_info* object, std::size_t, void* found) {
        const fs::path path = object->dlpi_name;
        if (path.filename() != "libtorch_cpu.so")
            return 0;
        *static_cast<fs::path*>(found) = path;
        return 1;
    };
    if (dl_iterate_phdr(look, &library) == 0)
        return;
    // FOLDER/lib/libtorch_cpu.so as the loader found it; a link may lead to another version.
    const fs::path folder = library.parent_path().parent_path();
    const std::string version = versionOf(folder);
    if (!version.empty() && !isOurVersion(version))
        throw Error{.what = "the loaded LibTorch is " + version + "; Tilescope needs " + kTorchVersion,
                    .where = folder.string(),
                    .remedy =
                        std::string("remove it from LD_LIBRARY_PATH, or name the torch folder of a torch ") +
                        kTorchVersion + " wheel in TILESCOPE_TORCH",
                    .kind = ErrorKind::Environment};
}

std::string libraryPathWith(const TorchLocation& torch)
{
    std::string path;
    for (const fs::path& folder : torch.libraryFolders())
        path += folder.string() + ":";
    const char* present = std::getenv("LD_LIBRARY_PATH");
    return withoutRelativeElements(path + (present ? present : ""), ":;");
}

} // namespace tilescope::machine
