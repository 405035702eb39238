#pragma once

#include <iosfwd>
#include <string>

namespace tilescope::cli {

/// What `doctor --ceilings` was asked.
struct CeilingsRequest {
    bool asked = false;
    bool force = false; ///< keep a calibration although the host was busy
    std::string file;   ///< empty: this user's calibration, for predictions of time
    std::string device; ///< empty: auto
    std::string format = "text";
    std::string commandLine;
};

/// Measures what a device reaches at most, prints it, and keeps it in the file that is named, else as this
/// user's calibration.
/// \return        the exit code.
/// \throws Error  as session::measureCeilings; other options without --ceilings; the host was busy, and the
///                figures are kept as calibration by `force` alone
int measureCeilings(const CeilingsRequest& request, std::ostream& out);

} // namespace tilescope::cli
