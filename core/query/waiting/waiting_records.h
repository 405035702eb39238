#pragma once

#include "core/analysis/waiting/host_lead.h"
#include "core/analysis/waiting/idle_places.h"
#include "core/query/runs/per_step.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/time_span.h"
#include "core/query/steps/typical_steps.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// The idle time that tables of waiting are about.
struct WaitingScope {
    std::optional<RunId> run = {};         ///< none: the last run of the file
    ProcessQuery topology = {};            ///< only this process; no device
    std::optional<std::int32_t> step = {}; ///< only this step
    std::optional<TimeSpan> span = {};     ///< only this time, in steps or not
};

/// Where a call into CUDA comes from.
struct CudaCaller {
    std::string call = {}; ///< cudaStreamSynchronize
    bool synchronizes = false;
    std::uint32_t stack = kNoStack; ///< at the beginning of the call

    auto operator<=>(const CudaCaller&) const = default;
    bool operator==(const CudaCaller&) const = default;
};

/// The idle time of the GPUs of a process.
struct ProcessIdle {
    ProcessIndex process = {};
    std::optional<std::int32_t> rank = {};
    ProcessNumbers numbers = {};
    std::string title = {}; ///< rank 1, python 4711
    std::vector<HostStack> stacks = {};
    std::int64_t steps = 0;               ///< that the idle time is of; 0: not of steps
    std::vector<CudaCaller> callers = {}; ///< by analysis::IdleCall::name
    std::map<DeviceIndex, analysis::IdleTime> devices = {};
    std::map<DeviceIndex, std::string> gpuTitles = {}; ///< of them: rank 1 GPU 0
    analysis::HostLead lead = {};
};

/// A process that waits in collectives for the one that begins them last. The GPU of the process is busy meanwhile, with the kernel
/// of the collective, so that this is no idle time of it.
struct PeerWait {
    std::string title = {}; ///< of the process that waits: rank 0
    std::string last = {};  ///< of the other one
    std::optional<std::int32_t> lastRank = {};
    std::int64_t steps = 0;   ///< of the process, that `time` is of; 0: not of steps
    std::int64_t waitsIn = 0; ///< as many of them
    Nanoseconds time{0};      ///< in which no compute kernel of the process runs either
    bool isOnHost = false;    ///< the collectives are the host's: its GPU may be idle

    double perStep() const { return meanPerStep(time, steps); }
};

/// What a recording says of the idle time of its GPUs, read once for several tables. Immutable.
struct WaitingRecords {
    store::RunRecord run = {};
    std::optional<TimeSpan> span = {};
    std::vector<ProcessIdle> processes = {};
    std::unordered_map<ThreadId, std::string> threads = {};
    std::unordered_map<StringId, std::string> names = {}; ///< of IdlePlace::endedBy
    StepChoice choice = {};                               ///< the idle time is of these steps
    std::vector<PeerWait> peers = {};                     ///< the longest first
    std::int64_t steps = 0;    ///< that the idle time is of; 0: the whole recording, or a span of it
    bool hasGpu = false;       ///< the run recorded work of a GPU
    bool hasStacks = false;    ///< the run recorded the stacks of threads
    bool hasStep = true;       ///< the step that was asked for is in the run
    std::string recorded = {}; ///< what the recorder says of the stacks; empty: nothing

    Nanoseconds idle() const;
    Nanoseconds busy() const;
    std::int64_t samples() const; ///< in idle time
    double lateShare() const;     ///< of them whose wake-up was late
    /// Over all processes.
    analysis::HostLead lead() const;
    std::string threadName(ThreadId thread) const;
};

/// Without stacks of threads, nothing else is read.
/// \throws Error  there is no such run, rank or process; a device is asked for
WaitingRecords waitingRecords(const store::RunReader& reader, const WaitingScope& scope);

/// Why there are no rows about the idle time, in one sentence with a remedy.
std::string whyNothingWaits(const WaitingRecords& records);

} // namespace tilescope::query
