#include "core/base/output_file.h"

#include "core/base/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <streambuf>
#include <vector>

namespace tilescope {

namespace fs = std::filesystem;

namespace {

Error refused(const fs::path& path, std::string what, std::string remedy)
{
    return {.what = std::move(what), .where = path.string(), .remedy = std::move(remedy)};
}

Error failed(const std::string& where, int error)
{
    return {.what = std::string("cannot be written (") + std::strerror(error) + ")",
            .where = where,
            .remedy = error == EFBIG ? "raise the limit of a file's size (ulimit -f)"
                                     : "check the folder and the space on its disk",
            .kind = ErrorKind::Failure};
}

/// Links in /proc do not name files; they lead to open files of a process, such as standard output.
bool liesInProc(const fs::path& path)
{
    std::error_code error;
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    return fs::canonical(folder, error).string().starts_with("/proc/");
}

struct Followed {
    fs::path path;
    bool throughProc = false;
};

Followed follow(const fs::path& path)
{
    constexpr int kMostLinks = 40; // the kernel's limit
    Followed followed{path};
    std::error_code error;
    for (int links = 0; fs::is_symlink(fs::symlink_status(followed.path, error)); ++links) {
        if (links == kMostLinks)
            throw refused(path, "is a link that leads to itself", "name a file");
        const fs::path next = fs::read_symlink(followed.path, error);
        if (error)
            throw refused(path, "cannot be opened (" + error.message() + ")",
                          "check the permissions of its folder");
        followed.throughProc = followed.throughProc || liesInProc(followed.path);
        // The link of a pipe is not a path: `pipe:[4711]`.
        if (followed.throughProc && !fs::is_regular_file(next, error))
            return followed;
        followed.path = next.is_absolute() ? next : followed.path.parent_path() / next;
    }
    followed.throughProc = followed.throughProc || liesInProc(followed.path);
    return followed;
}

/// Decides by the name where possible: opening and closing a database would drop its locks.
bool isRecording(const fs::path& path)
{
    if (path.extension() == ".tscope")
        return true;
    constexpr std::string_view kMagic{"SQLite format 3\0", 16};
    constexpr std::size_t kIdAt = 68;
    std::array<char, 72> bytes{};
    std::ifstream(path, std::ios::binary).read(bytes.data(), bytes.size());
    std::uint32_t id = 0;
    for (std::size_t i = 0; i < 4; ++i)
        id = id << 8 | static_cast<unsigned char>(bytes[kIdAt + i]);
    return std::string_view(bytes.data(), kMagic.size()) == kMagic && id == kRecordingId;
}

/// Write-ahead logs and locks are beside a recording and contain data that it does not contain yet.
bool belongsToRecording(const fs::path& path)
{
    const std::string name = path.string();
    for (const std::string_view suffix : {"-wal", "-shm", "-journal", "-lock"})
        if (name.ends_with(suffix)) {
            const fs::path recording = name.substr(0, name.size() - suffix.size());
            std::error_code error;
            return fs::is_regular_file(recording, error) && isRecording(recording);
        }
    return false;
}

void syncFolder(const fs::path& file)
{
    const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return; // the file itself is already on the disk
    (void)fsync(descriptor);
    close(descriptor);
}

/// Copies the permissions of the replaced file and, if permitted, its owner.
void inheritFrom(const fs::path& replaced, int descriptor)
{
    constexpr mode_t kPermissions = 07777;
    struct stat status {};
    if (stat(replaced.c_str(), &status) != 0)
        return;
    if (status.st_uid != geteuid() || status.st_gid != getegid())
        (void)!fchown(descriptor, status.st_uid, status.st_gid);
    (void)fchmod(descriptor, status.st_mode & kPermissions);
}

} // namespace

fs::path withLinksFollowed(const fs::path& path)
{
    return follow(path).path;
}

fs::path outputPath(const fs::path& path, std::span<const fs::path> inputs)
{
    if (path.empty())
        throw refused("output", "no file name", "name a file");
    const auto [target, throughProc] = follow(path);
    struct stat status {};
    const bool exists = stat(target.c_str(), &status) == 0;
    if ((exists && S_ISDIR(status.st_mode)) || !target.has_filename())
        throw refused(path, "is a folder", "name a file in it");
    if ((exists && !S_ISREG(status.st_mode)) || throughProc)
        throw refused(path, "is not a regular file", "name a file instead of a device or a pipe");
    if (!exists)
        return target;
    for (const fs::path& input : inputs)
        if (struct stat read{};
            stat(input.c_str(), &read) == 0 && read.st_dev == status.st_dev && read.st_ino == status.st_ino)
            throw refused(path, "is an input of this command and would be overwritten",
                          "name another output");
    if (access(target.c_str(), W_OK) != 0)
        throw refused(path, std::string("cannot be written (") + std::strerror(errno) + ")",
                      "choose a writable file");
    return target;
}

fs::path plainOutputPath(const fs::path& path, std::span<const fs::path> inputs)
{
    const fs::path target = outputPath(path, inputs);
    std::error_code error;
    if (!fs::exists(target, error))
        return target;
    if (isRecording(target))
        throw refused(path, "is a recording and would be overwritten",
                      "name another output, or remove it first");
    if (belongsToRecording(target))
        throw refused(path, "belongs to a recording and contains part of its data", "name another output");
    return target;
}

/// Writes to a descriptor and remembers the first error.
class OutputFile::Buffer : public std::streambuf {
public:
    explicit Buffer(int descriptor) : descriptor_(descriptor), bytes_(kSize) { reset(); }

    int error() const { return error_; }

    bool flush()
    {
        const char* at = pbase();
        while (at < pptr() && error_ == 0) {
            const ssize_t written = ::write(descriptor_, at, static_cast<std::size_t>(pptr() - at));
            if (written > 0)
                at += written;
            else if (written == 0 || errno != EINTR)
                error_ = written == 0 ? ENOSPC : errno;
        }
        reset();
        return error_ == 0;
    }

protected:
    int_type overflow(int_type character) override
    {
        if (!flush())
            return traits_type::eof();
        if (!traits_type::eq_int_type(character, traits_type::eof()))
            sputc(traits_type::to_char_type(character));
        return traits_type::not_eof(character);
    }
    int sync() override { return flush() ? 0 : -1; }

private:
    static constexpr std::size_t kSize = std::size_t{1} << 16;

    void reset() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

    const int descriptor_;
    std::vector<char> bytes_;
    int error_ = 0;
};

OutputFile::OutputFile(const fs::path& path, std::span<const fs::path> inputs)
    : named_(path.string()), target_(plainOutputPath(path, inputs)),
      part_(target_, TemporaryPath::Kind::File), buffer_(std::make_unique<Buffer>(part_.descriptor())),
      stream_(buffer_.get())
{
}

OutputFile::~OutputFile() = default;

std::ostream& OutputFile::stream()
{
    return stream_;
}

void OutputFile::requireWritten()
{
    if (buffer_->error() != 0)
        throw failed(named_, buffer_->error());
}

void OutputFile::commit()
{
    stream_.flush();
    requireWritten();
    inheritFrom(target_, part_.descriptor());
    if (fsync(part_.descriptor()) != 0)
        throw failed(named_, errno);
    // The target may have changed since the constructor checked it.
    plainOutputPath(target_);
    if (rename(part_.path().c_str(), target_.c_str()) != 0)
        throw failed(named_, errno);
    part_.keep();
    syncFolder(target_);
}

void writeOutput(const fs::path& path, std::string_view text)
{
    OutputFile file(path);
    file.stream() << text;
    file.commit();
}

void moveIntoPlace(const fs::path& finished, const fs::path& target)
{
    const int descriptor = open(finished.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        throw failed(target.string(), errno);
    inheritFrom(target, descriptor);
    const bool synced = fsync(descriptor) == 0;
    const int error = errno;
    close(descriptor);
    if (!synced)
        throw failed(target.string(), error);
    if (rename(finished.c_str(), target.c_str()) != 0)
        throw failed(target.string(), errno);
    syncFolder(target);
}

} // namespace tilescope
