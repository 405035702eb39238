#include "core/exchange/import/kineto/inflated_file.h"

#include "core/base/error.h"
#include "core/base/input_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace tilescope::exchange {

namespace {

constexpr std::size_t kRawBytes = std::size_t{256} << 10;
constexpr int kGzipOnly = 15 + 16; // zlib: the largest window, with a gzip header

Bytef* bytesOf(char* text)
{
    return reinterpret_cast<Bytef*>(text);
}

} // namespace

/// zlib's state and the compressed bytes that it has not seen yet.
class InflatedFile::Inflation {
public:
    Inflation() : raw(kRawBytes)
    {
        if (inflateInit2(&stream, kGzipOnly) != Z_OK)
            throw Error{.what = "zlib could not be started", .kind = ErrorKind::Failure};
    }
    ~Inflation() { inflateEnd(&stream); }
    Inflation(const Inflation&) = delete;
    Inflation& operator=(const Inflation&) = delete;

    z_stream stream = {};
    std::vector<char> raw;
    bool betweenMembers = false; ///< a gzip file may consist of several
    bool ended = false;
};

bool isGzip(std::string_view head)
{
    return head.starts_with("\x1f\x8b\x08");
}

std::string inflatedHead(std::string_view head, std::size_t most)
{
    z_stream stream = {};
    if (inflateInit2(&stream, kGzipOnly) != Z_OK)
        return {};
    std::string text(most, '\0');
    std::string raw(head);
    stream.next_in = bytesOf(raw.data());
    stream.avail_in = static_cast<uInt>(raw.size());
    stream.next_out = bytesOf(text.data());
    stream.avail_out = static_cast<uInt>(text.size());
    inflate(&stream, Z_SYNC_FLUSH); // what comes before damage counts
    text.resize(most - stream.avail_out);
    inflateEnd(&stream);
    return text;
}

std::string textHead(std::string_view head, std::size_t most)
{
    std::string bytes = isGzip(head) ? inflatedHead(head, most) : std::string(head);
    const auto order = utf16OrderOf(bytes);
    if (!order)
        return bytes;
    std::string text;
    Utf16Decoder(*order).decode(bytes, text);
    return text;
}

InflatedFile::InflatedFile(const std::filesystem::path& file, Content content)
    : file_(file), content_(content)
{
    constexpr std::int64_t kMagic = 4;
    const std::string head = readInputHead(file, Bytes{kMagic}, "trace");
    number_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (number_ < 0)
        throw Error{.what = std::string("cannot be opened (") + std::strerror(errno) + ")",
                    .where = file.string(),
                    .remedy = remedyForUnreadable(errno)};
    size_ = std::filesystem::file_size(file);
    if (isGzip(head))
        inflation_ = std::make_unique<Inflation>();
}

InflatedFile::~InflatedFile()
{
    if (number_ >= 0)
        ::close(number_);
}

std::size_t InflatedFile::readRaw(char* to, std::size_t most)
{
    for (;;) {
        const ssize_t got = ::read(number_, to, most);
        if (got >= 0) {
            read_.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
            return static_cast<std::size_t>(got);
        }
        if (errno != EINTR)
            throw Error{.what = std::string("cannot be read (") + std::strerror(errno) + ")",
                        .where = file_.string(),
                        .remedy = "check the disk",
                        .kind = ErrorKind::Failure};
    }
}

std::size_t InflatedFile::inflateInto(char* to, std::size_t most)
{
    z_stream& stream = inflation_->stream;
    stream.next_out = bytesOf(to);
    stream.avail_out = static_cast<uInt>(most);
    while (stream.avail_out == most && !inflation_->ended) {
        if (stream.avail_in == 0) {
            const std::size_t got = readRaw(inflation_->raw.data(), inflation_->raw.size());
            stream.next_in = bytesOf(inflation_->raw.data());
            stream.avail_in = static_cast<uInt>(got);
            if (got == 0) {
                damaged_ = !inflation_->betweenMembers;
                inflation_->ended = true;
                break;
            }
        }
        const bool wasBetween = std::exchange(inflation_->betweenMembers, false);
        const int result = inflate(&stream, Z_NO_FLUSH);
        if (result == Z_STREAM_END) {
            inflation_->betweenMembers = true;
            inflateReset(&stream);
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            // Like gzip, treat other bytes after the last member as padding.
            damaged_ = !wasBetween;
            inflation_->ended = true;
        }
    }
    return most - stream.avail_out;
}

void InflatedFile::checkSize(std::size_t more)
{
    constexpr std::uint64_t kAnyRatio = std::uint64_t{64} << 20;
    text_ += more;
    const std::uint64_t read = std::max<std::uint64_t>(read_.load(std::memory_order_relaxed), 1);
    if (text_ > kMostInflated)
        throw Error{
            .what = "expands to more than 64 GiB", .where = file_.string(), .remedy = "profile fewer steps"};
    if (inflation_ && text_ > kAnyRatio && text_ / read > kMostInflation)
        throw Error{.what = "expands to more than 400 times its size, as no trace does",
                    .where = file_.string(),
                    .remedy = "decompress it with gzip -d and import the result, if you trust it"};
}

std::size_t InflatedFile::readBytes(char* to, std::size_t most)
{
    const std::size_t got = inflation_ ? inflateInto(to, most) : readRaw(to, most);
    checkSize(got);
    return got;
}

std::size_t InflatedFile::takeDecoded(char* to, std::size_t most)
{
    const std::size_t took = decoded_.copy(to, most, taken_);
    taken_ += took;
    return took;
}

std::size_t InflatedFile::read(char* to, std::size_t most)
{
    if (most > 0 && content_ == Content::Text && text_ == 0) {
        // The first bytes tell; what they hold is returned like the rest.
        std::string head(std::min(most, kRawBytes), '\0');
        head.resize(readBytes(head.data(), head.size()));
        if (const auto order = utf16OrderOf(head))
            decoder_.emplace(*order).decode(head, decoded_);
        else
            decoded_ = std::move(head);
    }
    while (decoder_ && taken_ == decoded_.size()) {
        std::string bytes(kRawBytes, '\0');
        bytes.resize(readBytes(bytes.data(), bytes.size()));
        decoded_.clear();
        taken_ = 0;
        if (bytes.empty())
            return 0;
        decoder_->decode(bytes, decoded_);
    }
    const std::size_t took = takeDecoded(to, most);
    return took > 0 || decoder_ ? took : readBytes(to, most);
}

std::uint64_t InflatedFile::used() const
{
    return read_.load(std::memory_order_relaxed) - (inflation_ ? inflation_->stream.avail_in : 0);
}

double InflatedFile::done() const
{
    return size_ == 0 ? 1.0
                      : std::min(1.0, static_cast<double>(read_.load(std::memory_order_relaxed)) /
                                          static_cast<double>(size_));
}

} // namespace tilescope::exchange
