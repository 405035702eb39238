#include "core/hosts/tar_stream.h"

#include "core/base/error.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <set>
#include <utility>

namespace tilescope::hosts {

namespace {

constexpr std::size_t kBlock = 512;
constexpr std::int64_t kPiece = std::int64_t{1} << 20;

void putField(std::string& header, std::size_t at, std::string_view text)
{
    std::ranges::copy(text, header.begin() + std::ptrdiff_t(at));
}

/// A number in octal digits that fill all of a field but its last byte.
std::string octal(std::int64_t number, std::size_t digits)
{
    std::array<char, 32> text{};
    const int length = std::snprintf(text.data(), text.size(), "%0*llo", int(digits),
                                     static_cast<unsigned long long>(number));
    return {text.data(), std::size_t(length)};
}

/// The header of a file or, if its name ends with a slash, of a folder (IEEE Std 1003.1, pax, "ustar Interchange Format").
std::string headerOf(const std::string& name, std::int64_t size, bool isExecutable)
{
    constexpr std::size_t kMostName = 100;
    constexpr std::size_t kChecksum = 148;
    if (name.size() > kMostName)
        throw Error{.what = "its name is too long for an archive", .where = name, .kind = ErrorKind::Failure};
    const bool isFolder = name.ends_with('/');
    std::string header(kBlock, '\0');
    putField(header, 0, name);
    putField(header, 100, isFolder || isExecutable ? "0000700" : "0000600");
    putField(header, 108, octal(0, 7));
    putField(header, 116, octal(0, 7));
    putField(header, 124, octal(size, 11));
    putField(header, 136, octal(0, 11));
    putField(header, kChecksum, "        ");
    putField(header, 156, isFolder ? "5" : "0");
    putField(header, 257,
             std::string_view("ustar\0"
                              "00",
                              8));
    std::int64_t sum = 0;
    for (const char byte : header)
        sum += static_cast<unsigned char>(byte);
    putField(header, kChecksum, octal(sum, 6) + std::string(1, '\0') + " ");
    return header;
}

} // namespace

TarStream::TarStream(std::vector<ArchivedFile> files) : files_(std::move(files))
{
    std::set<std::string> folders;
    for (ArchivedFile& file : files_) {
        if (file.local.empty())
            file.size = Bytes{std::int64_t(file.text.size())};
        size_ += file.size;
        for (std::size_t slash = file.name.find('/'); slash != std::string::npos;
             slash = file.name.find('/', slash + 1))
            folders.insert(file.name.substr(0, slash + 1));
    }
    for (const std::string& folder : folders)
        piece_ += headerOf(folder, 0, true);
}

void TarStream::beginFile()
{
    const ArchivedFile& file = files_[at_];
    piece_ = headerOf(file.name, file.size.count, file.isExecutable);
    left_ = file.size.count;
    isOpen_ = true;
    if (file.local.empty()) {
        piece_ += file.text;
        left_ = 0;
        return;
    }
    stream_ = std::ifstream(file.local, std::ios::binary);
}

std::string_view TarStream::next()
{
    if (!std::exchange(isBegun_, true) && !piece_.empty())
        return piece_; // the folders
    if (isEnded_)
        return {};
    if (!isOpen_ && at_ == files_.size()) {
        isEnded_ = true;
        piece_.assign(2 * kBlock, '\0');
        return piece_;
    }
    piece_.clear();
    if (!isOpen_)
        beginFile();
    const ArchivedFile& file = files_[at_];
    if (left_ > 0) {
        const std::size_t before = piece_.size();
        const std::int64_t count = std::min(left_, kPiece);
        piece_.resize(before + std::size_t(count));
        if (!stream_.read(piece_.data() + before, count))
            throw Error{.what = "cannot be read completely",
                        .where = file.local.string(),
                        .remedy = "do not build Tilescope meanwhile",
                        .kind = ErrorKind::Failure};
        left_ -= count;
    }
    if (left_ == 0) {
        const std::size_t over = std::size_t(file.size.count) % kBlock;
        piece_.append(over == 0 ? 0 : kBlock - over, '\0');
        isOpen_ = false;
        ++at_;
    }
    return piece_;
}

} // namespace tilescope::hosts
