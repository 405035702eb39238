#pragma once

#include "core/model/events.h"
#include "core/query/runs/process_filter.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// Kernels (without a GPU ops) of one name in one place: a module, an op or a frame.
struct PlacedCall {
    std::string place;
    std::string name;
    DeviceEventKind kind = DeviceEventKind::Kernel;

    auto operator<=>(const PlacedCall&) const = default;
};

/// ns a step.
using CallTimes = std::map<PlacedCall, double>;

/// Idle time of a device by its reason, as in StepPartition, ns.
struct IdleTimes {
    double launching = 0;
    double synchronizing = 0;
    double tracing = 0;
    double unexplained = 0;
};

/// The mean traced step of one side of a comparison, ns. With a GPU `compute`, `communication`, `copies` and `idle`
/// add up to `wall`; on a CPU `calls`, `communication` and `outsideOps`.
struct StepSide {
    bool onGpu = false;
    std::int64_t steps = 0; ///< all of them, those of each process; 1 for the whole recording of a process
    double wall = 0;
    CallTimes calls;         ///< compute kernels by module; without a GPU the self time of ops
    CallTimes communication; ///< the exposed part: without a compute kernel; on a CPU without an op
    CallTimes copies;        ///< the exposed part: without a compute kernel or communication
    IdleTimes idle;
    double compute =
        0; ///< time in which a compute kernel runs: less than the sum of `calls` where they overlap
    double outsideOps = 0;                   ///< on a CPU
    std::map<std::string, double> allocated; ///< bytes that a step allocates, by module; empty: not recorded
    std::string process; ///< "rank 0", "mean of 2 ranks"; empty if the run has one process
};

/// Which part of a run is a step.
enum class StepScope : std::uint8_t {
    Traced,   ///< its traced steps
    Recording ///< the whole recording counts as one step
};

/// \param topology  which process; empty: all of them, so that the mean step is the mean of the ranks
StepSide stepSide(const store::RunReader& reader, std::span<const RunId> runs, const ProcessQuery& topology,
                  StepScope scope);
/// The same of the traced steps, for a caller that reads the events of runs with a GPU for other purposes as well.
/// \param addGpu  adds all events of such a run to the side, those of each of these processes
using AddGpuRun = std::function<void(RunId run, std::span<const ProcessQuery> processes, StepSide& side)>;
StepSide stepSide(const store::RunReader& reader, std::span<const RunId> runs, const ProcessQuery& topology,
                  const AddGpuRun& addGpu);

/// A compute kernel at its position in a step.
struct PlacedKernel {
    StringId name = {}; ///< of the file
    StringId path = {};
    double time = 0; ///< ns a step; steps without the kernel count as 0
};

/// The compute kernels of the mean step in the order of their launches. Steps that differ are aligned: the sequence
/// holds what any of them has. The times add up to those of StepSide::calls.
/// \param steps  StepSide::steps, at least 1
std::vector<PlacedKernel> kernelSequence(const store::RunReader& reader, std::span<const RunId> runs,
                                         const ProcessQuery& topology, StepScope scope, std::int64_t steps);

/// The processes that are compared: the requested one, otherwise all. Never empty.
std::vector<ProcessQuery> comparedProcesses(const store::RunReader& reader, RunId run,
                                            const ProcessQuery& asked);

/// `forward/layers.*/attention` of `step/forward/layers.3/attention`: numbers of layers and instances are replaced,
/// so that equal modules have one path, and wrappers such as DistributedDataParallel and torch.compile's are left
/// out. Empty outside of modules.
std::string alignedModule(std::string_view path);

} // namespace tilescope::query
