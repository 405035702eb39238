#pragma once

#include <string>
#include <string_view>

namespace tilescope::record {

/// What tells a process from a later one with the same number, and from one of another container.
struct ProcessIdentity {
    std::string started; ///< clock ticks since the host was started
    std::string space;   ///< the namespace of its number
    bool operator==(const ProcessIdentity&) const = default;
};

/// \param process  its folder in /proc: "self" or a number
/// \return         empty texts where they cannot be read: the process has ended, or belongs to another user
ProcessIdentity identityOf(std::string_view process);

} // namespace tilescope::record
