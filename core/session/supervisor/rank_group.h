#pragma once

#include "core/base/temporary_path.h"
#include "core/model/rank_info.h"
#include "core/rendezvous/rank_hub.h"
#include "core/rendezvous/rank_memory.h"
#include "core/session/protocol/event.h"
#include "core/session/supervisor/engine_keeper.h"
#include "core/session/supervisor/slurm_job.h"
#include "core/session/supervisor/supervisor.h"

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tilescope::session {

/// The engines of the ranks 1 and up of one point. Rank 0 is the engine of the sweep, which writes the file;
/// these write working files that rank 0 joins. The destructor kills the engines and removes their files.
/// In a Slurm job of several nodes the engines are on its nodes (slurm_job.h). One thread.
class RankGroup {
public:
    /// Starts the engines, one after the other.
    /// \param log  receives their log events
    /// \throws Error  an engine does not start, or the Slurm job is too small
    RankGroup(const SweepPoint& point, const SweepOptions& options, std::stop_token stop,
              std::function<void(const Event&)> log);
    ~RankGroup();
    RankGroup(const RankGroup&) = delete;
    RankGroup& operator=(const RankGroup&) = delete;

    const RankInfo& rankInfo() const { return rankInfo_; }
    /// Begins the point.
    void send(const SweepPoint& point);
    /// Takes the events that have arrived.
    /// \return  `rank 1: the engine ended with SIGSEGV …` if a rank died before it ended the point
    std::optional<std::string> poll();
    /// The line for rank 0, once after the other ranks have ended the point.
    std::optional<std::string> joinLine();

private:
    struct Companion;

    RankInfo rankInfoOf(int rank) const;

    const std::stop_token stop_;
    const std::function<void(const Event&)> log_;
    const std::vector<RankPlace> places_;      ///< by rank
    std::unique_ptr<rendezvous::RankHub> hub_; ///< if they are on several nodes
    const rendezvous::RankMemory memory_;      ///< if they are on one node
    RankInfo rankInfo_;
    std::unique_ptr<TemporaryPath> folder_; ///< of the working files
    std::vector<std::unique_ptr<Companion>> companions_;
    bool joined_ = false;
};

} // namespace tilescope::session
