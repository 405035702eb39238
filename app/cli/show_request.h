#pragma once

#include "app/cli/show_sections.h"

#include <iosfwd>
#include <optional>
#include <span>
#include <string>

namespace tilescope::cli {

/// The parsed arguments of `tilescope show`; none if help was printed to `out`.
/// \throws Error (Usage)  an argument is unknown or unusable
std::optional<ShowRequest> parsedRequest(std::span<const std::string> words, std::ostream& out);

/// The section that a request names. Sets the grouping of the request's query.
/// \throws Error (Usage)  there is no such section, or it does not take an option that is given
const ShowSection& checkedSection(ShowRequest& request);

} // namespace tilescope::cli
