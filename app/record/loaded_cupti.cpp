#include "app/record/loaded_cupti.h"

#include "app/record/driver_graphs.h"
#include "app/record/find_function.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <limits>
#include <vector>

namespace tilescope::record {

namespace {

// CUDA 11.7; the layout of what is read is the same from there on.
constexpr std::uint32_t kOldestVersion = 17;
constexpr std::array kNames{"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7",
                            "libcupti.so"};

/// Folders in which the wheels of the libraries that are loaded keep CUPTI.
std::vector<std::string> neighbours()
{
    std::vector<std::string> folders;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* into) {
            const std::filesystem::path file = info->dlpi_name ? info->dlpi_name : "";
            if (file.filename().string().starts_with("libcudart.so")) {
                auto& found = *static_cast<std::vector<std::string>*>(into);
                const std::filesystem::path folder = file.parent_path();
                found.push_back(folder.string());
                found.push_back((folder.parent_path().parent_path() / "cuda_cupti/lib").string());
                found.push_back((folder.parent_path() / "extras/CUPTI/lib64").string());
            }
            return 0;
        },
        &folders);
    folders.insert(folders.end(), {"/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64"});
    return folders;
}

void* openCupti()
{
    for (const char* name : kNames)
        if (void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD))
            return library;
    // The one beside the CUDA runtime of the process fits it.
    for (const std::string& folder : neighbours())
        for (const char* name : kNames)
            if (void* library = dlopen((folder + "/" + name).c_str(), RTLD_LAZY))
                return library;
    for (const char* name : kNames)
        if (void* library = dlopen(name, RTLD_LAZY))
            return library;
    return nullptr;
}

template <class Function> Function find(void* library, const char* name)
{
    Function function = nullptr;
    findFunction(function, name, library);
    return function;
}

/// The functions of one CUPTI, by name; null where the library lacks one.
struct Functions {
    explicit Functions(void* from) : library(from) {}

    void* library;
    decltype(&::cuptiGetVersion) cuptiGetVersion =
        find<decltype(&::cuptiGetVersion)>(library, "cuptiGetVersion");
    decltype(&::cuptiActivitySetAttribute) cuptiActivitySetAttribute =
        find<decltype(&::cuptiActivitySetAttribute)>(library, "cuptiActivitySetAttribute");
    decltype(&::cuptiUnsubscribe) cuptiUnsubscribe =
        find<decltype(&::cuptiUnsubscribe)>(library, "cuptiUnsubscribe");
    decltype(&::cuptiEnableCallback) cuptiEnableCallback =
        find<decltype(&::cuptiEnableCallback)>(library, "cuptiEnableCallback");
    decltype(&::cuptiGetCallbackName) cuptiGetCallbackName =
        find<decltype(&::cuptiGetCallbackName)>(library, "cuptiGetCallbackName");
    decltype(&::cuptiActivityRegisterTimestampCallback) cuptiActivityRegisterTimestampCallback =
        find<decltype(&::cuptiActivityRegisterTimestampCallback)>(library,
                                                                  "cuptiActivityRegisterTimestampCallback");
    decltype(&::cuptiActivityRegisterCallbacks) cuptiActivityRegisterCallbacks =
        find<decltype(&::cuptiActivityRegisterCallbacks)>(library, "cuptiActivityRegisterCallbacks");
    decltype(&::cuptiActivityEnable) cuptiActivityEnable =
        find<decltype(&::cuptiActivityEnable)>(library, "cuptiActivityEnable");
    decltype(&::cuptiActivityDisable) cuptiActivityDisable =
        find<decltype(&::cuptiActivityDisable)>(library, "cuptiActivityDisable");
    decltype(&::cuptiActivityFlushAll) cuptiActivityFlushAll =
        find<decltype(&::cuptiActivityFlushAll)>(library, "cuptiActivityFlushAll");
    decltype(&::cuptiActivityGetNumDroppedRecords) cuptiActivityGetNumDroppedRecords =
        find<decltype(&::cuptiActivityGetNumDroppedRecords)>(library, "cuptiActivityGetNumDroppedRecords");
    decltype(&::cuptiActivityGetNextRecord) cuptiActivityGetNextRecord =
        find<decltype(&::cuptiActivityGetNextRecord)>(library, "cuptiActivityGetNextRecord");
    decltype(&::cuptiGetGraphNodeId) cuptiGetGraphNodeId =
        find<decltype(&::cuptiGetGraphNodeId)>(library, "cuptiGetGraphNodeId");
    decltype(&::cuptiGetGraphExecId) cuptiGetGraphExecId =
        find<decltype(&::cuptiGetGraphExecId)>(library, "cuptiGetGraphExecId");
    decltype(&::cuptiGetStreamIdEx) cuptiGetStreamIdEx =
        find<decltype(&::cuptiGetStreamIdEx)>(library, "cuptiGetStreamIdEx");
    decltype(&::cuptiGetResultString) cuptiGetResultString =
        find<decltype(&::cuptiGetResultString)>(library, "cuptiGetResultString");
    decltype(&::cuptiFinalize) cuptiFinalize = find<decltype(&::cuptiFinalize)>(library, "cuptiFinalize");
    decltype(&::cuptiSubscribe) cuptiSubscribe = find<decltype(&::cuptiSubscribe)>(library, "cuptiSubscribe");
    decltype(&::cuptiSubscribe_v2) cuptiSubscribe_v2 =
        find<decltype(&::cuptiSubscribe_v2)>(library, "cuptiSubscribe_v2");
    decltype(&::cuptiSetThreadIdType) cuptiSetThreadIdType =
        find<decltype(&::cuptiSetThreadIdType)>(library, "cuptiSetThreadIdType");

    bool isComplete() const
    {
        return (cuptiSubscribe || cuptiSubscribe_v2) && cuptiGetVersion && cuptiActivitySetAttribute &&
               cuptiUnsubscribe && cuptiEnableCallback && cuptiGetCallbackName &&
               cuptiActivityRegisterTimestampCallback && cuptiActivityRegisterCallbacks &&
               cuptiActivityEnable && cuptiActivityDisable && cuptiActivityFlushAll &&
               cuptiActivityGetNumDroppedRecords && cuptiActivityGetNextRecord && cuptiGetGraphNodeId &&
               cuptiGetStreamIdEx && cuptiGetResultString && cuptiFinalize;
    }
};

/// Waits for the devices that the runtime uses, in a thread in which no context is current.
bool synchronizePrimaryContexts(void* driver, int (*synchronize)())
{
    const auto count = find<int (*)(int*)>(driver, "cuDeviceGetCount");
    const auto get = find<int (*)(int*, int)>(driver, "cuDeviceGet");
    const auto state = find<int (*)(int, unsigned*, int*)>(driver, "cuDevicePrimaryCtxGetState");
    const auto retain = find<int (*)(void**, int)>(driver, "cuDevicePrimaryCtxRetain");
    const auto release = find<int (*)(int)>(driver, "cuDevicePrimaryCtxRelease_v2");
    const auto push = find<int (*)(void*)>(driver, "cuCtxPushCurrent_v2");
    const auto pop = find<int (*)(void**)>(driver, "cuCtxPopCurrent_v2");
    const auto captureMode = find<int (*)(int*)>(driver, "cuThreadExchangeStreamCaptureMode");
    int devices = 0;
    if (!count || !get || !state || !retain || !release || !push || !pop || !captureMode ||
        count(&devices) != 0)
        return true; // what is in flight stays unknown
    // A wait would otherwise end a capture of another thread.
    int mode = 2; // relaxed
    captureMode(&mode);
    bool good = true;
    for (int ordinal = 0; ordinal < devices; ++ordinal) {
        int device = 0;
        unsigned flags = 0;
        int isActive = 0;
        void* context = nullptr;
        if (get(&device, ordinal) != 0 || state(device, &flags, &isActive) != 0 || isActive == 0 ||
            retain(&context, device) != 0)
            continue;
        if (push(context) == 0) {
            good = synchronize() == 0 && good;
            pop(&context);
        }
        release(device);
    }
    captureMode(&mode);
    return good;
}

class LoadedCupti : public trace::CuptiApi {
public:
    LoadedCupti(const Functions& functions, std::uint32_t version) : call_(functions), version_(version) {}

    std::uint32_t version() override { return version_; }

    CUptiResult setAttribute(CUpti_ActivityAttribute attribute, std::size_t value) override
    {
        std::size_t size = sizeof(value);
        // This one attribute is a byte.
        auto byte = static_cast<std::uint8_t>(value);
        if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) {
            size = sizeof(byte);
            return call_.cuptiActivitySetAttribute(attribute, &size, &byte);
        }
        return call_.cuptiActivitySetAttribute(attribute, &size, &value);
    }

    CUptiResult subscribe(CUpti_SubscriberHandle& subscriber, CUpti_CallbackFunc callback, void* owner,
                          std::string& rival) override
    {
        CUptiResult result = CUPTI_SUCCESS;
        if (call_.cuptiSubscribe_v2) {
            char oldName[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN * 2] = {};
            CUpti_SubscriberParams parameters{};
            parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
            parameters.subscriberName = "Tilescope";
            parameters.oldSubscriberName = oldName;
            parameters.oldSubscriberSize = sizeof(oldName);
            result = call_.cuptiSubscribe_v2(&subscriber, callback, owner, &parameters);
            oldName[sizeof(oldName) - 1] = '\0';
            rival = oldName;
        } else {
            result = call_.cuptiSubscribe(&subscriber, callback, owner);
        }
        // Overheads then name threads as everything else here does.
        if (result == CUPTI_SUCCESS && call_.cuptiSetThreadIdType)
            call_.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
        return result;
    }
    CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber) override
    {
        return call_.cuptiUnsubscribe(subscriber);
    }
    CUptiResult enableCallback(bool enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                               CUpti_CallbackId id) override
    {
        return call_.cuptiEnableCallback(enable ? 1 : 0, subscriber, domain, id);
    }
    CUptiResult callbackName(CUpti_CallbackDomain domain, CUpti_CallbackId id, const char*& name) override
    {
        return call_.cuptiGetCallbackName(domain, id, &name);
    }

    CUptiResult registerTimestamps(CUpti_TimestampCallbackFunc clock) override
    {
        return call_.cuptiActivityRegisterTimestampCallback(clock);
    }
    CUptiResult registerBuffers(CUpti_BuffersCallbackRequestFunc request,
                                CUpti_BuffersCallbackCompleteFunc complete) override
    {
        return call_.cuptiActivityRegisterCallbacks(request, complete);
    }
    CUptiResult enableActivity(bool enable, CUpti_ActivityKind kind) override
    {
        return enable ? call_.cuptiActivityEnable(kind) : call_.cuptiActivityDisable(kind);
    }
    CUptiResult flush(bool forced) override
    {
        return call_.cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    }
    CUptiResult dropped(CUcontext context, std::uint32_t stream, std::size_t& count) override
    {
        return call_.cuptiActivityGetNumDroppedRecords(context, stream, &count);
    }
    CUptiResult nextRecord(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity*& record) override
    {
        return call_.cuptiActivityGetNextRecord(buffer, bytes, &record);
    }

    CUptiResult graphNodeId(CUgraphNode node, std::uint64_t& id) override
    {
        return call_.cuptiGetGraphNodeId(node, &id);
    }
    CUptiResult graphExecId(CUgraphExec graph, std::uint32_t& id) override
    {
        return call_.cuptiGetGraphExecId ? call_.cuptiGetGraphExecId(graph, &id) : CUPTI_ERROR_NOT_SUPPORTED;
    }
    std::vector<trace::GraphNodeFacts> nodesOf(CUgraph graph) override
    {
        return nodesOfGraph(graph, [this](CUgraphNode node) {
            std::uint64_t id = 0;
            return call_.cuptiGetGraphNodeId(node, &id) == CUPTI_SUCCESS ? id : 0;
        });
    }
    CUptiResult streamId(CUcontext context, CUstream stream, std::uint32_t& id) override
    {
        return call_.cuptiGetStreamIdEx(context, stream, 0, &id);
    }
    std::string resultName(CUptiResult result) override
    {
        const char* text = nullptr;
        if (call_.cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text)
            return text;
        return "CUPTI error " + std::to_string(static_cast<int>(result));
    }
    CUptiResult finalize() override { return call_.cuptiFinalize(); }
    bool synchronizeDevice() override
    {
        void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        const auto synchronize = driver ? find<int (*)()>(driver, "cuCtxSynchronize") : nullptr;
        constexpr int kInvalidContext = 201;
        constexpr int kNotInitialized =
            3; // cuInit failed, or a forked child: nothing of this process is in flight
        constexpr int kDeinitialized = 4;
        const int result = synchronize ? synchronize() : 0;
        if (result == kInvalidContext)
            return synchronizePrimaryContexts(driver, synchronize);
        return result == 0 || result == kNotInitialized || result == kDeinitialized;
    }

protected:
    Functions call_;

private:
    std::uint32_t version_;
};

/// Functions that CUDA 13.3 added for several subscribers. The headers of this build may be older.
struct SharedFunctions {
    explicit SharedFunctions(void* from) : library(from) {}

    using Configuration = void; // null: all fields of a record
    using Information = void;
    using Request = void(CUPTIAPI*)(std::uint8_t**, std::size_t*, std::size_t*, Information*);
    using Complete = void(CUPTIAPI*)(std::uint8_t*, std::size_t, std::size_t, Information*);
    using Kind = CUptiResult(CUPTIAPI*)(CUpti_SubscriberHandle, CUpti_ActivityKind, Configuration*);

    void* library;
    Kind enable = find<Kind>(library, "cuptiActivityEnable_v2");
    Kind disable = find<Kind>(library, "cuptiActivityDisable_v2");
    CUptiResult(CUPTIAPI* registerCallbacks)(CUpti_SubscriberHandle, Request, Complete) =
        find<decltype(registerCallbacks)>(library, "cuptiActivityRegisterCallbacks_v2");
    CUptiResult(CUPTIAPI* setAttribute)(CUpti_SubscriberHandle, CUpti_ActivityAttribute, std::size_t*,
                                        void*) = find<decltype(setAttribute)>(library,
                                                                              "cuptiActivitySetAttribute_v2");
    CUptiResult(CUPTIAPI* nextRecord)(CUpti_SubscriberHandle, std::uint8_t*, std::size_t, CUpti_Activity**) =
        find<decltype(nextRecord)>(library, "cuptiActivityGetNextRecord_v2");
    CUptiResult(CUPTIAPI* dropped)(CUpti_SubscriberHandle, CUcontext, std::uint32_t, std::size_t*) =
        find<decltype(dropped)>(library, "cuptiActivityGetNumDroppedRecords_v2");
    CUptiResult(CUPTIAPI* timestamp)(CUpti_SubscriberHandle,
                                     std::uint64_t*) = find<decltype(timestamp)>(library,
                                                                                 "cuptiGetTimestamp_v2");

    bool isComplete() const
    {
        return enable && disable && registerCallbacks && setAttribute && nextRecord && dropped && timestamp;
    }
};

/// The CUPTI of CUDA 13.3 and later, beside other profilers of the process that allow it.
class SharedCupti final : public LoadedCupti {
public:
    static constexpr std::uint32_t kOldest = 130300;

    SharedCupti(const Functions& functions, const SharedFunctions& shared, std::uint32_t version)
        : LoadedCupti(functions, version), shared_(shared)
    {
    }

    CUptiResult subscribe(CUpti_SubscriberHandle& subscriber, CUpti_CallbackFunc callback, void* owner,
                          std::string& rival) override
    {
        char oldName[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN * 2] = {};
        // The members that 13.3 added to CUpti_SubscriberParams follow those that it had before.
        struct {
            CUpti_SubscriberParams first;
            std::uint8_t allowMultipleSubscribers;
            std::uint8_t padding[7];
        } parameters{};
        parameters.first.structSize = sizeof(parameters);
        parameters.first.subscriberName = "Tilescope";
        parameters.first.oldSubscriberName = oldName;
        parameters.first.oldSubscriberSize = sizeof(oldName);
        parameters.allowMultipleSubscribers = 1;
        const CUptiResult result = call_.cuptiSubscribe_v2(&subscriber, callback, owner, &parameters.first);
        oldName[sizeof(oldName) - 1] = '\0';
        rival = oldName;
        subscriber_ = result == CUPTI_SUCCESS ? subscriber : nullptr;
        // Overheads then name threads as everything else here does.
        constexpr auto kThreadIdType = static_cast<CUpti_ActivityAttribute>(21);
        if (subscriber_)
            set(kThreadIdType, static_cast<std::uint32_t>(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
        return result;
    }
    CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber) override
    {
        subscriber_ = nullptr;
        return call_.cuptiUnsubscribe(subscriber);
    }
    CUptiResult setAttribute(CUpti_ActivityAttribute attribute, std::size_t value) override
    {
        if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
            return set(attribute, static_cast<std::uint8_t>(value));
        return set(attribute, value);
    }

    /// Several subscribers share CUPTI's clock, so the difference between the clocks is measured.
    CUptiResult registerTimestamps(CUpti_TimestampCallbackFunc clock) override
    {
        std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
        for (int i = 0; i < 16; ++i) {
            std::uint64_t time = 0;
            const auto before = static_cast<std::int64_t>(clock());
            if (const CUptiResult result = shared_.timestamp(subscriber_, &time); result != CUPTI_SUCCESS)
                return result;
            const std::int64_t length = static_cast<std::int64_t>(clock()) - before;
            if (length < shortest) {
                shortest = length;
                clockOffset_.store(before + length / 2 - static_cast<std::int64_t>(time));
            }
        }
        return CUPTI_SUCCESS;
    }
    std::int64_t clockOffset() override { return clockOffset_.load(); }
    CUptiResult registerBuffers(CUpti_BuffersCallbackRequestFunc request,
                                CUpti_BuffersCallbackCompleteFunc complete) override
    {
        request_.store(request);
        complete_.store(complete);
        return shared_.registerCallbacks(subscriber_, &onRequest, &onComplete);
    }
    CUptiResult enableActivity(bool enable, CUpti_ActivityKind kind) override
    {
        return (enable ? shared_.enable : shared_.disable)(subscriber_, kind, nullptr);
    }
    CUptiResult dropped(CUcontext context, std::uint32_t stream, std::size_t& count) override
    {
        // Without a subscriber there is nothing to drop.
        count = 0;
        return subscriber_ ? shared_.dropped(subscriber_, context, stream, &count) : CUPTI_SUCCESS;
    }
    CUptiResult nextRecord(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity*& record) override
    {
        // After an unsubscription the last buffers still wait.
        return subscriber_ ? shared_.nextRecord(subscriber_, buffer, bytes, &record)
                           : LoadedCupti::nextRecord(buffer, bytes, record);
    }
    /// CUPTI stays for the other profilers.
    CUptiResult finalize() override
    {
        const CUpti_SubscriberHandle subscriber = subscriber_.exchange(nullptr);
        return subscriber ? call_.cuptiUnsubscribe(subscriber) : CUPTI_SUCCESS;
    }

private:
    template <class Value> CUptiResult set(CUpti_ActivityAttribute attribute, Value value)
    {
        std::size_t size = sizeof(value);
        return shared_.setAttribute(subscriber_, attribute, &size, &value);
    }
    static void CUPTIAPI onRequest(std::uint8_t** buffer, std::size_t* bytes, std::size_t* maxRecords,
                                   SharedFunctions::Information* /*information*/)
    {
        request_.load()(buffer, bytes, maxRecords);
    }
    static void CUPTIAPI onComplete(std::uint8_t* buffer, std::size_t bytes, std::size_t validBytes,
                                    SharedFunctions::Information* /*information*/)
    {
        complete_.load()(nullptr, 0, buffer, bytes, validBytes);
    }

    // CUPTI's callbacks have no context argument; a process has one recorder.
    static inline std::atomic<CUpti_BuffersCallbackRequestFunc> request_{nullptr};
    static inline std::atomic<CUpti_BuffersCallbackCompleteFunc> complete_{nullptr};

    SharedFunctions shared_;
    std::atomic<CUpti_SubscriberHandle> subscriber_{nullptr};
    std::atomic<std::int64_t> clockOffset_{0};
};

} // namespace

std::unique_ptr<trace::CuptiApi> loadedCupti(std::string& reason)
{
    void* library = openCupti();
    if (!library) {
        reason = "no CUPTI was found; install the CUDA toolkit's or the wheel nvidia-cuda-cupti";
        return nullptr;
    }
    const Functions functions(library);
    std::uint32_t version = 0;
    if (!functions.isComplete() || functions.cuptiGetVersion(&version) != CUPTI_SUCCESS ||
        version < kOldestVersion) {
        reason = "the CUPTI of this process has version " + std::to_string(version) +
                 "; kernels are recorded from CUDA 11.7 on";
        return nullptr;
    }
    const SharedFunctions shared(library);
    if (version >= SharedCupti::kOldest && functions.cuptiSubscribe_v2 && shared.isComplete())
        return std::make_unique<SharedCupti>(functions, shared, version);
    return std::make_unique<LoadedCupti>(functions, version);
}

void* loadedCuptiLibrary()
{
    return openCupti();
}

DeviceFacts factsOfDevice(int ordinal)
{
    using DeviceGet = int (*)(int*, int);
    using DeviceGetName = int (*)(char*, int, int);
    using DeviceGetUuid = int (*)(unsigned char*, int);
    DeviceFacts facts;
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!driver)
        return facts;
    const auto get = find<DeviceGet>(driver, "cuDeviceGet");
    const auto getName = find<DeviceGetName>(driver, "cuDeviceGetName");
    const auto getUuid = find<DeviceGetUuid>(driver, "cuDeviceGetUuid_v2");
    int device = 0;
    if (!get || get(&device, ordinal) != 0)
        return facts;
    std::array<char, 256> name{};
    if (getName && getName(name.data(), static_cast<int>(name.size()) - 1, device) == 0)
        facts.name = name.data();
    std::array<unsigned char, 16> uuid{};
    if (getUuid && getUuid(uuid.data(), device) == 0) {
        facts.uuid = "GPU-";
        for (std::size_t i = 0; i < uuid.size(); ++i) {
            constexpr std::string_view kDigits = "0123456789abcdef";
            if (i == 4 || i == 6 || i == 8 || i == 10)
                facts.uuid += '-';
            facts.uuid += kDigits[uuid[i] >> 4];
            facts.uuid += kDigits[uuid[i] & 15];
        }
    }
    return facts;
}

} // namespace tilescope::record
