#pragma once

#include "core/hosts/remote_host.h"
#include "core/hosts/remote_job.h"
#include "core/session/protocol/stop_signals.h"
#include "core/session/supervisor/supervisor.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::cli {

/// A host of the user's list. What its connection does is said on standard error.
/// \throws Error  there is no such host
hosts::RemoteHost hostNamed(const std::string& name);

/// The names of all hosts, which shells suggest for --on.
std::vector<std::string> suggestedHosts();

/// HOST:PATH in HOST:PATH or HOST:PATH:RUN, where HOST is a known host and no local file has this name; none otherwise.
std::optional<std::string_view> fileOnHost(std::string_view text);

/// \throws Error  `named` has the form HOST:PATH, and there is neither such a file nor such a host
void refuseUnknownHost(std::string_view named);

/// For verbs that change a file in place.
/// \throws Error  `named` is a file of a known host
void requireChangeable(std::string_view named);

/// A local copy of HOST:PATH; none if `named` does not have this form. Shows progress on standard error if
/// that is a terminal. The first SIGINT, SIGTERM or SIGHUP cancels.
/// \throws Error, Cancelled
std::optional<std::filesystem::path> fetchedFile(std::string_view named);

/// The same; of a folder of traces, copies of those of its files whose names end as those of importers.
/// \return  empty: `named` does not have this form
std::vector<std::filesystem::path> fetchedFiles(std::string_view named);

/// Whether a line says how many runs arrived.
enum class SayMerge { Yes, No };

/// Runs points on a host and adds their runs to `options.file` as they end. Events come as from a local sweep.
/// \param signals  the first cancels the sweep there; the second leaves it if the host cannot be reached
/// \return         exit code
int sweepOnHost(const std::string& name, const std::vector<session::SweepPoint>& points,
                const session::SweepOptions& options,
                const std::function<void(const session::Event&)>& onEvent,
                const session::StopSignals& signals, SayMerge say = SayMerge::Yes);

/// Runs a Tilescope command on a host; its output appears here.
/// \param output  the local file that gets its recording; empty: it makes none
/// \return        its exit code
int commandOnHost(const std::string& name, hosts::JobRequest request, const std::filesystem::path& output);

/// Makes what is told the events of a sweep with these points, which outlive it.
using ShowSweep =
    std::function<std::function<void(const session::Event&)>(const std::vector<session::SweepPoint>& points)>;

/// Follows work that was started earlier, and adds its recording to `output`; empty: the file that it was started for.
/// \return  its exit code
int attachToHost(const std::string& name, const std::string& job, const std::filesystem::path& output,
                 const ShowSweep& showSweep);

} // namespace tilescope::cli
