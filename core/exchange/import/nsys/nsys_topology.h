#pragma once

#include "core/exchange/import/nsys/nsys_file.h"
#include "core/exchange/import/trace_builder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace tilescope::exchange {

/// Processes, threads, devices and streams of an export, each announced to the builder when its first event
/// comes: an export lists every process of the machine. One thread.
class NsysTopology {
public:
    NsysTopology(const NsysFile& file, TraceBuilder& builder);

    /// \param globalId  a globalPid or globalTid
    ProcessIndex process(std::int64_t globalId);
    ThreadId thread(std::int64_t globalTid);
    DeviceIndex device(std::int64_t globalPid, std::int32_t ordinal);
    StreamId stream(std::int64_t globalPid, std::int32_t ordinal, std::int64_t stream,
                    std::optional<std::int64_t> context);

    /// Versions, machine and mode of the recording: a fixed list of keys, none of which can hold an
    /// environment variable, a command line or a path.
    void addEnvironment();

private:
    struct Gpu {
        std::int64_t id = 0;
        TracedDevice facts;
    };
    struct StreamKey {
        std::uint64_t process = 0;
        std::int64_t stream = 0;
        std::int64_t context = 0;
        std::int32_t device = 0;
        bool operator==(const StreamKey&) const = default;
    };
    struct HashOfStream {
        std::size_t operator()(const StreamKey& key) const noexcept;
    };

    void readClock();
    void readNames();
    void readGpus();
    const Gpu* gpuOf(std::uint64_t process, std::int32_t ordinal) const;

    const NsysFile& file_;
    TraceBuilder& builder_;
    ClockIndex clock_;
    std::optional<std::int64_t> startedUnixNs_;
    std::string host_;
    std::unordered_map<std::uint64_t, std::string> processNames_;
    std::unordered_map<std::int64_t, std::string> threadNames_;
    std::vector<Gpu> gpus_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> gpuIds_; ///< by pid and CUDA's number

    std::unordered_map<std::uint64_t, ProcessIndex> processes_;
    std::unordered_map<std::int64_t, ThreadId> threads_;
    std::map<std::pair<std::uint64_t, std::int32_t>, DeviceIndex> devices_;
    std::unordered_map<StreamKey, StreamId, HashOfStream> streams_;
};

} // namespace tilescope::exchange
