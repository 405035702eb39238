#pragma once

#include "core/analysis/advice/idle_causes.h"
#include "core/analysis/advice/low_occupancy.h"
#include "core/analysis/advice/tensor_cores.h"
#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/time/busy_parts.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/process_rank.h"
#include "core/query/steps/typical_steps.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::query {

/// The kind of item that a row of evidence counts.
struct AdviceSource {
    std::string kind = {}; ///< kernel, copy, call, range, op, frame or module
    std::string name = {};
    std::string place = {}; ///< module, or function of the program; layers count together. Empty: unknown
    std::string note = {};

    auto operator<=>(const AdviceSource&) const = default;
};

/// Numbers sources: they are the groups of analysis::GroupedTime.
class AdviceSources {
public:
    std::uint32_t of(AdviceSource source);
    const AdviceSource& operator[](std::uint32_t number) const { return list_[number]; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(list_.size()); }

private:
    std::map<AdviceSource, std::uint32_t> numbers_;
    std::vector<AdviceSource> list_;
};

/// Activities of a device that are alike for advice.
struct ActivityKind {
    DeviceEventKind event = DeviceEventKind::Kernel;
    analysis::DeviceWork work = analysis::DeviceWork::Compute;
    analysis::KernelFamily family = analysis::KernelFamily::Other;
    CopyKind copy = CopyKind::None;
    std::string fullName = {};
    std::string name = {};  ///< short
    std::string place = {}; ///< as in AdviceSource
    bool isRecomputed = false;
    std::optional<analysis::LaunchReach> reach = {}; ///< of kernels that need occupancy
    LaunchConfig launch = {};
    DeviceIndex device = {};

    bool isPageable() const; ///< a copy from or to memory that is not page-locked
    bool isBetweenHostAndDevice() const;
    bool isLowPrecisionProduct() const;
};

/// A device of the process.
struct AdviceDevice {
    std::string name = {};
    std::optional<analysis::MultiprocessorLimits> limits = {}; ///< none: unknown compute capability
    std::optional<int> multiprocessors = {};
    std::optional<analysis::ProductRates> rates = {}; ///< none: no data sheet
};

/// The traced steps of one process, in the form that the rules of advice need.
///
/// Without steps, the whole recording counts as one.
struct AdviceTrace {
    struct Activity {
        analysis::Interval time{};
        std::uint32_t kind = 0; ///< index into `kinds`
        DeviceIndex device = {};
        StreamId stream = {};
    };

    std::optional<std::int32_t> rank = {}; ///< none in a run of one process
    ProcessNumbers numbers = {};
    bool onGpu = false;
    bool isWhole = false;                       ///< no steps were recorded
    std::vector<analysis::Interval> walls = {}; ///< one for each step

    std::vector<ActivityKind> kinds = {};
    std::vector<Activity> activities = {};
    analysis::IdleReasons host = {}; ///< on a GPU
    std::vector<analysis::Interval> inCode =
        {}; ///< some thread is in an op or a CUDA call: a result of unionOf()
    /// Of a copy between host and device.
    struct CopySize {
        std::uint32_t activity = 0; ///< index into `activities`
        std::int64_t bytes = 0;
    };
    std::vector<CopySize> copies = {};
    /// Kernels of collectives: index into `activities`, and correlation.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> communications = {};
    std::vector<std::uint32_t> replayed = {}; ///< activities that a graph replays: indices into `activities`
    std::vector<analysis::GroupedTime> loading = {};    ///< on a CPU
    std::vector<analysis::GroupedTime> recomputed = {}; ///< ops of backward that repeat forward, on a CPU
    std::map<DeviceIndex, AdviceDevice> devices = {};
    std::set<std::string> models = {}; ///< the outermost modules of the phase forward
    Bytes allocatedAtPeak{};
    Bytes reservedAtPeak{};

    bool hasCalls = false; ///< CUDA calls of the host
    bool hasOps = false;
    bool hasLaunches = false;   ///< times at which activities were launched, or calls that launch
    bool hasHostEvents = false; ///< ranges, ops or frames
    bool hasBackwardOps = false;
    bool hasBackwardWork = false; ///< activities of a GPU in the phase backward
    bool hasReserved = false;     ///< what the allocator holds

    Nanoseconds wall() const;
    /// The activities of these kinds.
    /// \param sourceOf  none: the kind does not count
    using SourceOf = std::function<std::optional<std::uint32_t>(const ActivityKind&)>;
    std::vector<analysis::GroupedTime> timesOf(const SourceOf& sourceOf) const;
    /// The step in which an activity starts, as an index into `walls`; none: between steps.
    std::optional<std::size_t> stepOf(const Activity& activity) const;
    /// The times of these activities: a result of unionOf(), valid until the next call. Once all activities are known; one thread.
    const std::vector<analysis::Interval>&
    busyWith(const std::function<bool(const ActivityKind&)>& has) const;

private:
    mutable std::map<std::vector<char>, std::vector<analysis::Interval>>
        busyWith_; ///< by kind, whether it counts
};

/// The traces of the processes that advice is about, each judged by itself: a mean step is the mean of theirs.
struct AdviceTraces {
    store::RunRecord run = {};
    ProcessQuery topology = {}; ///< the process; empty: all
    std::string process = {};   ///< "rank 1", "mean of 2 ranks"; empty in a run of one process
    std::string option = {};    ///< of `tilescope show` for the process: " --rank 1"
    AdviceSources sources = {}; ///< of all processes
    /// Not empty. Processes without steps are left out if others have some.
    std::vector<AdviceTrace> processes = {};
    StepChoice choice = {}; ///< of the steps

    std::int64_t steps() const; ///< those of each process count
    Nanoseconds wall() const;   ///< of all steps
    /// Whether one of the processes has this property: `any(&AdviceTrace::onGpu)`.
    bool any(bool AdviceTrace::*property) const;
    bool anyKind(const std::function<bool(const ActivityKind&)>& is) const;
};

/// \param topology  a rank or process of several; none: all of them
/// \param cancelled  ends the reading early; the traces then have no walls
/// \throws Error  no such run, rank or process
/// Reads the events once for each process. Memory: 32 bytes for each activity of the device and 12 for each op.
AdviceTraces adviceTraces(const store::RunReader& reader, std::optional<RunId> run,
                          const ProcessQuery& topology, const std::function<bool()>& cancelled);

} // namespace tilescope::query
