#pragma once

#include "core/base/units.h"
#include "core/hosts/bundle.h"
#include "core/hosts/ssh_link.h"

#include <functional>
#include <stop_token>

namespace tilescope::hosts {

/// What the installation has copied so far.
using CopyProgress = std::function<void(Bytes copied, Bytes of)>;

/// The folder of Tilescope's cache there, as a word of a POSIX shell.
inline constexpr const char* kHostCache = "\"${XDG_CACHE_HOME:-$HOME/.cache}/tilescope\"";

/// Copies a bundle into Tilescope's cache on a host unless it is there: into a new folder that only the user can read,
/// where every file is checked by its SHA-256 before the folder gets its name. Other versions there stay.
/// \return        whether it was copied
/// \throws Error (Environment)  its disk is full, a program is missing there, a checksum differs, …; nothing is left there
/// \throws Stopped
bool install(const SshLink& link, const Bundle& bundle, const CopyProgress& progress = {},
             std::stop_token stop = {});

/// Removes what Tilescope copied to a host and its finished work there. The cache of a Tilescope that is installed on
/// the host itself stays.
/// \return        the folder there
/// \throws Error (Usage)        work is running there
/// \throws Error (Environment)  the connection was lost
/// \throws Stopped
std::string removeFiles(const SshLink& link, std::stop_token stop = {});

/// The command line that starts a program of the bundle there, with the set-up lines of the host.
/// \param arguments  quoted
std::string hostCommand(const SshLink& link, const Bundle& bundle, const std::string& arguments);

} // namespace tilescope::hosts
