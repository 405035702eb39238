#pragma once

#include "core/exchange/import/collective_calls.h"
#include "core/exchange/import/nsys/nsys_file.h"
#include "core/exchange/import/nsys/nsys_topology.h"
#include "core/exchange/import/trace_builder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::exchange {

/// What NCCL attaches to a range of its NVTX domain. Members are none where the payload lacks them.
struct NcclPayload {
    std::optional<std::uint64_t> communicator;
    std::optional<std::int64_t> bytes;
    std::optional<std::int64_t> peer;
    std::optional<std::int64_t> ranks; ///< of the communicator
    std::optional<std::int64_t> rank;  ///< of this process in it
};

/// Decodes NVTX payloads by the schemas that the file describes. One thread.
class NcclPayloads {
public:
    explicit NcclPayloads(const NsysFile& file);

    /// \param blob  NVTX_EVENTS.binaryData: four 64-bit words (domain, schema, size of the payload, offset or
    ///              total), then the payload, little-endian; or the same as hexadecimal digits
    /// \return      none if the blob is not described, or shorter than its description
    std::optional<NcclPayload> decode(std::string_view blob) const;

private:
    enum class Field : std::uint8_t { Communicator, Bytes, Peer, Ranks, Rank };
    struct Entry {
        Field field;
        std::size_t offset;
        std::size_t width; ///< bytes
    };
    using SchemaKey = std::pair<std::uint64_t, std::uint64_t>; ///< domain, schema
    std::map<SchemaKey, std::vector<Entry>> schemas_;
};

/// Connects NCCL's kernels with the calls that started them, and adds both as collectives.
///
/// The name of a kernel tells the operation; the call's range tells communicator and size of the message.
/// One thread.
class NsysCollectives {
public:
    /// Takes any kernel; ignores those of others than NCCL.
    void addKernel(std::int64_t globalPid, const ForeignActivity& kernel);
    /// Takes any call of CUDA.
    void addLaunch(std::int64_t globalTid, std::uint32_t correlation, Timestamp start)
    {
        if (!kernelOf_.empty())
            connect(globalTid, correlation, start);
    }
    /// Takes a range whose name is that of a collective call, or one that creates a communicator.
    void addCall(std::int64_t globalTid, std::string_view name, const NcclPayload& payload, Timestamp start,
                 Timestamp end);

    /// Adds all collectives to the builder. Call it once, last.
    void finish(NsysTopology& topology, TraceBuilder& builder);

private:
    struct Kernel {
        std::int64_t globalPid = 0;
        std::uint32_t correlation = 0;
        std::string_view op;
        std::string_view dtype;
        std::int64_t globalTid = -1; ///< of the launch; -1: not seen
        Timestamp launched;
    };
    struct Call {
        std::int64_t globalTid = 0;
        std::string_view op;
        NcclPayload payload;
        Timestamp start;
        Timestamp end;
    };

    void connect(std::int64_t globalTid, std::uint32_t correlation, Timestamp start);
    ForeignCollective described(std::string_view op, const NcclPayload& payload, std::string& group) const;

    std::vector<Kernel> kernels_;
    std::unordered_map<std::uint64_t, std::size_t> kernelOf_; ///< by hash of process and correlation
    std::vector<Call> calls_;
    CollectiveCalls callsOfThreads_;
    std::map<std::uint64_t, std::int64_t> sizes_; ///< ranks of a communicator
};

} // namespace tilescope::exchange
