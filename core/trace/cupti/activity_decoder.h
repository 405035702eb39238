#pragma once

#include "core/model/strings.h"
#include "core/trace/assembly/assembler.h"
#include "core/trace/cupti/activity_buffers.h"
#include "core/trace/cupti/cupti_api.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace tilescope::trace {

/// Reads CUPTI's activity records out of their buffers and hands them to an Assembler. One thread at a time.
class ActivityDecoder {
public:
    ActivityDecoder(CuptiApi& api, StringTable& strings)
        : api_(api), layout_(api.version()), strings_(strings)
    {
    }

    /// A recording begins: CUPTI may have moved its kernel names.
    /// \param correlationBase  of the session
    void begin(std::uint32_t correlationBase = 0);
    void decode(const ActivityBuffers::Filled& buffer, Assembler& assembler);

    /// What replays of a graph are called from now on, and where they belong if that is known.
    void nameGraph(std::uint32_t id, StringId name, StringId path) { graphs_[id] = {name, path}; }

private:
    /// The size of the part of a version's records that is read. The fields in it have been at the same
    /// offsets since CUDA 11.7.
    struct Layout {
        explicit Layout(std::uint32_t version);

        std::size_t kernel;
        bool hasCluster;
        std::size_t copy;
        std::size_t peerCopy;
        std::size_t set;
        std::size_t graph;
        std::size_t overhead;
        bool hasOverheadCall; ///< the correlation id of the call that it belongs to
        bool hasOverheadData; ///< what the reader must free
    };
    void decodeRecord(const CUpti_Activity& record, std::size_t room, Assembler& assembler);
    void kernel(const CUpti_ActivityKernel10& record, Assembler& assembler);
    void copy(const CUpti_ActivityMemcpy6& record, Assembler& assembler);
    void peerCopy(const CUpti_ActivityMemcpyPtoP4& record, Assembler& assembler);
    void set(const CUpti_ActivityMemset4& record, Assembler& assembler);
    void graph(const CUpti_ActivityGraphTrace2& record, Assembler& assembler);
    void overhead(const CUpti_ActivityOverhead3& record, Assembler& assembler);
    StringId kernelName(const char* name);
    Timestamp timeOf(std::uint64_t nanoseconds) const;
    template <class Record> DeviceEvent deviceEvent(DeviceEventKind kind, const Record& record) const;

    CuptiApi& api_;
    const Layout layout_;
    std::uint32_t correlationBase_ = 0;
    std::int64_t clockOffset_ = 0;
    StringTable& strings_;
    struct KernelName {
        std::string mangled;
        StringId id;
    };
    // By address: CUPTI has one text per loaded kernel.
    std::unordered_map<const char*, KernelName> kernelNames_;
    const std::pair<const char* const, KernelName>* lastKernel_ = nullptr; ///< in kernelNames_
    struct NamedGraph {
        StringId name, path;
    };
    std::unordered_map<std::uint32_t, NamedGraph> graphs_;
};

} // namespace tilescope::trace
