#include "core/hosts/bundle.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/base/sha256.h"
#include "core/base/version.h"
#include "core/session/supervisor/child_process.h"

#include <nlohmann/json.hpp>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace tilescope::hosts {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

/// The C and C++ libraries, which every suitable system has.
constexpr std::array<std::string_view, 9> kOfTheSystem{
    "ld-linux", "libc.", "libm.", "libdl.", "librt.", "libutil.", "libpthread.", "libstdc++.", "libgcc_s."};

/// The libraries that the dynamic linker loads for a program, except those of the system. Not those of this process:
/// the window has many more.
std::vector<fs::path> librariesOf(const fs::path& program)
{
    session::ChildProcess listing(program, {}, {{"LD_TRACE_LOADED_OBJECTS", "1"}, {"LD_PRELOAD", ""}});
    std::string text;
    std::array<char, 16384> bytes;
    for (pollfd watched{listing.output.get(), POLLIN, 0};; poll(&watched, 1, -1)) {
        const ssize_t count = read(listing.output.get(), bytes.data(), bytes.size());
        if (count > 0)
            text.append(bytes.data(), std::size_t(count));
        else if (count == 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    std::vector<fs::path> libraries;
    std::istringstream lines(text); // `libfmt.so.9 => /usr/lib/libfmt.so.9 (0x00007f…)`
    constexpr std::string_view kArrow = " => /";
    for (std::string line; std::getline(lines, line);) {
        const std::size_t arrow = line.find(kArrow);
        const std::size_t end = line.rfind(" (");
        const std::string name = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
        const bool isOfSystem = std::ranges::any_of(
            kOfTheSystem, [&](std::string_view beginning) { return name.starts_with(beginning); });
        if (arrow != std::string::npos && end != std::string::npos && end > arrow && !isOfSystem)
            libraries.emplace_back(line.substr(arrow + kArrow.size() - 1, end - arrow - kArrow.size() + 1));
    }
    return libraries;
}

std::string digestOf(const fs::path& file)
{
    std::ifstream stream(file, std::ios::binary);
    std::string piece(std::size_t{1} << 20, '\0');
    Sha256 sum;
    while (stream.read(piece.data(), std::streamsize(piece.size())) || stream.gcount() > 0)
        sum.add(std::string_view(piece).substr(0, std::size_t(stream.gcount())));
    if (!stream.eof())
        throw Error{.what = "cannot be read", .where = file.string(), .kind = ErrorKind::Failure};
    return sum.digest();
}

/// Digests of files by path, size and time of change, kept between calls: the programs of a build take seconds.
class Digests {
public:
    Digests() : file_(userCacheDirectory() / "bundle-digests.json")
    {
        std::ifstream stream(file_);
        known_ = Json::parse(stream, nullptr, false);
        if (!known_.is_object())
            known_ = Json::object();
    }
    std::string of(const ArchivedFile& file)
    {
        struct stat facts {};
        if (stat(file.local.c_str(), &facts) != 0)
            throw Error{.what = "is missing", .where = file.local.string(), .kind = ErrorKind::Environment};
        const std::string key = file.local.string() + ':' + std::to_string(facts.st_size) + ':' +
                                std::to_string(facts.st_mtim.tv_sec) + '.' +
                                std::to_string(facts.st_mtim.tv_nsec) + ':' + std::to_string(facts.st_ino);
        const auto found = known_.find(key);
        used_[key] = found != known_.end() && found->is_string() ? *found : Json(digestOf(file.local));
        return used_[key].get<std::string>();
    }
    /// Without a cache the next call reads the files again.
    void keep() const
    {
        if (used_ == known_)
            return;
        std::error_code ignored;
        fs::create_directories(file_.parent_path(), ignored);
        const fs::path part = file_.string() + ".part" + std::to_string(getpid());
        std::ofstream(part) << used_.dump(1);
        fs::rename(part, file_, ignored);
    }

private:
    fs::path file_;
    Json known_;
    Json used_ = Json::object();
};

void add(Bundle& bundle, const fs::path& file, const std::string& name, bool isExecutable)
{
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file, error);
    if (error)
        throw Error{.what = "is missing, so Tilescope cannot be copied to a host",
                    .where = file.string(),
                    .remedy = "install Tilescope completely, or build it with packaging/dev build",
                    .kind = ErrorKind::Environment};
    bundle.files.push_back(
        {.local = file, .name = name, .isExecutable = isExecutable, .size = Bytes{std::int64_t(size)}});
}

/// The files below a folder, links followed. Names below `name`, without what Python leaves behind.
void addFolder(Bundle& bundle, const fs::path& folder, const std::string& name)
{
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        const std::string file = entry.path().filename();
        if (entry.is_directory() && file != "__pycache__")
            addFolder(bundle, entry.path(), name + "/" + file);
        else if (entry.is_regular_file())
            add(bundle, entry.path(), name + "/" + file, false);
    }
}

} // namespace

std::string Bundle::folderName() const
{
    constexpr std::size_t kDigits = 12;
    return version() + "-" + digest.substr(0, kDigits);
}

Bytes Bundle::size() const
{
    Bytes all;
    for (const ArchivedFile& file : files)
        all += file.size;
    return all;
}

Bundle Bundle::ofThisProgram()
{
    Bundle bundle;
    const fs::path root = executablePath().parent_path().parent_path();
    const fs::path program = executablePath().parent_path() / "tilescope";
    add(bundle, program, "bin/tilescope", true);
    std::error_code none;
    // A build without LibTorch has no engine; the host can still record and read files.
    if (const fs::path engine = executablePath().parent_path() / "tilescope-engine"; fs::exists(engine, none))
        add(bundle, engine, "bin/tilescope-engine", true);
    for (const fs::directory_entry& entry : fs::directory_iterator(root / "lib", none)) {
        const std::string name = entry.path().filename();
        if (entry.is_regular_file() && entry.path().extension() == ".so" &&
            (name.starts_with("libtilescope_") || name.starts_with("tilescope_torch-")))
            add(bundle, entry.path(), "lib/" + name, true);
    }
    for (const fs::path& library : librariesOf(program))
        add(bundle, fs::canonical(library), "lib/" + library.filename().string(), true);
    addFolder(bundle, resourcesDirectory(), "share/tilescope");
    std::ranges::sort(bundle.files, {}, &ArchivedFile::name);
    // Clang 14, whose clang-tidy checks this file, cannot compile std::ranges::unique().
    const auto isSame = [](const ArchivedFile& a, const ArchivedFile& b) { return a.name == b.name; };
    bundle.files.erase(std::unique(bundle.files.begin(), bundle.files.end(), isSame), bundle.files.end());
    Digests digests;
    for (const ArchivedFile& file : bundle.files)
        bundle.manifest += digests.of(file) + "  " + file.name + '\n';
    digests.keep();
    bundle.digest = sha256(bundle.manifest);
    return bundle;
}

} // namespace tilescope::hosts
