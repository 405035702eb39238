#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope {

// Who took part in a run. A run of one process on one device needs none of these records: its thread, stream,
// device and correlation numbers are those of the operating system and of CUDA.
//
// In a run of several processes these numbers would collide: CUDA numbers streams and correlations within a
// process, the kernel numbers threads within a host, and every process may call its device 0. The records
// below give the native numbers behind the numbers of the run, which are unique.

using ClockIndex = Id<struct ClockTag, std::int32_t>; ///< number of a clock domain in its run, from 0

/// A clock that time stamps were taken from. Times in a run are on one axis, the first clock's.
struct ClockDomain {
    ClockIndex id = {};
    std::string name;                            ///< host or file of the clock
    Nanoseconds offset{0};                       ///< added to its time stamps to place them on the run's axis
    std::optional<Nanoseconds> uncertainty = {}; ///< half width of the interval of the offset; none: unknown
    std::string method; ///< how the offset was found: same clock, wall clock, ends of collectives

    bool operator==(const ClockDomain&) const = default;
};

struct TracedProcess {
    ProcessIndex id = {};
    std::int64_t pid = 0; ///< 0: unknown
    std::string host = {};
    std::string name = {};        ///< python
    std::string commandLine = {}; ///< with secrets masked, as the privacy rule of the help demands
    std::optional<std::int32_t> rank = {};
    std::optional<std::int32_t> worldSize = {};
    std::optional<std::int64_t> startedUnixNs = {};
    ClockIndex clock = {};
    std::uint32_t firstCorrelation = 0; ///< run's correlation = native correlation + this

    bool operator==(const TracedProcess&) const = default;
};

struct TracedDevice {
    DeviceIndex id = {};      ///< in the run
    std::int32_t ordinal = 0; ///< CUDA's number in the process that used it
    std::string uuid = {};    ///< empty: unknown
    std::string name = {};    ///< NVIDIA H200
    std::string host = {};
    std::optional<Bytes> memory = {};
    std::optional<std::int32_t> multiprocessors = {};
    std::string capability = {}; ///< 9.0

    bool operator==(const TracedDevice&) const = default;
};

struct TracedStream {
    DeviceIndex device = {};
    StreamId id = {}; ///< in the run
    ProcessIndex process = {};
    std::int64_t native = 0; ///< CUPTI's number in the process
    std::optional<std::int64_t> context = {};
    std::string name = {};

    bool operator==(const TracedStream&) const = default;
};

/// Who took part in a run of several processes, or in a run that another program recorded. Its threads are
/// in the run's list of ThreadName.
struct RunTopology {
    std::vector<ClockDomain> clocks;
    std::vector<TracedProcess> processes;
    std::vector<TracedDevice> devices;
    std::vector<TracedStream> streams;

    bool empty() const { return processes.empty() && devices.empty() && streams.empty() && clocks.empty(); }
};

} // namespace tilescope
