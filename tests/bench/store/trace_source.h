#pragma once

#include "core/model/strings.h"
#include "core/trace/assembly/assembler.h"
#include "core/trace/cupti/activity_buffers.h"
#include "core/trace/cupti/activity_decoder.h"
#include "tests/support/fake_cupti.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope::bench {

/// A traced program without a GPU: notes what its host does, fills CUPTI's buffers, and lets the tracer's own
/// decoder and assembler make events of them.
///
/// 40 % kernels with every column that tables read, 40 % ops and ranges, 20 % allocations: ten events at a
/// time, a module's range with three ops, four kernels of theirs and two allocations. 250 kernel names, 120
/// ops, 600 paths and 700 launch configurations, as a long run has them. One thread.
class TraceSource {
public:
    explicit TraceSource(StringTable& strings);

    static constexpr std::int64_t kEventsPerBatch = 20'000;
    /// The next events, decoded and attributed.
    TraceBatch next();
    const trace::Losses& losses() { return assembler_.losses(); }

private:
    struct Module {
        std::uint32_t path = 0;
        std::uint32_t name = 0;
        bool backward = false;
    };

    std::uint64_t random(std::uint64_t below);
    void playModule();
    void playOp(const Module& module, std::uint32_t range, int kernels);
    void playKernel(const trace::HostContext& context);
    void playAllocation(AllocAction action, const trace::HostContext& context);
    void put(const CUpti_ActivityKernel10& record);
    void decodeBuffer();

    trace::FakeCupti cupti_;
    trace::ActivityBuffers buffers_{4, 1 << 20};
    trace::ActivityDecoder decoder_;
    trace::Assembler assembler_;
    trace::ActivityBuffers::Filled buffer_; ///< being written

    std::vector<Module> modules_;
    std::vector<std::uint32_t> ops_;
    std::vector<std::string> kernelNames_;
    std::vector<CUpti_ActivityKernel10> launches_; ///< all but name, correlation and times
    std::uint64_t state_ = 1;
    std::uint32_t nextRange_ = 0;
    std::uint32_t nextOp_ = 0;
    std::uint32_t nextCorrelation_ = 1;
    std::int32_t step_ = -1;
    std::uint32_t stepRange_ = 0;
    std::int64_t time_;
    std::int64_t gpuFree_;
    std::int64_t allocated_ = 0;
};

} // namespace tilescope::bench
