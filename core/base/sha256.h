#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope {

/// SHA-256 (FIPS 180-4) of bytes that arrive in pieces. One thread.
class Sha256 {
public:
    Sha256();
    void add(std::string_view bytes);
    /// The digest of all bytes so far, as 64 lower-case hexadecimal digits. Call it once, last.
    std::string digest();

private:
    static constexpr std::size_t kBlock = 64;

    std::array<std::uint32_t, 8> state_;
    std::string pending_; ///< less than a block
    std::uint64_t bytes_ = 0;
};

/// SHA-256 of the bytes, as 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

} // namespace tilescope
