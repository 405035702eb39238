#include "core/trace/cupti/pc_sampler.h"

#include "core/trace/host/quiet_thread.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace tilescope::trace {

namespace {

using namespace std::chrono_literals;

constexpr auto kPeriod = 200ms;
constexpr auto kLookForTurn = 20ms;
constexpr std::size_t kMostPcs = 8192; ///< of one reading
constexpr int kMostReadings = 32;      ///< one after the other
constexpr std::size_t kMostReasons = 256;
/// 2^15 cycles: some 8,000 samples per millisecond of a full H200. By CUPTI's own choice there are 16 times as many, of which
/// its thread, which wakes every 100 ms, cannot empty the hardware's buffer in time.
constexpr std::uint32_t kPeriodOfSamples = 15;
constexpr std::size_t kScratchBytes = std::size_t{16} << 20;
constexpr int kMostFailures = 5;            ///< in a row
constexpr int kCallbackWait = 200;          ///< ms
constexpr int kLongWait = 2000;             ///< ms
constexpr std::size_t kMostCode = 16 << 20; ///< bytes of one module: what a recording keeps at all
constexpr std::size_t kMostLoadedCode = std::size_t{256} << 20;
constexpr Nanoseconds kLongestSlice = 5s;       ///< of time
constexpr std::size_t kRowsOfALength = 100'000; ///< after which slices become twice as long

std::string_view baseName(std::string_view name, bool& isUnissued)
{
    constexpr std::string_view kUnissued = "_not_issued";
    constexpr std::string_view kStalled = "_stalled_";
    isUnissued = name.ends_with(kUnissued);
    if (isUnissued)
        name.remove_suffix(kUnissued.size());
    if (const std::size_t at = name.find(kStalled); at != std::string_view::npos)
        name.remove_prefix(at + kStalled.size());
    return name;
}

/// The same for all processes of a recording: the element of CUDA_VISIBLE_DEVICES, otherwise CUDA's number.
std::string nameOfDevice(std::int32_t ordinal)
{
    const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
    std::string_view rest = value ? value : "";
    for (std::int32_t i = 0; !rest.empty(); ++i) {
        const std::size_t comma = rest.find(',');
        if (i == ordinal) {
            std::string name(rest.substr(0, comma));
            std::ranges::replace(name, '/', '-');
            return name;
        }
        rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    }
    return std::to_string(ordinal);
}

std::uint64_t placeKey(std::uint32_t kernel, std::uint64_t offset)
{
    return std::uint64_t{kernel} << 32 | (offset & 0xffffffffU);
}

} // namespace

/// A buffer of the form that CUPTI fills.
class PcSampler::Buffer {
public:
    explicit Buffer(std::size_t reasons) : counts_(kMostPcs * reasons), pcs_(kMostPcs)
    {
        for (std::size_t i = 0; i < kMostPcs; ++i) {
            pcs_[i].size = sizeof(CUpti_PCSamplingPCData);
            pcs_[i].stallReason = counts_.data() + i * reasons;
        }
        data.size = sizeof(CUpti_PCSamplingData);
        data.collectNumPcs = kMostPcs;
        data.pPcData = pcs_.data();
    }

    CUpti_PCSamplingData data{};

private:
    std::vector<CUpti_PCSamplingStallReason> counts_;
    std::vector<CUpti_PCSamplingPCData> pcs_;
};

PcSampler::PcSampler(const PcSamplingApi& api, std::filesystem::path folder, MayBegin mayBegin)
    : api_(api), folder_(std::move(folder)), mayBegin_(std::move(mayBegin)), sliceStart_(TraceClock::now()),
      sliceLength_(kPeriod), rowsUntilLonger_(kRowsOfALength)
{
    thread_ = startQuietThread("tilescope-pc", [this] { run(); });
}

PcSampler::~PcSampler()
{
    stop();
}

bool PcSampler::lockFor(int milliseconds) noexcept
{
    for (int i = 0; i <= milliseconds; ++i) {
        if (cuptiMutex_.tryLock())
            return true;
        std::this_thread::sleep_for(1ms);
    }
    return false;
}

bool PcSampler::setOn(bool on) noexcept
{
    try {
        if (!lockFor(kLongWait)) {
            switchTo(on); // the thread starts what is to be sampled
            return false;
        }
        const TryMutexLock lock(cuptiMutex_, std::adopt_lock);
        takeInChanges();
        drainAll(); // what was sampled until now
        switchTo(on);
        startAll();
    } catch (...) {
        noteTrouble("kernels were not sampled: no memory is left");
    }
    return true;
}

void PcSampler::switchTo(bool on)
{
    on_.store(on);
    const MutexLock lock(mutex_);
    endSlice(true); // what is sampled from now on is not of the time before
}

void PcSampler::stop() noexcept
{
    {
        const MutexLock lock(mutex_);
        ends_.store(true);
    }
    changed_.notifyAll();
    if (thread_.joinable())
        thread_.join();
    if (lockFor(kLongWait)) {
        const TryMutexLock lock(cuptiMutex_, std::adopt_lock);
        try {
            takeInChanges();
            for (const auto& context : contexts_)
                end(*context);
            releaseClaims();
        } catch (...) {
            noteTrouble("samples of kernels are missing: no memory is left");
        }
    }
    on_.store(false);
}

void PcSampler::run() noexcept
{
    MutexLock lock(mutex_);
    auto drained = std::chrono::steady_clock::now();
    while (!ends_.load()) {
        changed_.waitFor(lock, mayBegin_ ? kLookForTurn : kPeriod, [this] { return ends_.load(); });
        lock.unlock();
        try {
            const TryMutexLock cupti(cuptiMutex_);
            takeInChanges();
            if (const auto now = std::chrono::steady_clock::now(); !mayBegin_ || now - drained >= kPeriod) {
                drainAll();
                drained = now;
            }
        } catch (...) {
            noteTrouble("samples of kernels are missing: no memory is left");
        }
        lock.lock();
    }
}

void PcSampler::startAll()
{
    for (const auto& context : contexts_)
        if (on_.load())
            start(*context);
}

void PcSampler::noteTrouble(std::string sentence)
{
    const MutexLock lock(mutex_);
    if (trouble_.empty())
        trouble_ = std::move(sentence);
}

// --- contexts ---

/// Takes note of the contexts that were created and destroyed since the last time, and starts what is to be sampled now.
void PcSampler::takeInChanges()
{
    std::vector<Change> changes;
    {
        const MutexLock lock(mutex_);
        changes.swap(changes_);
    }
    for (const Change& change : changes) {
        if (!change.isNew) {
            const auto found =
                std::ranges::find(contexts_, change.handle, [](const auto& each) { return each->handle; });
            if (found != contexts_.end()) {
                // CUPTI has written what was left into this buffer.
                if ((*found)->isOn)
                    add(**found, (*found)->configured->data);
                forget(change.handle);
            }
            continue;
        }
        if (std::ranges::any_of(contexts_, [&](const auto& each) { return each->handle == change.handle; }))
            continue;
        auto context = std::make_unique<Context>();
        context->handle = change.handle;
        std::uint32_t device = 0;
        if (api_.deviceId(change.handle, &device) == CUPTI_SUCCESS)
            context->device = static_cast<std::int32_t>(device);
        contexts_.push_back(std::move(context));
    }
    startAll();
}

/// Of a context that was destroyed.
void PcSampler::forget(CUcontext handle)
{
    const auto found = std::ranges::find(contexts_, handle, [](const auto& each) { return each->handle; });
    if (found == contexts_.end())
        return;
    (*found)->isOn = false;
    if ((*found)->configured)
        ended_.push_back(std::move(*found));
    contexts_.erase(found);
}

/// Two processes that sample the same device may crash. A symbolic link needs no file descriptor.
bool PcSampler::claim(std::int32_t device)
{
    if (folder_.empty())
        return true;
    const std::string link = (folder_ / ("sampled-gpu-" + nameOfDevice(device))).string();
    if (std::ranges::find(claims_, link) != claims_.end())
        return true;
    const std::string own = std::to_string(getpid());
    for (int i = 0; i < 2; ++i) {
        if (symlink(own.c_str(), link.c_str()) == 0) {
            claims_.push_back(link);
            return true;
        }
        std::array<char, 32> holder{};
        if (errno != EEXIST)
            return true; // no place for links: no other process can have one either
        if (readlink(link.c_str(), holder.data(), holder.size() - 1) < 0)
            continue; // it was released just now
        const int process = std::atoi(holder.data());
        if (process <= 0 || kill(process, 0) == 0 || errno != ESRCH)
            break;
        unlink(link.c_str()); // of a process that was killed
    }
    return false;
}

void PcSampler::releaseClaims()
{
    for (const std::string& link : std::exchange(claims_, {}))
        unlink(link.c_str());
}

void PcSampler::start(Context& context)
{
    if (context.isOn || context.isRefused || ends_.load() || !hasTurn())
        return;
    if (hasChosen_ && !context.isChosen) {
        context.isRefused = true;
        const MutexLock lock(mutex_);
        leavesContexts_ = true;
        return;
    }
    if (!claim(context.device)) {
        context.isRefused = true;
        return noteTrouble(
            "kernels of a process were not sampled: another process of the recording uses the same GPU, "
            "and one can be sampled at a time");
    }
    CUpti_PCSamplingEnableParams parameters{};
    parameters.size = CUpti_PCSamplingEnableParamsSize;
    parameters.ctx = context.handle;
    if (const CUptiResult result = api_.enable(&parameters); result != CUPTI_SUCCESS) {
        releaseClaims(); // another process may have more luck
        return refuse(context, result, "start");
    }
    hasChosen_ = true;
    {
        const MutexLock lock(mutex_);
        hasStarted_ = true;
    }
    context.isChosen = true;
    context.isOn = true;
    context.failures = 0;
    if (!learnReasons(context.handle))
        return refuse(context, CUPTI_ERROR_NOT_SUPPORTED, "name stall reasons");
    if (const CUptiResult result = configure(context); result != CUPTI_SUCCESS)
        refuse(context, result, "be configured");
}

/// Learns once what reasons there are, the same for all devices of this process.
bool PcSampler::learnReasons(CUcontext context)
{
    if (!reasonOf_.empty())
        return true;
    std::size_t count = 0;
    CUpti_PCSamplingGetNumStallReasonsParams toCount{};
    toCount.size = CUpti_PCSamplingGetNumStallReasonsParamsSize;
    toCount.ctx = context;
    toCount.numStallReasons = &count;
    if (api_.countReasons(&toCount) != CUPTI_SUCCESS || count == 0 || count > kMostReasons)
        return false;
    std::vector<std::uint32_t> indices(count);
    std::vector<std::array<char, CUPTI_STALL_REASON_STRING_SIZE>> names(count);
    std::vector<char*> pointers;
    for (auto& name : names)
        pointers.push_back(name.data());
    CUpti_PCSamplingGetStallReasonsParams toName{};
    toName.size = CUpti_PCSamplingGetStallReasonsParamsSize;
    toName.ctx = context;
    toName.numStallReasons = count;
    toName.stallReasonIndex = indices.data();
    toName.stallReasons = pointers.data();
    if (api_.reasons(&toName) != CUPTI_SUCCESS)
        return false;
    const MutexLock lock(mutex_);
    std::vector<Reason> found;
    for (std::size_t i = 0; i < count; ++i) {
        names[i].back() = '\0';
        Reason reason;
        const std::string_view name = baseName(names[i].data(), reason.isUnissued);
        const auto known = std::ranges::find(reasons_, name);
        reason.index = static_cast<std::uint32_t>(known - reasons_.begin());
        if (known == reasons_.end())
            reasons_.emplace_back(name);
        if (indices[i] >= kMostReasons)
            return false;
        if (indices[i] >= found.size())
            found.resize(indices[i] + 1);
        found[indices[i]] = reason;
    }
    reasonOf_ = std::move(found);
    return true;
}

CUptiResult PcSampler::configure(Context& context)
{
    if (!context.read) {
        context.read = std::make_unique<Buffer>(reasonOf_.size());
        context.configured = std::make_unique<Buffer>(reasonOf_.size());
    }
    context.configured->data.totalNumPcs = 0;
    std::array<CUpti_PCSamplingConfigurationInfo, 4> settings{};
    settings[0].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE;
    settings[0].attributeData.collectionModeData.collectionMode =
        CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
    settings[1].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE;
    settings[1].attributeData.scratchBufferSizeData.scratchBufferSize = kScratchBytes;
    settings[2].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER;
    settings[2].attributeData.samplingDataBufferData.samplingDataBuffer = &context.configured->data;
    settings[3].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
    settings[3].attributeData.samplingPeriodData.samplingPeriod = kPeriodOfSamples;
    CUpti_PCSamplingConfigurationInfoParams parameters{};
    parameters.size = CUpti_PCSamplingConfigurationInfoParamsSize;
    parameters.ctx = context.handle;
    parameters.numAttributes = settings.size();
    parameters.pPCSamplingConfigurationInfo = settings.data();
    const CUptiResult result = api_.configure(&parameters);
    if (result != CUPTI_SUCCESS)
        return result;
    CUpti_PCSamplingConfigurationInfo period{};
    period.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
    parameters.numAttributes = 1;
    parameters.pPCSamplingConfigurationInfo = &period;
    if (api_.configuration(&parameters) == CUPTI_SUCCESS)
        period_.store(period.attributeData.samplingPeriodData.samplingPeriod);
    return CUPTI_SUCCESS;
}

void PcSampler::end(Context& context)
{
    if (!context.isOn)
        return;
    drain(context);
    stopIn(context);
}

/// Switches sampling off and takes what CUPTI still has.
void PcSampler::stopIn(Context& context)
{
    if (!std::exchange(context.isOn, false))
        return;
    CUpti_PCSamplingDisableParams parameters{};
    parameters.size = CUpti_PCSamplingDisableParamsSize;
    parameters.ctx = context.handle;
    if (api_.disable(&parameters) == CUPTI_SUCCESS && context.configured)
        add(context, context.configured->data);
}

/// Reads no more samples of a context; all else is recorded. CUPTI stays enabled in it, because disabling it would wait for ever
/// while another thread of the program launches kernels.
void PcSampler::refuse(Context& context, CUptiResult result, const char* what)
{
    context.isRefused = true;
    const char* text = nullptr;
    if (api_.resultString(result, &text) != CUPTI_SUCCESS || !text)
        text = "an unknown error";
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
        result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
        noteTrouble("kernels were not sampled: the driver lets only administrators profile; set "
                    "NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module, or run as root");
    else if (result == CUPTI_ERROR_NOT_SUPPORTED)
        noteTrouble(
            "kernels were not sampled: this GPU cannot sample program counters (compute capability 7.0 or "
            "newer can, outside of MIG and virtual GPUs)");
    else
        noteTrouble(std::string("samples of kernels are missing: CUPTI refused to ") + what + " (" + text +
                    "); another profiler, such as ncu or one that reads metrics, may be using the device");
}

// --- samples ---

void PcSampler::drainAll()
{
    for (const auto& context : contexts_)
        drain(*context);
    const MutexLock lock(mutex_);
    endSlice(false);
}

void PcSampler::endSlice(bool always)
{
    const Timestamp now = TraceClock::now();
    // The thread may have been woken a little early.
    if (!always && now - sliceStart_ < sliceLength_ * 9 / 10)
        return;
    const Timestamp start = std::exchange(sliceStart_, now);
    const std::size_t reasons = reasons_.size();
    for (const auto& [key, place] : places_)
        for (std::size_t reason = 0; reason < reasons; ++reason)
            if (const Count& count = sums_[place * reasons + reason];
                count.samples > 0 || count.unissued > 0) {
                counted_.push_back({.kernel = static_cast<std::uint32_t>(key >> 32),
                                    .reason = static_cast<std::uint32_t>(reason),
                                    .offset = key & 0xffffffffU,
                                    .samples = count.samples,
                                    .unissued = count.unissued,
                                    .start = start,
                                    .end = now});
                if (--rowsUntilLonger_ == 0) {
                    rowsUntilLonger_ = kRowsOfALength;
                    sliceLength_ = std::min(2 * sliceLength_, kLongestSlice);
                }
            }
    places_.clear();
    sums_.clear();
}

void PcSampler::drain(Context& context)
{
    for (int i = 0; context.isOn && !context.isRefused && i < kMostReadings; ++i) {
        CUpti_PCSamplingGetDataParams parameters{};
        parameters.size = CUpti_PCSamplingGetDataParamsSize;
        parameters.ctx = context.handle;
        parameters.pcSamplingData = &context.read->data;
        const CUptiResult result = api_.getData(&parameters);
        if (result != CUPTI_SUCCESS) {
            const bool isFull = result == CUPTI_ERROR_OUT_OF_MEMORY;
            {
                const MutexLock lock(mutex_);
                ++(isFull ? counts_.full : counts_.failed);
            }
            if (isFull) { // it stays full until sampling is disabled
                context.isRefused = true;
                noteTrouble("later samples of kernels are missing: the buffer of CUPTI was full");
            } else if (++context.failures >= kMostFailures) {
                refuse(context, result, "read samples");
            }
            return;
        }
        context.failures = 0;
        add(context, context.read->data);
        if (context.read->data.remainingNumPcs == 0)
            return;
    }
}

void PcSampler::add(const Context& context, const CUpti_PCSamplingData& data)
{
    if (!on_.load())
        return;
    const MutexLock lock(mutex_);
    counts_.dropped += data.droppedSamples;
    counts_.others += data.nonUsrKernelsTotalSamples;
    counts_.full += data.hardwareBufferFull != 0 ? 1 : 0;
    const std::size_t reasons = reasons_.size();
    for (std::size_t i = 0; i < std::min(data.totalNumPcs, kMostPcs); ++i) {
        const CUpti_PCSamplingPCData& pc = data.pPcData[i];
        const std::uint32_t kernel = kernelOf(context.device, pc);
        const auto [place, isNew] =
            places_.try_emplace(placeKey(kernel, pc.pcOffset), static_cast<std::uint32_t>(places_.size()));
        if (isNew)
            sums_.resize(sums_.size() + reasons);
        Count* const counts = sums_.data() + place->second * reasons;
        for (std::size_t k = 0; k < pc.stallReasonCount; ++k) {
            const CUpti_PCSamplingStallReason& each = pc.stallReason[k];
            if (each.pcSamplingStallReasonIndex >= reasonOf_.size())
                continue;
            const Reason reason = reasonOf_[each.pcSamplingStallReasonIndex];
            if (reason.isUnissued)
                counts[reason.index].unissued += each.samples;
            else {
                counts[reason.index].samples += each.samples;
                counts_.samples += each.samples;
            }
        }
    }
}

std::uint32_t PcSampler::kernelOf(std::int32_t device, const CUpti_PCSamplingPCData& pc)
{
    const auto [known, isNew] = kernels_.try_emplace({device, pc.cubinCrc, pc.functionIndex},
                                                     static_cast<std::uint32_t>(kernels_.size()));
    if (isNew) {
        // The name belongs to CUPTI, which shares it with the records of activities.
        newKernels_.push_back(
            {.device = device, .cubin = pc.cubinCrc, .symbol = pc.functionName ? pc.functionName : ""});
        if (code_.contains(pc.cubinCrc))
            sampledCode_.push_back(pc.cubinCrc);
    }
    return known->second;
}

PcSamples PcSampler::take()
{
    PcSamples taken;
    const MutexLock lock(mutex_);
    taken.kernels.swap(newKernels_);
    endSlice(true);
    taken.counts.swap(counted_);
    for (const std::uint64_t checksum : sampledCode_)
        if (auto code = code_.extract(checksum)) {
            codeBytes_ -= code.mapped().size();
            taken.cubins.emplace_back(checksum, std::move(code.mapped()));
        }
    sampledCode_.clear();
    return taken;
}

PcSamplerCounts PcSampler::counts() const
{
    const MutexLock lock(mutex_);
    return counts_;
}

std::vector<std::string> PcSampler::reasons() const
{
    const MutexLock lock(mutex_);
    return reasons_;
}

std::string PcSampler::trouble() const
{
    const MutexLock lock(mutex_);
    if (!trouble_.empty())
        return trouble_;
    if (hasStarted_ && counts_.samples == 0 && counts_.failed > 0)
        return "no kernel was sampled: CUPTI could not read the samples";
    // Samples that the hardware dropped are counted as losses.
    if (hasStarted_ && counts_.samples + counts_.full + counts_.dropped == 0)
        return counts_.others > 0 ? "no kernel was sampled: CUPTI names none for the samples of this process"
                                  : "no kernel was sampled: the kernels ran for too short a time, or this "
                                    "version of CUPTI cannot sample with the newer driver";
    if (!leavesContexts_)
        return {};
    return "kernels of some CUDA contexts were not sampled, such as those of a second GPU: of a process, "
           "only "
           "the first context can be sampled without harm";
}

// --- what CUPTI calls ---

void PcSampler::contextCreated(CUcontext context) noexcept
{
    try {
        {
            const MutexLock lock(mutex_);
            changes_.push_back({.handle = context, .isNew = true});
        }
        // Sampling starts before the first kernel, unless another context keeps the lock for long.
        if (!lockFor(kCallbackWait))
            return;
        const TryMutexLock lock(cuptiMutex_, std::adopt_lock);
        takeInChanges();
    } catch (...) {
        return; // no memory: this context is not sampled
    }
}

void PcSampler::contextEnds(CUcontext context) noexcept
{
    try {
        if (lockFor(kCallbackWait)) {
            const TryMutexLock lock(cuptiMutex_, std::adopt_lock);
            takeInChanges();
            for (const auto& each : contexts_) {
                if (each->handle != context)
                    continue;
                drain(*each);
                if (contexts_.size() == 1) // otherwise another thread may launch: setOn()
                    stopIn(*each);
            }
            forget(context);
            return;
        }
        const MutexLock lock(mutex_);
        changes_.push_back({.handle = context, .isNew = false});
    } catch (...) {
        return;
    }
}

void PcSampler::moduleLoaded(CUcontext /*context*/, std::string_view cubin) noexcept
{
    if (cubin.empty() || cubin.size() > kMostCode || !cubin.data())
        return;
    CUpti_GetCubinCrcParams parameters{};
    parameters.size = CUpti_GetCubinCrcParamsSize;
    parameters.cubinSize = cubin.size();
    parameters.cubin = cubin.data();
    if (api_.cubinCrc(&parameters) != CUPTI_SUCCESS)
        return;
    try {
        const MutexLock lock(mutex_);
        if (codeBytes_ + cubin.size() > kMostLoadedCode)
            return;
        if (code_.try_emplace(parameters.cubinCrc, cubin).second)
            codeBytes_ += cubin.size();
    } catch (...) {
        return; // no memory: without its code, the module's kernels have no lines
    }
}

void PcSampler::moduleEnds(CUcontext context) noexcept
{
    // Another module may get its addresses. If the lock is taken, the samples are being read right now.
    if (!cuptiMutex_.tryLock())
        return;
    const TryMutexLock lock(cuptiMutex_, std::adopt_lock);
    try {
        for (const auto& each : contexts_)
            if (each->handle == context)
                drain(*each);
    } catch (...) {
        return;
    }
}

} // namespace tilescope::trace
