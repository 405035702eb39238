#pragma once

#include <iosfwd>
#include <string>

namespace tilescope::cli {

/// The options of `doctor --ceilings`.
struct CeilingsRequest {
    bool asked = false;
    bool force = false; ///< save a calibration although the host was busy
    std::string file;   ///< empty: this user's calibration, used for predictions of time
    std::string device; ///< empty: auto
    std::string format = "text";
    std::string commandLine;
};

/// Measures the ceilings of a device, prints them and saves them in the given file, otherwise as this user's
/// calibration.
/// \return        the exit code
/// \throws Error  from session::measureCeilings; other options without --ceilings; the host was busy and
///                `force` is not set for a calibration
int measureCeilings(const CeilingsRequest& request, std::ostream& out);

} // namespace tilescope::cli
