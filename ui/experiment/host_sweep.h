#pragma once

#include "core/hosts/remote_job.h"
#include "core/hosts/started_work.h"
#include "core/session/supervisor/supervisor.h"
#include "ui/experiment/place_state.h"
#include "ui/experiment/sweep_worker.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::ui {

/// What is told about a sweep on a host, on the thread that runs it.
struct HostSweepWatch {
    std::function<void(const session::Event&)> event;
    std::function<void(const PlaceState&)> place;
    std::function<void()> arrived = {}; ///< runs were added to the file; on another thread
};

/// Runs points on a host and adds their runs to `options.file` as they end; connects again whenever the
/// connection is lost. Blocks; one thread.
///
/// The sweep is noted in the user's cache, so that the next program finds it if this one leaves.
/// \param host     its name in the user's list
/// \param name     of the sweep
/// \param earlier  the sweep that another program started; null: it is started
/// \throws Error   it could not be started, or its runs could not be fetched: they stay there then
SweepEnd runOnHost(const std::string& host, const std::string& name,
                   const std::shared_ptr<hosts::StartedWork>& earlier,
                   const std::vector<session::SweepPoint>& points, const session::SweepOptions& options,
                   const HostSweepWatch& watch, const hosts::FollowStops& stops);

} // namespace tilescope::ui
