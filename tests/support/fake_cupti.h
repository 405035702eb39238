#pragma once

#include "core/trace/cupti/cupti_api.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::trace {

/// A CUPTI without a GPU: the test acts as the program that launches and as the device that executes.
///
/// launch() and call() invoke the tracer's callbacks on the calling thread, like CUPTI. kernel(), copy(),
/// set() and record() write real activity records into the tracer's buffers and drop them if it has none
/// left. Any thread may call any member.
class FakeCupti : public CuptiApi {
public:
    FakeCupti();

    // --- the program ---
    /// Calls a function of the runtime or the driver and returns its correlation id. Records nothing on the
    /// device.
    std::uint32_t call(std::string_view function);
    std::uint32_t launch() { return call("cudaLaunchKernel"); }
    /// Creates a graph node with this number, or a copy of another node.
    void makeGraphNode(std::uint64_t node);
    void cloneGraphNode(std::uint64_t node, std::uint64_t original);
    /// A context is created or about to be destroyed; a module is loaded into it or about to be unloaded.
    void tellContext(CUpti_CallbackId id, CUcontext context);
    void tellModule(CUpti_CallbackId id, CUcontext context, std::string_view cubin);
    /// Makes an executable graph of these nodes.
    void makeGraph(std::uint32_t graph, std::vector<GraphNodeFacts> nodes);

    // --- the device ---
    struct Times {
        std::uint64_t start;
        std::uint64_t end;
    };
    /// An activity of a launch. By default, times are shortly after now, in order.
    void kernel(std::uint32_t correlation, const char* name = "gemm");
    void kernel(std::uint32_t correlation, const char* name, Times times);
    void copy(std::uint32_t correlation, std::uint64_t bytes, CUpti_ActivityMemcpyKind kind);
    void set(std::uint32_t correlation, std::uint64_t bytes);
    /// A replay of a graph as a whole.
    void replay(std::uint32_t correlation, std::uint32_t graph);
    template <class Record> void record(const Record& record) { write(&record, sizeof(record)); }
    /// Passes the current buffer to the tracer, like CUPTI when the buffer is full.
    /// \param bytes  valid bytes; default: all written
    void completeBuffer(std::size_t bytes = ~std::size_t{0});
    /// Takes a buffer and completes it later in completeHeld(), out of order, as CUPTI sometimes does.
    void holdBuffer();
    void completeHeld();

    /// A record of CUPTI itself for which there was no buffer.
    void dropOne();

    static CUpti_ActivityKernel10 kernelRecord(std::uint32_t correlation, const char* name, Times times);
    Times soon();

    // --- test controls ---
    /// The result of cuptiGetVersion(); records have the length of that version.
    std::uint32_t versionNumber = CUPTI_API_VERSION;
    CUptiResult subscribeResult = CUPTI_SUCCESS;
    CUptiResult activityResult = CUPTI_SUCCESS;
    std::string rivalName;
    std::string missingFunction; ///< CUPTI knows it, the driver lacks it
    bool deviceFails = false;
    std::size_t enabledCallbacks() const;
    std::set<CUpti_ActivityKind> enabledActivities() const;
    bool subscribed() const;
    int finalized() const { return finalized_; }
    CUpti_TimestampCallbackFunc clock() const { return clock_; }
    /// Requests that got no buffer though the version needs one.
    int nullBuffers() const { return nullBuffers_; }

    // --- CuptiApi ---
    std::uint32_t version() override { return versionNumber; }
    CUptiResult setAttribute(CUpti_ActivityAttribute attribute, std::size_t value) override;
    CUptiResult subscribe(CUpti_SubscriberHandle& subscriber, CUpti_CallbackFunc callback, void* owner,
                          std::string& rival) override;
    CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber) override;
    CUptiResult enableCallback(bool enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                               CUpti_CallbackId id) override;
    CUptiResult callbackName(CUpti_CallbackDomain domain, CUpti_CallbackId id, const char*& name) override;
    CUptiResult registerTimestamps(CUpti_TimestampCallbackFunc clock) override;
    CUptiResult registerBuffers(CUpti_BuffersCallbackRequestFunc request,
                                CUpti_BuffersCallbackCompleteFunc complete) override;
    CUptiResult enableActivity(bool enable, CUpti_ActivityKind kind) override;
    CUptiResult flush(bool forced) override;
    CUptiResult dropped(CUcontext context, std::uint32_t stream, std::size_t& count) override;
    CUptiResult nextRecord(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity*& record) override;
    CUptiResult graphNodeId(CUgraphNode node, std::uint64_t& id) override;
    CUptiResult graphExecId(CUgraphExec graph, std::uint32_t& id) override;
    std::vector<GraphNodeFacts> nodesOf(CUgraph graph) override;
    CUptiResult streamId(CUcontext context, CUstream stream, std::uint32_t& id) override;
    std::string resultName(CUptiResult result) override;
    CUptiResult finalize() override;
    bool synchronizeDevice() override { return !deviceFails; }

private:
    using Function = std::pair<CUpti_CallbackDomain, CUpti_CallbackId>;
    struct Buffer {
        std::uint8_t* data = nullptr;
        std::size_t bytes = 0;
        std::size_t used = 0;
    };

    void tellResource(CUpti_CallbackId id, CUpti_GraphData graph);
    void tellResource(CUpti_CallbackId id, const CUpti_ResourceData& data);
    void write(const void* record, std::size_t bytes);
    void complete(Buffer& buffer, std::size_t bytes);
    void callBack(const Function& function, CUpti_ApiCallbackSite site, std::uint32_t correlation,
                  std::uint64_t& correlationData);

    std::map<Function, const char*> names_;
    std::atomic<std::uint32_t> nextCorrelation_{1};
    std::atomic<int> finalized_{0};

    std::atomic<int> nullBuffers_{0};

    // Held during callbacks and during calls that change what is traced, as if such a call waited for callbacks.
    std::recursive_mutex inside_;
    mutable std::mutex mutex_;
    // Guarded by mutex_.
    CUpti_CallbackFunc callback_ = nullptr;
    void* owner_ = nullptr;
    CUpti_TimestampCallbackFunc clock_ = nullptr;
    CUpti_BuffersCallbackRequestFunc request_ = nullptr;
    CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
    std::set<Function> callbacks_;
    std::set<CUpti_ActivityKind> activities_;
    std::map<std::uint64_t, std::vector<GraphNodeFacts>> graphs_;
    Buffer buffer_;
    Buffer held_;
    std::size_t dropped_ = 0;
    std::uint64_t lastEnd_ = 0;
};

} // namespace tilescope::trace
