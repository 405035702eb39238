#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tilescope::store {

/// Stands for SQL's null among the integers of an event row. No time, size or id ever has this value.
inline constexpr std::int64_t kNull = std::numeric_limits<std::int64_t>::min();

/// The rule for checksums of rows. A file keeps the rule with which it was created.
enum class DigestRule : std::uint8_t {
    Untyped = 1, ///< up to version 7 of the schema: null is an integer, and an empty text is 0
    Typed = 2    ///< null, integers, numbers, texts and bytes differ
};

/// The digest of a row's values, in the order of its columns. A chunk's checksum is the sum over its rows.
///
/// Meant to catch damage, not malice: fast enough to run over every row that is written.
class RowDigest {
public:
    explicit RowDigest(DigestRule rule) : typed_(rule == DigestRule::Typed) {}

    void add(std::int64_t value) { mix(static_cast<std::uint64_t>(value), kInteger); }
    void add(double value)
    {
        // SQLite preserves neither the sign of zero nor NaN.
        if (typed_ && value != value)
            return addNull();
        mix(std::bit_cast<std::uint64_t>(typed_ && value == 0 ? 0.0 : value), typed_ ? kNumber : kInteger);
    }
    void add(std::string_view text) { addBytes(text, typed_ ? kText : kInteger); }
    void addBlob(std::string_view bytes) { addBytes(bytes, typed_ ? kBlob : kInteger); }
    void addNull() { mix(static_cast<std::uint64_t>(kNull), typed_ ? kNothing : kInteger); }
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
    static constexpr std::uint64_t kNothing = 0xFF51AFD7ED558CCDULL;

    void mix(std::uint64_t bits, std::uint64_t factor) { state_ = (std::rotl(state_, 5) ^ bits) * factor; }
    void addBytes(std::string_view bytes, std::uint64_t factor)
    {
        mix(bytes.size(), factor);
        for (const char c : bytes)
            mix(static_cast<unsigned char>(c), kInteger);
    }

    std::uint64_t state_ = 0x243F6A8885A308D3ULL;
    bool typed_;
};

} // namespace tilescope::store
