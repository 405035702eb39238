#pragma once

#include "core/model/strings.h"
#include "core/trace/assembly/assembler.h"
#include "core/trace/cupti/activity_buffers.h"
#include "core/trace/cupti/cupti_api.h"

#include <string_view>
#include <unordered_map>

namespace tilescope::trace {

/// Reads CUPTI's activity records out of their buffers and hands them to an Assembler. One thread at a time.
class ActivityDecoder {
public:
    ActivityDecoder(CuptiApi& api, StringTable& strings) : api_(api), strings_(strings) {}

    /// A recording begins: CUPTI may have moved its kernel names.
    void begin();
    void decode(const ActivityBuffers::Filled& buffer, Assembler& assembler);

    /// The demangled form of a kernel's name; the name itself if it is not mangled.
    static std::string demangled(const char* name);

private:
    void decodeRecord(const CUpti_Activity& record, std::size_t room, Assembler& assembler);
    void kernel(const CUpti_ActivityKernel10& record, Assembler& assembler);
    void copy(const CUpti_ActivityMemcpy6& record, Assembler& assembler);
    void peerCopy(const CUpti_ActivityMemcpyPtoP4& record, Assembler& assembler);
    void set(const CUpti_ActivityMemset4& record, Assembler& assembler);
    void overhead(const CUpti_ActivityOverhead3& record, Assembler& assembler);
    StringId kernelName(const char* name);

    CuptiApi& api_;
    StringTable& strings_;
    // CUPTI gives one pointer per kernel as long as it stays attached.
    std::unordered_map<const char*, StringId> kernelNames_;
    const char* lastKernel_ = nullptr;
    StringId lastKernelName_;
};

} // namespace tilescope::trace
