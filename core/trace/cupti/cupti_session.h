#pragma once

#include "core/base/try_mutex.h"
#include "core/model/api_class.h"
#include "core/model/spec.h"
#include "core/model/strings.h"
#include "core/trace/cupti/activity_buffers.h"
#include "core/trace/cupti/context_watch.h"
#include "core/trace/cupti/cupti_api.h"
#include "core/trace/host/losses.h"
#include "core/trace/host/recording.h"

#include <array>
#include <atomic>
#include <bitset>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::trace {

/// CUPTI switched on and off: activity records into buffers, launches into the launching thread's log.
///
/// The session thread makes it, starts, stops and destroys it; one at a time. The buffers are decoded by the
/// tracer's thread. Between stop() and start() no callback and no activity is enabled, but launches stay
/// slower until detach().
class CuptiSession {
public:
    CuptiSession(CuptiApi& api, std::size_t bufferCount, std::size_t bufferBytes);
    ~CuptiSession();
    CuptiSession(const CuptiSession&) = delete;
    CuptiSession& operator=(const CuptiSession&) = delete;

    /// A reference step enables what the recording will need, and also counts countedOnly; a capture only records
    /// nodes of graphs.
    /// \return  why device activities cannot be recorded, in one sentence; empty on success
    std::string start(TraceLevel level, Recording recording = Recording::Events);
    /// Waits for the device, fetches every record into the buffers and switches everything off.
    void stop(Losses& losses);
    /// From now on, also between recordings, reports the program's calls of cudaProfilerStart and
    /// cudaProfilerStop in the calling thread. Stays subscribed.
    /// \return  why that is not possible, in one sentence; empty on success
    using ProfilerCall = std::function<void(bool starts)>;
    /// \param told  called in a callback of CUPTI: it must not wait for a mutex that is held during calls of CUPTI
    std::string watchProfilerCalls(ProfilerCall told);
    /// From now on, also between recordings, `watch` hears of contexts and modules. Call once, before the program makes a
    /// context. Stays subscribed.
    /// \param watch  outlives the session
    /// \return  why that is not possible, in one sentence; empty on success
    std::string watchContexts(ContextWatch& watch);
    /// From now on, a replay of a CUDA graph is one activity instead of one per node. Call once, before the
    /// program makes a graph: CUPTI 13.0 crashes if this is requested later. Stays subscribed.
    /// \return  why that is not possible, in one sentence; empty on success
    std::string recordGraphsAsWholes();
    struct MadeGraph {
        std::uint32_t id = 0; ///< as the records of its replays have it
        std::vector<GraphNodeFacts> nodes;
    };
    /// The graphs that the program made since the last call, if they are recorded as wholes. The tracer's thread.
    std::vector<MadeGraph> takeGraphs();
    /// Recordings note where the nodes of graphs are created, so that work of a replay belongs to the place of its capture.
    void watchGraphNodes() { watchesNodes_ = true; }
    /// Removes CUPTI from the process. Only after the buffers have been decoded, because CUPTI owns the names in them.
    /// Does nothing once CUDA graphs were traced: their replays use memory of CUPTI and would fail without it. The
    /// destructor removes CUPTI in any case, unless it was given up.
    void detach();
    /// The same between stop() and start() while the program goes on: at the end of one of its next calls into
    /// CUDA, in the thread that makes it. Until then CUPTI stays subscribed.
    void detachSoon();
    /// Ends the recording and leaves CUPTI to another profiler of the process for good: it is not started again.
    void giveUp(Losses& losses);
    /// After giveUp(), once the buffers have been decoded: removes CUPTI from the process, for a profiler that loads a CUPTI of
    /// its own. Not once CUDA graphs were traced, see detach().
    void leaveProcess();
    bool hasGivenUp() const { return givenUp_.load(std::memory_order_acquire); }
    /// Added to CUPTI's correlation ids, which begin anew after it was taken out.
    std::uint32_t correlationBase() const { return base_.load(std::memory_order_acquire); }

    CuptiApi& api() { return api_; }
    ActivityBuffers& buffers() { return *buffers_; }
    /// Adds what CUPTI itself dropped, after the buffers of one context and stream were returned.
    void countDropped(const ActivityBuffers::Filled& buffer, Losses& losses);
    /// Name of a function by its number: callback domain << 24 | callback id. The tracer's thread.
    StringId functionName(std::uint32_t function, StringTable& strings);
    /// CUPTI's number of a stream; none while no context is known. The tracer's thread.
    StreamId streamId(const void* stream);

private:
    static void CUPTIAPI onCallback(void* owner, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                    const void* data);
    static void CUPTIAPI onBufferRequested(std::uint8_t** buffer, std::size_t* bytes,
                                           std::size_t* maxRecords);
    static void CUPTIAPI onBufferCompleted(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                           std::size_t bytes, std::size_t validBytes);

    void call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept;
    void resource(CUpti_CallbackId id, const CUpti_ResourceData& data) noexcept;
    std::string subscribe();
    void learnFunctions();
    std::string prepareActivities();
    std::string enableActivities();
    void noteGraph(const CUpti_GraphData& graph) noexcept;
    void tellWatch(CUpti_CallbackId id, const CUpti_ResourceData& data) noexcept;
    /// Whether something is watched also between recordings.
    bool watchesAlways() const { return profilerCall_ || wholeGraphs_ || contexts_; }
    std::string enableCalls(TraceLevel level, Recording recording);
    std::string enableGraphNodes();
    void disableActivities();
    void disable();
    std::string refusal(CUptiResult result, const std::string& what, const std::string& rival) const;
    static bool wanted(ApiClass kind, TraceLevel level, Recording recording);

    static constexpr std::size_t kMostFunctions = 1024;
    using Classes = std::array<ApiClass, kMostFunctions>;

    CuptiApi& api_;
    std::unique_ptr<ActivityBuffers> buffers_;
    CUpti_SubscriberHandle subscriber_ = nullptr;
    void leave() noexcept;

    ProfilerCall profilerCall_;
    ContextWatch* contexts_ = nullptr;
    bool watchesNodes_ = false;
    bool wholeGraphs_ = false;
    Mutex graphMutex_;
    std::vector<MadeGraph> madeGraphs_ GUARDED_BY(graphMutex_);
    TryMutex leaving_; // held during calls of CUPTI that take it out or bring it back
    std::atomic<bool> leaves_{false};
    std::atomic<bool> graphs_{false}; ///< the program has made or launched graphs
    std::atomic<std::uint32_t> base_{0};
    std::atomic<std::uint32_t> lastCorrelation_{0};
    std::atomic<bool> givenUp_{false};
    bool on_ = false;
    bool attached_ = false;
    std::atomic<bool> full_{false};
    std::atomic<CUcontext> context_{nullptr};
    Classes runtime_{};
    Classes driver_{};
    std::bitset<kMostFunctions> graphCalls_; ///< functions of the driver that make or launch a graph
    bool functionsKnown_ = false;
    std::vector<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>> callbacks_; // enabled now
    std::vector<CUpti_ActivityKind> activities_;                               // enabled now

    // The tracer's thread.
    std::unordered_map<std::uint32_t, StringId> functionNames_;
    std::unordered_map<const void*, StreamId> streams_;
};

} // namespace tilescope::trace
