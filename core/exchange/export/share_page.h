#pragma once

#include "core/store/run_reader.h"

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

namespace tilescope::exchange {

struct SharePageOptions {
    /// Whether to write host names, command lines and home folders; see withoutHomes().
    bool withIdentity = false;
    std::string title; ///< of the page
};

/// What was written.
struct SharePageFigures {
    std::size_t runs = 0;
    std::size_t untraced = 0; ///< runs without events
    std::size_t boxes = 0;
    std::size_t kernels = 0; ///< rows of the kernel tables
    std::size_t bytes = 0;   ///< of the page
};

/// Writes one HTML page that shows runs without Tilescope and without a network: timeline, kernel table and
/// memory curve.
///
/// Style, script and layout are files of resources/share. The page's Content-Security-Policy allows only this
/// style and this script, by their hashes. Each run is one JSON object and the columns of PackedTimeline,
/// compressed and encoded by base91(), so that no text of a recording becomes HTML or script; the script
/// shows texts only as text nodes. If the run has sealed tracks, memory holds only its timeline, about 17
/// bytes per box, and the compressed columns.
///
/// \throws Error  no such run; the file is damaged; a resource is missing; the stream cannot be written
SharePageFigures writeSharePage(std::ostream& out, const store::RunReader& reader,
                                std::span<const RunId> runs, const SharePageOptions& options);

} // namespace tilescope::exchange
