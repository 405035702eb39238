#include "core/trace/cupti/cupti_session.h"

#include "core/base/units.h"
#include "core/trace/cupti/scratch_buffers.h"
#include "core/trace/host/host_log.h"

#include <cstdlib>
#include <utility>

namespace tilescope::trace {

namespace {

// CUPTI's buffer callbacks have no context argument, so buffers go to the active session.
std::atomic<ActivityBuffers*> activeBuffers{nullptr};
std::atomic<CuptiApi*> activeApi{nullptr};

// Before CUDA 12.9, CUPTI may write to a null buffer and crash the program. It keeps its callbacks when a session ends.
constexpr std::uint32_t kTakesNullBuffers = 27;
std::atomic<bool> needsBuffers{false};
std::atomic<std::int64_t> scratchRecords{0}; // not yet counted as lost

ScratchBuffers& scratchBuffers()
{
    static auto* const buffers = new ScratchBuffers; // CUPTI may return a buffer while the process ends
    return *buffers;
}

/// The number of records in a buffer.
std::int64_t countRecords(CuptiApi& api, std::uint8_t* buffer, std::size_t bytes)
{
    std::int64_t count = 0;
    for (CUpti_Activity* record = nullptr; api.nextRecord(buffer, bytes, record) == CUPTI_SUCCESS;)
        ++count;
    return count;
}

std::uint64_t CUPTIAPI traceClock()
{
    return static_cast<std::uint64_t>(nanosecondsOf(TraceClock::now()));
}

} // namespace

CuptiSession::CuptiSession(CuptiApi& api, std::size_t bufferCount, std::size_t bufferBytes)
    : api_(api), buffers_(std::make_unique<ActivityBuffers>(bufferCount, bufferBytes))
{
}

CuptiSession::~CuptiSession()
{
    Losses ignored; // the recording was given up, and its losses with it
    stop(ignored);
    if (subscriber_)
        api_.unsubscribe(std::exchange(subscriber_, nullptr));
    if (attached_)
        api_.finalize();
    ActivityBuffers* mine = buffers_.get();
    if (activeBuffers.compare_exchange_strong(mine, nullptr))
        activeApi.store(nullptr);
    // CUPTI may still write to buffers that it has not returned.
    if (buffers_->lent() > 0)
        static_cast<void>(buffers_.release());
}

void CuptiSession::detachSoon()
{
    if (on_ || !attached_ || leaves_ || graphs_ || watchesAlways() || !subscribe().empty())
        return;
    const TryMutexLock lock(leaving_);
    for (CUpti_CallbackId id = 1; id < kMostFunctions; ++id)
        if (driver_[id] == ApiClass::Launch &&
            api_.enableCallback(true, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id) == CUPTI_SUCCESS)
            callbacks_.emplace_back(CUPTI_CB_DOMAIN_DRIVER_API, id);
    leaves_.store(true, std::memory_order_release);
}

// Runs in a callback, so it does not wait for the mutex: whoever holds it has CUPTI come back or stay.
void CuptiSession::leave() noexcept
{
    if (!leaving_.tryLock())
        return;
    const TryMutexLock lock(leaving_, std::adopt_lock);
    if (!leaves_.exchange(false))
        return;
    // Ends the subscription and its callbacks as well.
    api_.finalize();
    callbacks_.clear();
    subscriber_ = nullptr;
    attached_ = false;
    base_.store(lastCorrelation_.load(std::memory_order_relaxed), std::memory_order_release);
}

void CuptiSession::detach()
{
    if (!graphs_ && std::exchange(attached_, false))
        api_.finalize();
}

std::string CuptiSession::start(TraceLevel level, Recording recording)
{
    {
        const TryMutexLock lock(leaving_);
        if (leaves_.exchange(false))
            disable();
    }
    context_.store(nullptr, std::memory_order_relaxed);
    streams_.clear();
    std::string reason = subscribe();
    if (!reason.empty())
        return reason;
    on_ = true;
    activeApi.store(&api_);
    full_.store(level == TraceLevel::Full && recording != Recording::Launches, std::memory_order_relaxed);
    activeBuffers.store(buffers_.get());
    if (recording == Recording::Capture) {
        reason = enableGraphNodes();
    } else {
        // First the calls: no activity is without its launch, though the program may be launching.
        reason = enableCalls(level, recording);
        // They only improve the places of work, so their failure is no reason against a recording.
        if (reason.empty() && watchesNodes_)
            enableGraphNodes();
        if (reason.empty() && recording != Recording::Launches)
            reason = enableActivities();
    }
    if (!reason.empty())
        disable();
    return reason;
}

std::string CuptiSession::subscribe()
{
    if (subscriber_)
        return {};
    std::string rival;
    const CUptiResult result = api_.subscribe(subscriber_, &onCallback, this, rival);
    if (result != CUPTI_SUCCESS) {
        subscriber_ = nullptr;
        return refusal(result, "subscribe", rival);
    }
    attached_ = true;
    return {};
}

std::string CuptiSession::watchProfilerCalls(ProfilerCall told)
{
    profilerCall_ = std::move(told);
    std::string reason = subscribe();
    for (const CUpti_CallbackId id :
         {CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop}) {
        if (!reason.empty())
            break;
        const CUptiResult result = api_.enableCallback(true, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id);
        if (result != CUPTI_SUCCESS)
            reason = refusal(result, "call back on cudaProfilerStart", {});
    }
    return reason;
}

std::string CuptiSession::watchContexts(ContextWatch& watch)
{
    std::string reason = subscribe();
    contexts_ = &watch;
    for (const CUpti_CallbackId id :
         {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
          CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING}) {
        if (!reason.empty())
            break;
        const CUptiResult result = api_.enableCallback(true, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, id);
        if (result != CUPTI_SUCCESS)
            reason = refusal(result, "call back on contexts and modules", {});
    }
    if (!reason.empty())
        contexts_ = nullptr;
    return reason;
}

std::string CuptiSession::recordGraphsAsWholes()
{
    activeApi.store(&api_);
    activeBuffers.store(buffers_.get());
    std::string reason = subscribe();
    if (reason.empty())
        reason = prepareActivities();
    if (!reason.empty())
        return reason;
    CUptiResult result = api_.enableCallback(true, subscriber_, CUPTI_CB_DOMAIN_RESOURCE,
                                             CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
    if (result == CUPTI_SUCCESS)
        result = api_.enableActivity(true, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    if (result != CUPTI_SUCCESS)
        return refusal(result, "record CUDA graphs as wholes", {});
    wholeGraphs_ = true;
    return {};
}

std::vector<CuptiSession::MadeGraph> CuptiSession::takeGraphs()
{
    const MutexLock lock(graphMutex_);
    return std::exchange(madeGraphs_, {});
}

std::string CuptiSession::prepareActivities()
{
    needsBuffers.store(api_.version() < kTakesNullBuffers);
    // Optional: not supported by all CUPTI versions; failure only costs time.
    api_.setAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
    // Set the clock first, because kinds that are already enabled keep theirs.
    CUptiResult result = api_.registerTimestamps(&traceClock);
    if (result != CUPTI_SUCCESS)
        return refusal(result, "take the host's clock", {});
    result = api_.registerBuffers(&onBufferRequested, &onBufferCompleted);
    if (result != CUPTI_SUCCESS)
        return refusal(result, "take buffers", {});
    return {};
}

std::string CuptiSession::enableActivities()
{
    // The clock is set only while no activity is enabled.
    if (std::string reason = wholeGraphs_ ? std::string() : prepareActivities(); !reason.empty())
        return reason;
    CUptiResult result = CUPTI_SUCCESS;
    // Discard records that CUPTI dropped while an earlier recording was being stopped.
    std::size_t earlier = 0;
    api_.dropped(nullptr, 0, earlier);

    // Does not use CUPTI_ACTIVITY_KIND_SYNCHRONIZATION or the activity kinds of runtime and driver calls:
    // they make CUPTI process every call of the runtime more slowly (cudaGetDevice, called thousands of times
    // per step, takes five times as long). Waiting calls have a callback in any case.
    for (const CUpti_ActivityKind kind :
         {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
          CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_OVERHEAD}) {
        result = api_.enableActivity(true, kind);
        if (result != CUPTI_SUCCESS)
            return refusal(result, "record activities of kind " + std::to_string(static_cast<int>(kind)), {});
        activities_.push_back(kind);
    }
    return {};
}

std::string CuptiSession::enableCalls(TraceLevel level, Recording recording)
{
    learnFunctions();
    for (const auto& [domain, classes] : {std::pair{CUPTI_CB_DOMAIN_RUNTIME_API, &runtime_},
                                          std::pair{CUPTI_CB_DOMAIN_DRIVER_API, &driver_}}) {
        for (CUpti_CallbackId id = 1; id < kMostFunctions; ++id) {
            const ApiClass kind = (*classes)[id];
            const bool isGraphCall = domain == CUPTI_CB_DOMAIN_DRIVER_API && graphCalls_[id];
            if (!wanted(kind, level, recording) && !isGraphCall)
                continue;
            // The runtime launches through the driver under the same correlation id: one callback of the two
            // is enough, and the driver's is there for every launch.
            if (kind == ApiClass::Launch && domain == CUPTI_CB_DOMAIN_RUNTIME_API)
                continue;
            const CUptiResult result = api_.enableCallback(true, subscriber_, domain, id);
            // CUPTI knows functions that an older driver lacks.
            if (result == CUPTI_ERROR_INVALID_PARAMETER)
                continue;
            if (result != CUPTI_SUCCESS)
                return refusal(result, "call back on launches", {});
            callbacks_.emplace_back(domain, id);
        }
    }
    return callbacks_.empty() ? refusal(CUPTI_ERROR_INVALID_PARAMETER, "call back on launches", {})
                              : std::string();
}

std::string CuptiSession::enableGraphNodes()
{
    for (const CUpti_CallbackId id :
         {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED}) {
        const CUptiResult result = api_.enableCallback(true, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, id);
        if (result != CUPTI_SUCCESS)
            return refusal(result, "call back on nodes of graphs", {});
        callbacks_.emplace_back(CUPTI_CB_DOMAIN_RESOURCE, id);
    }
    return {};
}

bool CuptiSession::wanted(ApiClass kind, TraceLevel level, Recording recording)
{
    if (recording == Recording::Launches)
        return kind == ApiClass::Launch;
    if (causesActivity(kind) || kind == ApiClass::Synchronize)
        return true;
    if (level != TraceLevel::Full || kind == ApiClass::Ignored)
        return false;
    // Thousands a step: each would cost as much as a launch.
    return kind != ApiClass::CountedOnly || recording == Recording::ReferenceStep;
}

void CuptiSession::learnFunctions()
{
    if (functionsKnown_)
        return;
    functionsKnown_ = true;
    for (const auto& [domain, classes] : {std::pair{CUPTI_CB_DOMAIN_RUNTIME_API, &runtime_},
                                          std::pair{CUPTI_CB_DOMAIN_DRIVER_API, &driver_}}) {
        for (CUpti_CallbackId id = 1; id < kMostFunctions; ++id) {
            const char* name = nullptr;
            if (api_.callbackName(domain, id, name) == CUPTI_SUCCESS && name) {
                (*classes)[id] = classifyApi(name);
                const std::string_view text = name;
                if (domain == CUPTI_CB_DOMAIN_DRIVER_API &&
                    (text.starts_with("cuGraphInstantiate") || text.starts_with("cuGraphLaunch")))
                    graphCalls_.set(id);
            }
        }
    }
}

void CuptiSession::disableActivities()
{
    for (const CUpti_ActivityKind kind : std::exchange(activities_, {}))
        api_.enableActivity(false, kind);
}

void CuptiSession::disable()
{
    disableActivities();
    for (const auto& [domain, id] : std::exchange(callbacks_, {}))
        api_.enableCallback(false, subscriber_, domain, id);
    if (!watchesAlways())
        api_.unsubscribe(std::exchange(subscriber_, nullptr));
    on_ = false;
}

void CuptiSession::stop(Losses& losses)
{
    if (!on_)
        return;
    if (!api_.synchronizeDevice()) {
        losses.add(RecordLoss::DeviceNotSynchronized);
    }
    if (const CUptiResult result = api_.flush(true); result != CUPTI_SUCCESS) {
        losses.add(RecordLoss::CuptiNotFlushed, 1, api_.resultName(result));
    }
    // Another thread may have launched since.
    if (!activities_.empty()) {
        disableActivities();
        api_.flush(true);
    }
    countDropped({}, losses);
    disable();
}

void CuptiSession::giveUp(Losses& losses)
{
    stop(losses);
    const TryMutexLock lock(leaving_);
    leaves_.store(false);
    if (wholeGraphs_) {
        api_.flush(true);
        api_.enableActivity(false, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    }
    // Ends its callbacks as well, also those of what is watched between recordings.
    if (subscriber_)
        api_.unsubscribe(std::exchange(subscriber_, nullptr));
    callbacks_.clear();
    attached_ = false; // who has CUPTI now decides when it leaves the process
    givenUp_.store(true, std::memory_order_release);
}

void CuptiSession::leaveProcess()
{
    if (!graphs_)
        api_.finalize();
}

void CuptiSession::countDropped(const ActivityBuffers::Filled& buffer, Losses& losses)
{
    std::size_t dropped = 0;
    if (api_.dropped(static_cast<CUcontext>(buffer.context), buffer.stream, dropped) == CUPTI_SUCCESS) {
        losses.add(RecordLoss::CuptiDropped, static_cast<std::int64_t>(dropped));
    }
    losses.add(RecordLoss::CuptiDropped, scratchRecords.exchange(0));
}

std::string CuptiSession::refusal(CUptiResult result, const std::string& what, const std::string& rival) const
{
    switch (result) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: {
        const char* injected = std::getenv("CUDA_INJECTION64_PATH");
        const std::string name = !rival.empty() ? rival : injected ? injected : "unnamed";
        return "another profiler (" + name +
               ") traces this process already; run without it to record the device";
    }
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return "the driver lets only administrators profile; set NVreg_RestrictProfilingToAdminUsers=0 for "
               "the "
               "nvidia module, or run as root";
    case CUPTI_ERROR_UNKNOWN:
        return "CUPTI finds no GPU or no driver here";
    default:
        return "CUPTI refused to " + what + ": " + api_.resultName(result);
    }
}

// --- what CUPTI calls
// ------------------------------------------------------------------------------------------
//
// These run on the program's threads in the midst of a launch, or on CUPTI's own, with CUPTI's locks perhaps
// held: they push one record or move one pointer. They never wait for a mutex that another thread holds while it calls
// CUPTI or CUDA, which may in turn wait for the end of this callback.

void CuptiSession::onBufferRequested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* maxRecords)
{
    ActivityBuffers* buffers = activeBuffers.load(std::memory_order_acquire);
    *buffer = buffers ? buffers->request() : nullptr;
    *bytes = *buffer ? buffers->bytesEach() : 0;
    if (!*buffer && needsBuffers.load(std::memory_order_relaxed)) {
        *buffer = scratchBuffers().lend();
        *bytes = *buffer ? ScratchBuffers::kBytes : 0;
    }
    *maxRecords = 0; // as many as fit
}

void CuptiSession::onBufferCompleted(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                     std::size_t /*bytes*/, std::size_t validBytes)
{
    if (needsBuffers.load(std::memory_order_relaxed) && scratchBuffers().owns(buffer)) {
        if (CuptiApi* api = activeApi.load(std::memory_order_acquire))
            scratchRecords.fetch_add(countRecords(*api, buffer, validBytes));
        return scratchBuffers().takeBack(buffer);
    }
    ActivityBuffers* buffers = activeBuffers.load(std::memory_order_acquire);
    if (buffers && buffer)
        buffers->complete({.data = buffer, .bytes = validBytes, .context = context, .stream = stream});
}

void CuptiSession::onCallback(void* owner, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data)
{
    auto* session = static_cast<CuptiSession*>(owner);
    if (session->leaves_.load(std::memory_order_relaxed)) {
        if (static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_EXIT)
            session->leave();
        return;
    }
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API &&
        (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart || id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop)) {
        // Recorded is what lies between the two calls.
        const bool starts = id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart;
        const bool leaves = static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_EXIT;
        if (session->profilerCall_ && starts == leaves)
            session->profilerCall_(starts);
        return;
    }
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API)
        session->call(domain, id, *static_cast<const CUpti_CallbackData*>(data));
    else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
        session->resource(id, *static_cast<const CUpti_ResourceData*>(data));
}

void CuptiSession::tellWatch(CUpti_CallbackId id, const CUpti_ResourceData& data) noexcept
{
    switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
        return contexts_->contextCreated(data.context);
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
        return contexts_->contextEnds(data.context);
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
        if (const auto* module = static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor))
            contexts_->moduleLoaded(data.context, {module->pCubin, module->cubinSize});
        return;
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
        return contexts_->moduleEnds(data.context);
    default:
        return;
    }
}

void CuptiSession::resource(CUpti_CallbackId id, const CUpti_ResourceData& data) noexcept
{
    if (contexts_ && id <= CUPTI_CBID_RESOURCE_MODULE_PROFILED)
        return tellWatch(id, data);
    const auto* graph = static_cast<const CUpti_GraphData*>(data.resourceDescriptor);
    if (id == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED)
        return graph ? noteGraph(*graph) : void();
    ThreadLog* log = HostLogs::mine();
    std::uint64_t node = 0;
    std::uint64_t original = 0;
    // The only CUPTI function that is safe to call from this callback; a capture is not timed.
    if (!graph || !log || api_.graphNodeId(graph->node, node) != CUPTI_SUCCESS)
        return;
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED &&
        api_.graphNodeId(graph->originalNode, original) != CUPTI_SUCCESS)
        return;
    log->noteGraphNode(node, original);
}

/// A graph is made once and replayed often: asking the driver for its nodes takes time here and saves it later.
void CuptiSession::noteGraph(const CUpti_GraphData& graph) noexcept
{
    try {
        MadeGraph made;
        if (api_.graphExecId(graph.graphExec, made.id) != CUPTI_SUCCESS)
            return;
        made.nodes = api_.nodesOf(graph.graph);
        const MutexLock lock(graphMutex_);
        madeGraphs_.push_back(std::move(made));
    } catch (...) {
        return; // no memory: its replays have no name
    }
}

void CuptiSession::call(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                        const CUpti_CallbackData& data) noexcept
{
    if (id < kMostFunctions && domain == CUPTI_CB_DOMAIN_DRIVER_API && graphCalls_[id])
        graphs_.store(true, std::memory_order_relaxed);
    ThreadLog* log = HostLogs::mine();
    if (!log || id >= kMostFunctions)
        return;
    const ApiClass kind = (domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtime_ : driver_)[id];
    if (kind == ApiClass::Ignored)
        return;
    if (kind == ApiClass::CountedOnly) {
        if (data.callbackSite == CUPTI_API_ENTER)
            log->countedOnly.store(log->countedOnly.load(std::memory_order_relaxed) + 1,
                                   std::memory_order_relaxed);
        return;
    }
    const bool stored = kind == ApiClass::Synchronize || full_.load(std::memory_order_relaxed);
    const std::uint32_t correlation = data.correlationId + base_.load(std::memory_order_relaxed);
    if (data.callbackSite == CUPTI_API_ENTER) {
        std::uint64_t& started = *data.correlationData;
        started = 0;
        if (!log->enterCall())
            return;
        const std::int64_t now = nanosecondsOf(TraceClock::now());
        started = static_cast<std::uint64_t>(now);
        if (!context_.load(std::memory_order_relaxed))
            context_.store(data.context, std::memory_order_relaxed);
        if (causesActivity(kind) || stored)
            log->noteLaunch(correlation, now);
        lastCorrelation_.store(correlation, std::memory_order_relaxed);
    } else if (log->leaveCall() && stored && *data.correlationData != 0) {
        log->noteApiCall(apiKindOf(kind), static_cast<std::uint32_t>(domain) << 24 | id, correlation,
                         static_cast<std::int64_t>(*data.correlationData), nanosecondsOf(TraceClock::now()));
    }
}

// --- names, on the tracer's thread
// -----------------------------------------------------------------------------

StringId CuptiSession::functionName(std::uint32_t function, StringTable& strings)
{
    StringId& known = functionNames_[function];
    if (!known) {
        const char* name = nullptr;
        const auto domain = static_cast<CUpti_CallbackDomain>(function >> 24);
        const bool found = api_.callbackName(domain, function & 0xffffff, name) == CUPTI_SUCCESS && name;
        known = strings.intern(found ? functionNameOf(name) : "unnamed function");
    }
    return known;
}

StreamId CuptiSession::streamId(const void* stream)
{
    const auto known = streams_.find(stream);
    if (known != streams_.end())
        return known->second;
    CUcontext context = context_.load(std::memory_order_relaxed);
    std::uint32_t id = 0;
    if (!context ||
        api_.streamId(context, static_cast<CUstream>(const_cast<void*>(stream)), id) != CUPTI_SUCCESS)
        return {};
    return streams_[stream] = StreamId{id};
}

} // namespace tilescope::trace
