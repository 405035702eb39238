#include "app/record/nvtx_callbacks.h"

#include "app/record/messages.h"
#include "app/record/nested_ranges.h"
#include "app/record/nvtx_collectives.h"
#include "app/record/nvtx_ops.h"
#include "app/record/recorder.h"
#include "core/base/mutex.h"
#include "core/base/units.h"

#include <unistd.h>

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace tilescope::record {

namespace {

constexpr std::string_view kOwnDomain = "tilescope";
// NCCL ends some of its ranges by nvtxRangePopPayload(), which only tools with NVTX's payload extension see.
constexpr std::string_view kNcclDomain = "NCCL";

/// A range that one thread may start and another end.
struct StartedRange {
    std::string name;
    std::uint32_t thread = 0;
    std::int64_t start = 0;
};

/// Domains, registered strings and open start/end ranges. Never destroyed, as handles stay in the program.
struct Registry {
    Mutex mutex;
    std::deque<std::string> texts GUARDED_BY(mutex); ///< handles are addresses of these
    std::unordered_map<nvtxRangeId_t, StartedRange> started GUARDED_BY(mutex);
    nvtxRangeId_t nextRange GUARDED_BY(mutex) = 1;

    const std::string* keep(std::string_view text)
    {
        const MutexLock lock(mutex);
        return &texts.emplace_back(text);
    }
};

Registry& registry()
{
    static auto* const all = new Registry;
    return *all;
}

std::int64_t now()
{
    return nanosecondsOf(TraceClock::now());
}

std::string narrow(const wchar_t* text)
{
    std::string out;
    for (; text && *text; ++text)
        out += *text < 0x80 ? static_cast<char>(*text) : '?';
    return out;
}

/// The text of an event; `storage` holds it where it must be converted.
std::string_view textOf(const nvtxEventAttributes_t* event, std::string& storage)
{
    if (!event)
        return {};
    switch (event->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
        return event->message.ascii ? event->message.ascii : std::string_view();
    case NVTX_MESSAGE_TYPE_UNICODE:
        return storage = narrow(event->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
        if (const auto* kept = reinterpret_cast<const std::string*>(event->message.registered))
            return *kept;
        return {};
    default:
        return {};
    }
}

/// Calls a function that may lack memory: then the event is missing.
template <class Function, class Result> Result guarded(Function function, Result otherwise) noexcept
{
    try {
        return function();
    } catch (...) {
        return otherwise;
    }
}

// A name without text, so that every push has a range to pop.
constexpr std::string_view kUnnamed = "(unnamed)";
constexpr int kNoRange = -1; // what NVTX's functions return then

int push(const void* domain, std::string_view name, const nvtxEventAttributes_t* event = nullptr) noexcept
{
    if (!domain) {
        if (pushNvtxOp(name))
            return 0;
        pushOtherRange();
    }
    if (domain && *static_cast<const std::string*>(domain) == kNcclDomain) {
        startNcclCall(name, event);
        return openLeaf(domain, name);
    }
    return openNested(domain, nullptr, name.empty() ? kUnnamed : name);
}

int pop(const void* domain) noexcept
{
    if (!domain && popNvtxOp())
        return 0;
    if (domain && *static_cast<const std::string*>(domain) == kNcclDomain)
        endNcclCall();
    return closeNested(domain, nullptr);
}

nvtxRangeId_t start(std::string_view name) noexcept
{
    Recorder::noteOpening(name);
    try {
        if (!Recorder::isRecording())
            return 0;
        Recorder::noteOpened();
        Registry& all = registry();
        const MutexLock lock(all.mutex);
        const nvtxRangeId_t id = all.nextRange++;
        all.started.emplace(id, StartedRange{.name = std::string(name.empty() ? kUnnamed : name),
                                             .thread = static_cast<std::uint32_t>(gettid()),
                                             .start = now()});
        return id;
    } catch (...) {
        return 0; // no memory: this range is missing
    }
}

void end(nvtxRangeId_t id) noexcept
{
    const std::int64_t ended = now();
    StartedRange range;
    {
        Registry& all = registry();
        const MutexLock lock(all.mutex);
        const auto found = all.started.find(id);
        if (found == all.started.end())
            return;
        range = std::move(found->second);
        all.started.erase(found);
    }
    Recorder::noteRange(range.name, range.thread, range.start, ended);
}

// --- the functions of NVTX ---

int NVTX_API rangePushA(const char* name)
{
    return push(nullptr, name ? name : "");
}
int NVTX_API rangePushW(const wchar_t* name)
{
    return guarded([&] { return push(nullptr, narrow(name)); }, kNoRange);
}
int NVTX_API rangePushEx(const nvtxEventAttributes_t* event)
{
    std::string storage;
    return guarded([&] { return push(nullptr, textOf(event, storage)); }, kNoRange);
}
int NVTX_API rangePop()
{
    return pop(nullptr);
}
nvtxRangeId_t NVTX_API rangeStartA(const char* name)
{
    return start(name ? name : "");
}
nvtxRangeId_t NVTX_API rangeStartW(const wchar_t* name)
{
    return guarded([&] { return start(narrow(name)); }, nvtxRangeId_t{0});
}
nvtxRangeId_t NVTX_API rangeStartEx(const nvtxEventAttributes_t* event)
{
    std::string storage;
    return guarded([&] { return start(textOf(event, storage)); }, nvtxRangeId_t{0});
}
void NVTX_API rangeEnd(nvtxRangeId_t id)
{
    end(id);
}

void NVTX_API domainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event)
{
    const auto* name = reinterpret_cast<const std::string*>(domain);
    std::string storage;
    if (name && *name == kOwnDomain)
        guarded(
            [&] {
                takeMessage(textOf(event, storage));
                return true;
            },
            false);
}
int NVTX_API domainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event)
{
    std::string storage;
    return guarded([&] { return push(domain, textOf(event, storage), event); }, kNoRange);
}
int NVTX_API domainRangePop(nvtxDomainHandle_t domain)
{
    return pop(domain);
}
nvtxRangeId_t NVTX_API domainRangeStartEx(nvtxDomainHandle_t /*domain*/, const nvtxEventAttributes_t* event)
{
    return rangeStartEx(event);
}
void NVTX_API domainRangeEnd(nvtxDomainHandle_t /*domain*/, nvtxRangeId_t id)
{
    end(id);
}
nvtxStringHandle_t NVTX_API domainRegisterStringA(nvtxDomainHandle_t /*domain*/, const char* text)
{
    const std::string* kept =
        guarded([&] { return registry().keep(text ? text : ""); }, static_cast<const std::string*>(nullptr));
    return reinterpret_cast<nvtxStringHandle_t>(const_cast<std::string*>(kept));
}
nvtxStringHandle_t NVTX_API domainRegisterStringW(nvtxDomainHandle_t domain, const wchar_t* text)
{
    return guarded([&] { return domainRegisterStringA(domain, narrow(text).c_str()); }, nvtxStringHandle_t{});
}
nvtxDomainHandle_t NVTX_API domainCreateA(const char* name)
{
    const std::string* kept =
        guarded([&] { return registry().keep(name ? name : ""); }, static_cast<const std::string*>(nullptr));
    return reinterpret_cast<nvtxDomainHandle_t>(const_cast<std::string*>(kept));
}
nvtxDomainHandle_t NVTX_API domainCreateW(const wchar_t* name)
{
    return guarded([&] { return domainCreateA(narrow(name).c_str()); }, nvtxDomainHandle_t{});
}

struct Entry {
    unsigned index;
    NvtxFunctionPointer function;
};

template <class Function> Entry entry(unsigned index, Function* function)
{
    return {index, reinterpret_cast<NvtxFunctionPointer>(function)};
}

bool fill(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module,
          std::initializer_list<Entry> entries)
{
    NvtxFunctionTable table = nullptr;
    unsigned size = 0;
    if (!callbacks.GetModuleFunctionTable(module, &table, &size) || !table)
        return false;
    for (const Entry& one : entries)
        if (one.index < size && table[one.index])
            *table[one.index] = one.function;
    return true;
}

} // namespace

Mutex& nvtxMutex()
{
    return registry().mutex;
}

bool installNvtxCallbacks(NvtxGetExportTableFunc_t getExportTable)
{
    const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(
        getExportTable ? getExportTable(NVTX_ETID_CALLBACKS) : nullptr);
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks) || !callbacks->GetModuleFunctionTable)
        return false;
    const bool core = fill(
        *callbacks, NVTX_CB_MODULE_CORE,
        {entry(NVTX_CBID_CORE_RangeStartEx, &rangeStartEx), entry(NVTX_CBID_CORE_RangeStartA, &rangeStartA),
         entry(NVTX_CBID_CORE_RangeStartW, &rangeStartW), entry(NVTX_CBID_CORE_RangeEnd, &rangeEnd),
         entry(NVTX_CBID_CORE_RangePushEx, &rangePushEx), entry(NVTX_CBID_CORE_RangePushA, &rangePushA),
         entry(NVTX_CBID_CORE_RangePushW, &rangePushW), entry(NVTX_CBID_CORE_RangePop, &rangePop)});
    const bool domains = fill(*callbacks, NVTX_CB_MODULE_CORE2,
                              {entry(NVTX_CBID_CORE2_DomainMarkEx, &domainMarkEx),
                               entry(NVTX_CBID_CORE2_DomainRangeStartEx, &domainRangeStartEx),
                               entry(NVTX_CBID_CORE2_DomainRangeEnd, &domainRangeEnd),
                               entry(NVTX_CBID_CORE2_DomainRangePushEx, &domainRangePushEx),
                               entry(NVTX_CBID_CORE2_DomainRangePop, &domainRangePop),
                               entry(NVTX_CBID_CORE2_DomainRegisterStringA, &domainRegisterStringA),
                               entry(NVTX_CBID_CORE2_DomainRegisterStringW, &domainRegisterStringW),
                               entry(NVTX_CBID_CORE2_DomainCreateA, &domainCreateA),
                               entry(NVTX_CBID_CORE2_DomainCreateW, &domainCreateW)});
    return core || domains;
}

} // namespace tilescope::record
