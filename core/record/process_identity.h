#pragma once

#include <cstdint>
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

/// Whether a process that was told about runs on this machine. A zombie does not.
/// \param host  the machine that it was started on
/// \param told  empty texts: unknown
bool stillRuns(std::string_view host, std::int64_t process, const ProcessIdentity& told);

} // namespace tilescope::record
