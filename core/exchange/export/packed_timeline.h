#pragma once

#include "core/query/timeline/timeline.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

/// The boxes, memory curves and counters of a timeline, column by column, for resources/share/data.js.
///
/// A column is a list of whole numbers, stored as planes: the lowest byte of every number, then the next byte of
/// every number, up to the highest byte that is not 0 everywhere. Deflate compresses a plane of similar bytes
/// better than numbers of varying size. Signed numbers are zigzag-coded: 2n, or -2n-1 below 0.
///
/// Columns of boxes, lane by lane, row by row, in start order:
/// - skips: only for rows below the first: the index of the last box in the row above that starts no later,
///   minus the index for the previous box (-1 before the first box)
/// - gaps: the start, minus the end of the previous box or the start of that box above, whichever is later; a
///   missing box counts as 0
/// - lengths
/// - names: index into `names`
///
/// Columns of curves, curve by curve:
/// - times: differences from the previous time; the first from 0
/// - allocated, reserved: signed differences from the previous value; the first from 0. The first of these
///   columns also holds the values of a counter, in thousandths of its unit
struct PackedTimeline {
    /// A name that boxes share; the most frequent come first.
    struct Name {
        std::uint32_t name = 0; ///< index into Timeline::names
        query::Hue hue = query::Hue::Other;
    };
    /// The changes of a memory lane or a counter.
    struct Curve {
        std::size_t lane = 0; ///< index into Timeline::lanes
        std::size_t points = 0;
    };
    enum Column { Skips, Gaps, Lengths, Names, Times, Allocated, Reserved, kColumns };

    std::vector<Name> names;
    std::vector<std::vector<std::size_t>> rows; ///< boxes per row, per lane
    std::vector<Curve> curves;
    std::array<std::vector<std::uint64_t>, kColumns> columns;
    std::size_t boxes = 0;
};

/// O(boxes + points).
PackedTimeline pack(const query::Timeline& timeline);

/// The planes of a column, each with as many bytes as there are numbers.
std::vector<std::string> planesOf(std::span<const std::uint64_t> column);

/// The raw DEFLATE stream (RFC 1951) of the parts, one after the other. Each part has its own blocks, because
/// planes differ too much to share codes. A part refers to earlier bytes only if this makes it smaller.
std::string deflated(std::span<const std::string> parts);

/// The bytes as printable ASCII without `<`: each 13 bits, the lowest first, are two digits of base 91, the
/// lower first; the last ones are filled up with 0. Digits are the characters from `=` to `~`, then those from
/// space to `8`. 23 % longer than the bytes, where base64 takes 33 %.
std::string base91(std::string_view bytes);

/// RFC 4648, with padding.
std::string base64(std::string_view bytes);

} // namespace tilescope::exchange
