#pragma once

#include "core/trace/assembly/graph_description.h"
#include "core/trace/cupti/pc_sampling_api.h"

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::trace {

/// The part of CUPTI that tracing uses, so that tests can supply activities on machines without a GPU.
/// Members correspond to the CUPTI functions of the same name.
class CuptiApi {
public:
    virtual ~CuptiApi() = default;

    /// The result of cuptiGetVersion(): 17 for 11.7, 18 to 28 up to 12.9, 130000 for 13.0.
    virtual std::uint32_t version() { return CUPTI_API_VERSION; }

    virtual CUptiResult setAttribute(CUpti_ActivityAttribute attribute, std::size_t value) = 0;
    /// \param rival  receives the name of another user of CUPTI if that is the reason for failure
    virtual CUptiResult subscribe(CUpti_SubscriberHandle& subscriber, CUpti_CallbackFunc callback,
                                  void* owner, std::string& rival) = 0;
    virtual CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber) = 0;
    virtual CUptiResult enableCallback(bool enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain, CUpti_CallbackId id) = 0;
    virtual CUptiResult callbackName(CUpti_CallbackDomain domain, CUpti_CallbackId id, const char*& name) = 0;

    virtual CUptiResult registerTimestamps(CUpti_TimestampCallbackFunc clock) = 0;
    /// The offset to add to the times of records, in ns, if CUPTI did not accept the clock; otherwise 0.
    virtual std::int64_t clockOffset() { return 0; }
    virtual CUptiResult registerBuffers(CUpti_BuffersCallbackRequestFunc request,
                                        CUpti_BuffersCallbackCompleteFunc complete) = 0;
    virtual CUptiResult enableActivity(bool enable, CUpti_ActivityKind kind) = 0;
    virtual CUptiResult flush(bool forced) = 0;
    /// Records that found no buffer since the last call.
    virtual CUptiResult dropped(CUcontext context, std::uint32_t stream, std::size_t& count) = 0;
    virtual CUptiResult nextRecord(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity*& record) = 0;

    virtual CUptiResult graphNodeId(CUgraphNode node, std::uint64_t& id) = 0;
    /// The id of an executable graph in the records of its replays.
    virtual CUptiResult graphExecId(CUgraphExec /*graph*/, std::uint32_t& /*id*/)
    {
        return CUPTI_ERROR_NOT_SUPPORTED;
    }
    /// The nodes of a graph, from the driver; none if the driver lacks the functions.
    virtual std::vector<GraphNodeFacts> nodesOf(CUgraph /*graph*/) { return {}; }
    virtual CUptiResult streamId(CUcontext context, CUstream stream, std::uint32_t& id) = 0;
    virtual std::string resultName(CUptiResult result) = 0;
    /// Takes CUPTI out of the process until it is used again.
    virtual CUptiResult finalize() = 0;
    /// Waits until the current device is idle; false if that is unknown.
    virtual bool synchronizeDevice() = 0;

    /// The context of the calling thread; null: none, or unknown.
    virtual CUcontext currentContext() { return nullptr; }
    /// The functions that sample the instructions of kernels.
    /// \param reason  receives one sentence if there are none
    virtual std::optional<PcSamplingApi> pcSampling(std::string& reason)
    {
        reason = "kernels were not sampled: this CUPTI cannot do that";
        return std::nullopt;
    }
};

/// The CUPTI that LibTorch itself links.
CuptiApi& realCupti();

} // namespace tilescope::trace
