#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope::store {

/// Small numbers of either sign as small numbers.
constexpr std::uint64_t folded(std::int64_t value)
{
    return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unfolded(std::uint64_t value)
{
    return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
}

/// Writes numbers with seven bits per byte behind a checksum.
class Packer {
public:
    Packer();
    void put(std::uint64_t value)
    {
        for (; value >= 128; value >>= 7)
            bytes_ += static_cast<char>(value | 128);
        bytes_ += static_cast<char>(value);
    }
    std::string finish() &&;

private:
    std::string bytes_;
};

/// \throws Error  always: packed numbers are not as they were written
[[noreturn]] void throwDamagedPacking();

/// Reads the output of a Packer. The checksum was verified, so the format is valid.
class Unpacker {
public:
    /// \throws Error  the bytes are damaged; so do the members
    explicit Unpacker(std::string_view bytes);
    /// Reads on where another one has verified the bytes.
    Unpacker(const char* from, const char* to) : at_(from), end_(to) {}

    std::uint64_t take()
    {
        std::uint64_t value = 0;
        for (unsigned shift = 0; at_ != end_ && shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(*at_++);
            value |= std::uint64_t{byte & 127U} << shift;
            if (byte < 128)
                return value;
        }
        throwDamagedPacking();
    }
    /// How many things follow, each of at least one byte.
    std::size_t takeCount();
    /// Bytes that have not been read.
    std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

private:
    const char* at_ = nullptr;
    const char* end_ = nullptr;
};

} // namespace tilescope::store
