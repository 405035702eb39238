#pragma once

#include "core/model/counter_track.h"
#include "core/model/events.h"
#include "core/model/kernel_samples.h"
#include "core/model/processes.h"
#include "core/model/rank_info.h"
#include "core/model/run.h"
#include "core/model/spec.h"
#include "core/model/strings.h"
#include "core/session/protocol/point_line.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::session {

/// Joins the records of the ranks of a point into one run, which rank 0 writes: the other ranks' runs are in
/// working files of their own.
///
/// Renumbers ranges, ops, streams and correlations. Only threads and devices of rank 0's node keep their numbers. Times
/// of other nodes are converted to the clock of rank 0's node. Allocations are those of rank 0, because addresses would
/// collide; peaks are the largest of all ranks. The tracer's thread calls hold(), then the session thread the rest.
class RankJoin {
public:
    RankJoin(const RankInfo& rankInfo, StringTable& strings);

    /// Keeps records of rank 0 until take().
    void hold(TraceBatch&& batch);
    /// Adds the records of another rank, and its outcome to `result`: the result of a rank that failed by
    /// itself is that of the run.
    /// \return        the rank's own outcome
    /// \throws Error  its file cannot be read
    RunResult add(const JoinLine::Rank& rank, RunResult& result);
    /// All records, in start order.
    TraceBatch take();
    /// The counters of all ranks added so far, after those of rank 0.
    std::vector<CounterTrack> withCounters(std::vector<CounterTrack> own);
    /// The samples of all ranks added so far, after those of rank 0.
    KernelSamples withKernelSamples(KernelSamples own);
    /// Names the devices of a node from the environment of one of its ranks (`gpu.1.name` and others),
    /// because every rank knows all devices of its node.
    void describeDevices(int node, const std::vector<EnvironmentEntry>& environment);
    /// Who took part, by the ranks added so far.
    const RunTopology& topology() const { return topology_; }

private:
    /// The place of the rank whose records are added.
    struct Origin {
        ProcessIndex process;
        int node = 0;
        std::int16_t firstDevice = 0; ///< number in the run of the node's first device
        std::string host;
    };

    void addProcess(int rank, std::int64_t pid, const std::string& host, ClockIndex clock);
    ClockIndex addClock(int node, const ClockDomain& clock);
    void append(TraceBatch&& batch, const Origin& origin);
    void addDevice(DeviceIndex device, const Origin& origin);
    void addStream(DeviceIndex device, StreamId stream, ProcessIndex process);

    StringTable& strings_;
    const RankInfo rankInfo_;
    RunTopology topology_;
    std::map<int, ClockIndex> clockOfNode_;
    std::map<DeviceIndex, int> nodeOfDevice_;
    TraceBatch all_;
    std::vector<CounterTrack> counters_; ///< of the other ranks
    KernelSamples kernelSamples_;        ///< of the other ranks
    std::uint32_t nextRange_ = 0;
    std::uint32_t nextOp_ = 0;
    std::uint32_t nextStream_ = 0;
    std::uint32_t nextCorrelation_ = 0;
    std::uint32_t firstStream_ = 0; ///< of the rank that is being added
};

/// The peaks of a rank as facts of the run: rank.1.peak_allocated.
std::vector<EnvironmentEntry> peaksOf(int rank, const RunResult& result);

/// Replaces the losses of rank 0 by those of the whole step: the mean over the batches of all ranks, or their sum for
/// a loss that is a sum. A step is without a loss if a rank has none.
/// \param others  those of the other ranks
void combineLosses(std::vector<std::optional<double>>& losses,
                   const std::vector<std::vector<std::optional<double>>>& others, const ExperimentSpec& spec);

/// Adds the outcome of a rank to that of the run.
void combineOutcome(RunResult& result, int rank, const RunResult& other);

/// Marks a run as cancelled if it lost a rank after a stop was requested. A stop, for example from Slurm, reaches all
/// ranks, and the rank that ends first is lost to the others. A run that ended otherwise keeps its status and reason.
void attributeLossToStop(RunResult& result, const std::string& reason);

} // namespace tilescope::session
