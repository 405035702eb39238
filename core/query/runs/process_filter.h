#pragma once

#include "core/model/topology_index.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilescope::store {
class RunReader;
}

namespace tilescope::query {

/// Which processes and devices of a run a table is about, and which steps its means are of.
struct ProcessQuery {
    std::optional<std::int32_t> rank = {};
    std::optional<std::int64_t> pid = {};
    std::optional<std::int32_t> device = {}; ///< number in the run
    /// Means of a recording are of all steps instead of the typical ones (StepChoice).
    bool allSteps = false;

    /// Whether it is about all processes and devices.
    bool empty() const { return !rank && !pid && !device; }
    bool operator==(const ProcessQuery&) const = default;
};

/// A process or a device of a run, to choose from.
struct ProcessChoice {
    std::string title; ///< rank 1, python 4711, GPU 0
    ProcessQuery query;
    ProcessIndex process = {}; ///< none: a device
    DeviceIndex device = {};   ///< none: a process
};

/// The processes by rank if the run has several, then its devices if those are several and not one a process.
std::vector<ProcessChoice> topologyChoices(const TopologyIndex& topology);

/// The same without devices: none in a run of one process.
std::vector<ProcessChoice> processChoices(const RunTopology& topology);

/// The devices among the choices, if those are not one for each process.
std::vector<ProcessChoice> deviceChoices(const RunTopology& topology);

/// What figures of a step are of: "rank 1", or "mean of 2 ranks" if the query names no process. Empty in a run of one
/// process.
/// \param processes  of the run, as processChoices() returns them; some have no steps and are left out
std::string processWords(std::span<const ProcessChoice> processes, const ProcessQuery& query);
/// The same of sums: "rank 1", or "all 2 ranks".
std::string sumWords(std::span<const ProcessChoice> processes, const ProcessQuery& query);

/// A device in words: "GPU 0"; of several processes "rank 0 GPU 0".
std::string deviceTitle(const TopologyIndex& topology, DeviceIndex device);

/// Selects events by their process and device.
class ProcessFilter {
public:
    /// \throws Error (Usage)  the run has no such rank, process or device; names those that it has
    ProcessFilter(const store::RunReader& reader, RunId run, const ProcessQuery& query);
    /// Of the same run, with the topology of a filter that selects a process too: for runs of thousands of processes.
    ProcessFilter(const ProcessFilter& other, const ProcessQuery& query);

    bool has(const DeviceEvent& event) const;
    /// Host events of the process; none if only a device was requested.
    bool has(ThreadId thread) const;
    /// What belongs to a device as a whole, such as its memory and its metrics; none: to the host.
    bool hasDevice(DeviceIndex device) const;
    const TopologyIndex& topology() const { return *topology_; }
    /// The selected process; none: all.
    ProcessIndex process() const { return process_; }

private:
    ProcessQuery query_;
    std::shared_ptr<const TopologyIndex> topology_;
    ProcessIndex process_;
};

} // namespace tilescope::query
