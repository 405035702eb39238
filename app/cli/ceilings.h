#pragma once

#include <iosfwd>
#include <string>

namespace tilescope::cli {

/// What `doctor --ceilings` was asked.
struct CeilingsRequest {
    bool asked = false;
    std::string file;   ///< empty: this user's calibration, for predictions of time
    std::string device; ///< empty: auto
    std::string format = "text";
    std::string commandLine;
};

/// Measures what a device reaches at most, prints it, and keeps it in the file where one is named.
/// \return  the exit code. \throws Error  as session::measureCeilings; a file or device without --ceilings
int measureCeilings(const CeilingsRequest& request, std::ostream& out);

} // namespace tilescope::cli
