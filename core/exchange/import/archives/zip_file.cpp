#include "core/exchange/import/archives/zip_file.h"

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/exchange/import/kineto/inflated_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

namespace tilescope::exchange {

namespace {

// PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3.
constexpr std::string_view kEnd = "PK\x05\x06";
constexpr std::string_view kEnd64 = "PK\x06\x06";
constexpr std::string_view kEndLocator64 = "PK\x06\x07";
constexpr std::string_view kDirectoryEntry = "PK\x01\x02";
constexpr std::string_view kLocalHeader = "PK\x03\x04";
constexpr std::uint64_t kEndBytes = 22;
constexpr std::uint64_t kLocatorBytes = 20;
constexpr std::uint64_t kEnd64Bytes = 56;
constexpr std::uint64_t kEntryBytes = 46;
constexpr std::uint64_t kLocalBytes = 30;
constexpr std::uint64_t kMostEntries = 100'000;
constexpr std::uint64_t kMostDirectory = 64 << 20;
constexpr std::uint64_t kIn64 = std::numeric_limits<std::uint32_t>::max();

std::uint64_t numberAt(std::string_view bytes, std::size_t offset, std::size_t width)
{
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width && offset + i < bytes.size(); ++i)
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
    return value;
}

/// Takes the values that do not fit 32 bits from the extra field 1.
void takeFrom64(std::string_view extra, ZipFile::Entry& entry)
{
    while (extra.size() >= 4) {
        const std::uint64_t id = numberAt(extra, 0, 2);
        const auto size = static_cast<std::size_t>(numberAt(extra, 2, 2));
        std::string_view field = extra.substr(4, size);
        extra.remove_prefix(std::min(4 + size, extra.size()));
        if (id != 1)
            continue;
        for (std::uint64_t* value : {&entry.size, &entry.packed, &entry.header})
            if (*value == kIn64 && field.size() >= 8) {
                *value = numberAt(field, 0, 8);
                field.remove_prefix(8);
            }
    }
}

} // namespace

ZipFile::ZipFile(const std::filesystem::path& file) : file_(file)
{
    (void)readInputHead(file, Bytes{4}, "archive");
    number_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (number_ < 0)
        throw Error{.what = std::string("cannot be opened (") + std::strerror(errno) + ")",
                    .where = file.string(),
                    .remedy = remedyForUnreadable(errno)};
    size_ = std::filesystem::file_size(file);
    try {
        readDirectory();
    } catch (...) {
        ::close(number_);
        throw;
    }
}

ZipFile::~ZipFile()
{
    ::close(number_);
}

void ZipFile::refuse(const std::string& what) const
{
    throw Error{
        .what = "is a damaged ZIP archive: " + what, .where = file_.string(), .remedy = "copy it again"};
}

std::string ZipFile::bytesAt(std::uint64_t offset, std::uint64_t count) const
{
    if (offset > size_ || count > size_ - offset)
        refuse("it refers to bytes behind its end");
    std::string bytes(count, '\0');
    std::size_t got = 0;
    while (got < count) {
        const ssize_t read =
            pread(number_, bytes.data() + got, count - got, static_cast<off_t>(offset + got));
        if (read <= 0 && errno != EINTR)
            refuse("it cannot be read");
        got += static_cast<std::size_t>(std::max<ssize_t>(read, 0));
    }
    return bytes;
}

void ZipFile::readDirectory()
{
    constexpr std::uint64_t kMostComment = 65535;
    const std::uint64_t tail = std::min(size_, kEndBytes + kMostComment);
    const std::string last = bytesAt(size_ - tail, tail);
    const std::size_t end = last.rfind(kEnd);
    if (end == std::string::npos || last.size() - end < kEndBytes)
        refuse("its list of files is missing");
    std::uint64_t bytes = numberAt(last, end + 12, 4);
    std::uint64_t offset = numberAt(last, end + 16, 4);
    if (end >= kLocatorBytes &&
        std::string_view(last).substr(end - kLocatorBytes).starts_with(kEndLocator64)) {
        const std::string end64 = bytesAt(numberAt(last, end - kLocatorBytes + 8, 8), kEnd64Bytes);
        if (!end64.starts_with(kEnd64))
            refuse("its list of files is missing");
        bytes = numberAt(end64, 40, 8);
        offset = numberAt(end64, 48, 8);
    }
    if (bytes > kMostDirectory)
        refuse("its list of files has more than 64 MiB");
    const std::string directory = bytesAt(offset, bytes);
    for (std::string_view rest = directory; rest.size() >= kEntryBytes;) {
        if (!rest.starts_with(kDirectoryEntry))
            refuse("an entry of its list of files is no entry");
        const std::size_t name = numberAt(rest, 28, 2);
        const std::size_t extra = numberAt(rest, 30, 2);
        const std::size_t comment = numberAt(rest, 32, 2);
        Entry entry{.name = std::string(rest.substr(kEntryBytes, name)),
                    .size = numberAt(rest, 24, 4),
                    .packed = numberAt(rest, 20, 4),
                    .header = numberAt(rest, 42, 4)};
        takeFrom64(rest.substr(std::min(kEntryBytes + name, rest.size())).substr(0, extra), entry);
        const std::uint64_t method = numberAt(rest, 10, 2);
        const bool isEncrypted = (numberAt(rest, 8, 2) & 1) != 0;
        constexpr std::uint64_t kDeflated = 8;
        entry.isDeflated = method == kDeflated;
        const bool isFile = entry.size > 0 && !entry.name.ends_with('/');
        if (isFile && !isEncrypted && (method == 0 || method == kDeflated))
            entries_.push_back(std::move(entry));
        else if (isFile)
            unreadable_.push_back(std::move(entry.name));
        if (entries_.size() + unreadable_.size() > kMostEntries)
            refuse("it has more than 100,000 files");
        rest.remove_prefix(std::min(kEntryBytes + name + extra + comment, rest.size()));
    }
}

void ZipFile::read(const Entry& entry, const Sink& sink) const
{
    constexpr std::uint64_t kPiece = 256 << 10;
    const std::string header = bytesAt(entry.header, kLocalBytes);
    if (!header.starts_with(kLocalHeader))
        refuse("a file of it has no header");
    std::uint64_t at = entry.header + kLocalBytes + numberAt(header, 26, 2) + numberAt(header, 28, 2);
    std::uint64_t left = entry.packed;
    z_stream stream = {};
    if (entry.isDeflated && inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        refuse("zlib could not be started");
    std::string text(kPiece, '\0');
    std::uint64_t written = 0;
    int result = Z_OK;
    bool isWanted = true;
    try {
        while (isWanted && left > 0 && result != Z_STREAM_END) {
            std::string packed = bytesAt(at, std::min(left, kPiece));
            at += packed.size();
            left -= packed.size();
            if (!entry.isDeflated) {
                isWanted = sink(packed);
                continue;
            }
            stream.next_in = reinterpret_cast<Bytef*>(packed.data());
            stream.avail_in = static_cast<uInt>(packed.size());
            do {
                stream.next_out = reinterpret_cast<Bytef*>(text.data());
                stream.avail_out = static_cast<uInt>(text.size());
                result = inflate(&stream, Z_NO_FLUSH);
                if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
                    refuse("a file of it cannot be decompressed");
                const std::size_t got = text.size() - stream.avail_out;
                written += got;
                constexpr std::uint64_t kAnyRatio = std::uint64_t{64} << 20;
                if (written > kMostInflated ||
                    (written > kAnyRatio &&
                     written / std::max<std::uint64_t>(entry.packed, 1) > kMostInflation))
                    throw Error{.what = "expands to more than 400 times its size, as no trace does",
                                .where = file_.string()};
                isWanted = sink(std::string_view(text).substr(0, got));
            } while (isWanted && stream.avail_out == 0 && result != Z_STREAM_END);
        }
    } catch (...) {
        inflateEnd(&stream);
        throw;
    }
    inflateEnd(&stream);
}

std::string ZipFile::head(const Entry& entry, std::size_t most) const
{
    std::string text;
    read(entry, [&](std::string_view piece) {
        text += piece.substr(0, most - text.size());
        return text.size() < most;
    });
    return text;
}

void ZipFile::extract(const Entry& entry, const std::filesystem::path& to) const
{
    std::ofstream out(to, std::ios::binary);
    read(entry, [&](std::string_view piece) {
        out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
        return out.good();
    });
    out.close();
    if (!out)
        throw Error{.what = "cannot be unpacked into the temporary folder",
                    .where = file_.string(),
                    .remedy = "free space there or set TMPDIR",
                    .kind = ErrorKind::Failure};
}

} // namespace tilescope::exchange
