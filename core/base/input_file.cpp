#include "core/base/input_file.h"

#include "core/base/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tilescope {

namespace {

/// Closes itself.
struct Descriptor {
    explicit Descriptor(const std::filesystem::path& file)
        // A pipe that nobody writes would block.
        : number(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC))
    {
    }
    ~Descriptor()
    {
        if (number >= 0)
            close(number);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    const int number;
};

std::string gibibytes(Bytes bytes)
{
    constexpr std::int64_t kGiB = std::int64_t{1} << 30;
    return std::to_string(bytes.count / kGiB) + " GiB";
}

} // namespace

std::string readInputFile(const std::filesystem::path& file, Bytes most, const std::string& what)
{
    const auto refuse = [&file](std::string why, std::string mend, ErrorKind kind = ErrorKind::Usage) {
        throw Error{.what = std::move(why), .where = file.string(), .mend = std::move(mend), .kind = kind};
    };
    const Descriptor input(file);
    struct stat status {};
    if (input.number < 0 && (errno == ENOENT || errno == ENOTDIR))
        refuse("no such file", "check the path");
    // Opening a socket fails.
    if (input.number < 0 && errno != ENXIO)
        refuse(std::string("cannot be read (") + std::strerror(errno) + ")", "check its permissions");
    if (input.number >= 0 && fstat(input.number, &status) != 0)
        refuse(std::string("cannot be read (") + std::strerror(errno) + ")", "check the disk");
    if (S_ISDIR(status.st_mode))
        refuse("is a folder", "name a " + what + " in it");
    if (!S_ISREG(status.st_mode))
        refuse("is no regular file", "save the " + what + " to a file first");
    if (status.st_size == 0)
        refuse("is empty", "name a " + what);
    if (status.st_size > most.count)
        refuse("has more than " + gibibytes(most), "a " + what + " has less");
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t length = 0;
    while (length < bytes.size()) {
        const ssize_t got = read(input.number, bytes.data() + length, bytes.size() - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            refuse(std::string("cannot be read (") + std::strerror(errno) + ")", "check the disk",
                   ErrorKind::Failure);
        if (got == 0)
            break; // it became shorter meanwhile
        length += static_cast<std::size_t>(got);
    }
    bytes.resize(length);
    return bytes;
}

} // namespace tilescope
