#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tilescope::store {

/// Stands for SQL's null among the integers of an event row. No time, size or id ever has this value.
inline constexpr std::int64_t kNull = std::numeric_limits<std::int64_t>::min();

/// What a row's values add up to, in the order of its columns; a chunk's checksum is the sum over its rows.
///
/// Meant to catch damage, not malice: fast enough to run over every row that is written.
class RowDigest {
public:
    void add(std::int64_t value)
    {
        state_ = (std::rotl(state_, 5) ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15ULL;
    }
    void add(double value) { add(std::bit_cast<std::int64_t>(value)); }
    void add(std::string_view text)
    {
        add(static_cast<std::int64_t>(text.size()));
        for (const char c : text)
            add(static_cast<std::int64_t>(static_cast<unsigned char>(c)));
    }
    void addNull() { add(kNull); }

    std::uint64_t value() const
    {
        // The high bits of a product hang on all bits below; the low ones do not.
        const std::uint64_t mixed = (state_ ^ (state_ >> 32)) * 0xD6E8FEB86659FD93ULL;
        return mixed ^ (mixed >> 32);
    }

private:
    std::uint64_t state_ = 0x243F6A8885A308D3ULL;
};

} // namespace tilescope::store
