#include "core/base/input_file.h"

#include "core/base/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tilescope {

namespace {

/// A limit in its largest unit.
std::string wholeUnits(Bytes bytes)
{
    constexpr std::int64_t kMiB = std::int64_t{1} << 20;
    constexpr std::int64_t kGiB = std::int64_t{1} << 30;
    return bytes.count < kGiB ? std::to_string(bytes.count / kMiB) + " MiB"
                              : std::to_string(bytes.count / kGiB) + " GiB";
}

/// A regular file, not empty, open for reading.
class OpenInput {
public:
    OpenInput(const std::filesystem::path& file, const std::string& what)
        // O_NONBLOCK: opening a pipe without a writer would block.
        : file_(file), number_(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC))
    {
        try {
            check(what);
        } catch (...) {
            shut();
            throw;
        }
    }
    ~OpenInput() { shut(); }
    OpenInput(const OpenInput&) = delete;
    OpenInput& operator=(const OpenInput&) = delete;

    Bytes bytes() const { return Bytes{status_.st_size}; }

    /// Reads the first bytes; fewer if the file has shrunk.
    std::string read(Bytes count) const
    {
        std::string bytes(static_cast<std::size_t>(count.count), '\0');
        std::size_t length = 0;
        while (length < bytes.size()) {
            const ssize_t got = ::read(number_, bytes.data() + length, bytes.size() - length);
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                refuse(std::string("cannot be read (") + std::strerror(errno) + ")", "check the disk",
                       ErrorKind::Failure);
            if (got == 0)
                break;
            length += static_cast<std::size_t>(got);
        }
        bytes.resize(length);
        return bytes;
    }

    [[noreturn]] void refuse(std::string why, std::string remedy, ErrorKind kind = ErrorKind::Usage) const
    {
        throw Error{
            .what = std::move(why), .where = file_.string(), .remedy = std::move(remedy), .kind = kind};
    }

private:
    void check(const std::string& what)
    {
        if (number_ < 0 && (errno == ENOENT || errno == ENOTDIR))
            refuse("no such file", "check the path");
        // ENXIO: the file is a socket.
        if (number_ < 0 && errno != ENXIO)
            refuse(std::string("cannot be read (") + std::strerror(errno) + ")", remedyForUnreadable(errno));
        if (number_ >= 0 && fstat(number_, &status_) != 0)
            refuse(std::string("cannot be read (") + std::strerror(errno) + ")", "check the disk");
        if (S_ISDIR(status_.st_mode))
            refuse("is a folder", "name a " + what + " in it");
        if (!S_ISREG(status_.st_mode))
            refuse("is not a regular file", "save the " + what + " to a file first");
        if (status_.st_size == 0)
            refuse("is empty", "name a " + what);
    }

    void shut()
    {
        if (number_ >= 0)
            close(number_);
    }

    const std::filesystem::path& file_;
    const int number_;
    struct stat status_ {};
};

} // namespace

std::string readInputFile(const std::filesystem::path& file, Bytes most, const std::string& what)
{
    const OpenInput input(file, what);
    if (input.bytes() > most)
        input.refuse("has more than " + wholeUnits(most), "a " + what + " has less");
    return input.read(input.bytes());
}

std::string readInputHead(const std::filesystem::path& file, Bytes most, const std::string& what)
{
    const OpenInput input(file, what);
    return input.read(std::min(most, input.bytes()));
}

bool hasContent(const std::filesystem::path& path)
{
    std::error_code error;
    return std::filesystem::exists(path, error) &&
           !(std::filesystem::is_regular_file(path, error) && std::filesystem::file_size(path, error) == 0);
}

std::string remedyForUnreadable(int error)
{
    switch (error) {
    case ELOOP:
        return "the links form a circle: name the file itself";
    case ENAMETOOLONG:
        return "name a shorter path";
    case EMFILE:
    case ENFILE:
        return "close other programs, or raise the limit of open files (ulimit -n)";
    default:
        return "check its permissions";
    }
}

} // namespace tilescope
