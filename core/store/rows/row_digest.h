#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

namespace tilescope::store {

/// Stands for SQL's null among the integers of an event row. No time, size or id ever has this value.
inline constexpr std::int64_t kNull = std::numeric_limits<std::int64_t>::min();

/// The digest of a row's values, which are added in the order of its columns.
///
/// Detects damage, not malice: fast enough to run over every row that is written. Values of different types differ.
/// A null only counts its column, so a column that a later version of the schema adds does not change the digests of
/// the rows that were there before.
class RowDigest {
public:
    void add(std::int64_t value) { mix(static_cast<std::uint64_t>(value), kInteger); }
    void add(double value)
    {
        // SQLite preserves neither the sign of zero nor NaN.
        if (value != value)
            return addNull();
        mix(std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value), kNumber);
    }
    void add(std::string_view text) { addBytes(text, kText); }
    void addBlob(std::string_view bytes) { addBytes(bytes, kBlob); }
    void addNull() { column_ += kColumn; }
    /// A value of an event row, where kNull is null.
    void addOrNull(std::int64_t value)
    {
        if (value == kNull)
            addNull();
        else
            add(value);
    }

    std::uint64_t value() const
    {
        // The high bits of a product depend on all bits below; the low ones do not.
        const std::uint64_t mixed = (state_ ^ (state_ >> 32)) * 0xD6E8FEB86659FD93ULL;
        return mixed ^ (mixed >> 32);
    }

private:
    // One odd factor a type: the same bits of two types lead to different states.
    static constexpr std::uint64_t kInteger = 0x9E3779B97F4A7C15ULL;
    static constexpr std::uint64_t kNumber = 0xBF58476D1CE4E5B9ULL;
    static constexpr std::uint64_t kText = 0x94D049BB133111EBULL;
    static constexpr std::uint64_t kBlob = 0xC2B2AE3D27D4EB4FULL;
    static constexpr std::uint64_t kColumn = 0xFF51AFD7ED558CCDULL;

    void mix(std::uint64_t bits, std::uint64_t factor)
    {
        state_ = (std::rotl(state_, 5) ^ (bits + column_)) * factor;
        column_ += kColumn;
    }
    void addBytes(std::string_view bytes, std::uint64_t factor)
    {
        mix(bytes.size(), factor);
        for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), sizeof(std::uint64_t)))) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes.data(), std::min(bytes.size(), sizeof word));
            state_ = (std::rotl(state_, 5) ^ word) * factor;
            state_ ^=
                state_ >> 29; // the highest byte of a word would otherwise reach few bits of the next state
        }
    }

    std::uint64_t state_ = 0x243F6A8885A308D3ULL;
    std::uint64_t column_ = 0; ///< a multiple of kColumn
};

} // namespace tilescope::store
