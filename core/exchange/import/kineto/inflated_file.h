#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
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

/// Reads a text file that may be compressed with gzip. One thread reads, any thread asks for done().
class InflatedFile {
public:
    /// \throws Error (Usage)  not a regular file, or not readable
    explicit InflatedFile(const std::filesystem::path& file);
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
    void checkSize(std::size_t more);

    std::filesystem::path file_;
    int number_ = -1;
    std::uint64_t size_ = 0;
    std::atomic<std::uint64_t> read_ = 0;
    std::uint64_t text_ = 0;
    bool damaged_ = false;
    std::unique_ptr<Inflation> inflation_; ///< none: plain text
};

} // namespace tilescope::exchange
