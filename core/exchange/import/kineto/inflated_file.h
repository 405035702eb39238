#pragma once

#include "core/base/utf16.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope::exchange {

/// The text that compressed data may expand to.
inline constexpr std::uint64_t kMostInflated = std::uint64_t{64} << 30;
/// How many times its size compressed data may expand to, from 64 MiB of text on.
inline constexpr std::uint64_t kMostInflation = 400;

/// Whether a file begins as gzip does.
bool isGzip(std::string_view head);

/// The text of the beginning of a gzip file: at most `most` bytes; empty if it is damaged.
std::string inflatedHead(std::string_view head, std::size_t most);

/// The beginning of a file's text: uncompressed, at most `most` bytes of it, and in UTF-8.
std::string textHead(std::string_view head, std::size_t most);

/// Reads a file that may be compressed with gzip. One thread reads, any thread asks for done().
class InflatedFile {
public:
    /// What read() returns of a file in UTF-16: its bytes, or its text in UTF-8.
    enum class Content : std::uint8_t { Bytes, Text };

    /// \throws Error (Usage)  not a regular file, or not readable
    explicit InflatedFile(const std::filesystem::path& file, Content content = Content::Bytes);
    ~InflatedFile();
    InflatedFile(const InflatedFile&) = delete;
    InflatedFile& operator=(const InflatedFile&) = delete;

    /// The next bytes of the text, at most `most`; 0 at the end. Text before damaged data is returned.
    /// \throws Error  the disk reports an error, or the text exceeds kMostInflated or kMostInflation
    std::size_t read(char* to, std::size_t most);

    /// Whether the compressed data is cut off or damaged behind the text that was read.
    bool isDamaged() const { return damaged_; }
    bool isCompressed() const { return inflation_ != nullptr; }
    std::uint64_t size() const { return size_; }
    /// Bytes of the file that became text. By the thread that reads.
    std::uint64_t used() const;
    /// The share of the file that was read, 0 to 1.
    double done() const;

private:
    class Inflation;

    std::size_t readRaw(char* to, std::size_t most);
    std::size_t inflateInto(char* to, std::size_t most);
    std::size_t readBytes(char* to, std::size_t most);
    std::size_t takeDecoded(char* to, std::size_t most);
    void checkSize(std::size_t more);

    std::filesystem::path file_;
    int number_ = -1;
    std::uint64_t size_ = 0;
    std::atomic<std::uint64_t> read_ = 0;
    std::uint64_t text_ = 0;
    bool damaged_ = false;
    std::unique_ptr<Inflation> inflation_; ///< none: plain text
    Content content_;
    std::optional<Utf16Decoder> decoder_; ///< none: the file is not in UTF-16, or its bytes are wanted
    std::string decoded_;                 ///< of which `taken_` bytes were returned
    std::size_t taken_ = 0;
};

} // namespace tilescope::exchange
