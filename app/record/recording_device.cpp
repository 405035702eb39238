// The part of a recording that is about the GPU: CUPTI comes, samples instructions, and leaves.

#include "app/record/recording.h"

#include "app/record/loaded_cupti.h"

#include <utility>

namespace tilescope::record {

namespace {

constexpr std::size_t kActivityBuffers = 1024;
constexpr std::size_t kActivityBufferBytes = 1 << 20;

} // namespace

void Recording::startDevice()
{
    prepareDevice();
    settle(); // the program may have called cudaProfilerStart meanwhile
}

void Recording::prepareDevice()
{
    std::string reason;
    auto api = loadedCupti(reason);
    std::unique_ptr<trace::CuptiSession> session;
    std::unique_ptr<DeviceThread> device;
    const TryMutexLock window(windowMutex_);
    if (!leftTo_.empty()) {
        noteFact("device_untraced", leftTo_);
        return;
    }
    if (api) {
        device = std::make_unique<DeviceThread>();
        session = std::make_unique<trace::CuptiSession>(*api, kActivityBuffers, kActivityBufferBytes);
        session->watchGraphNodes();
        if (window_.wholeGraphs) {
            const std::string refused = session->recordGraphsAsWholes();
            noteFact(
                "graphs",
                refused.empty()
                    ? "a replay of a CUDA graph is one kernel; record.graph N lists the nodes of graph N "
                      "(--graphs graph)"
                    : "each node of a CUDA graph is recorded: " + refused);
        }
        if (window_.byProfilerApi)
            reason = session->watchProfilerCalls([this](bool starts) { setOn(starts); });
        if (reason.empty() && settings_.samplesKernels)
            prepareSampler(*session);
        if (reason.empty() && on_)
            reason = session->start(level());
        setSampler(on_);
    }
    const MutexLock lock(mutex_);
    if (!reason.empty()) {
        facts_.emplace_back("device_untraced", reason);
        return;
    }
    device_ = std::move(device);
    api_ = std::move(api);
    session_ = std::move(session);
}

void Recording::prepareSampler(trace::CuptiSession& session)
{
    std::string reason;
    const auto api = trace::PcSamplingApi::find(loadedCuptiLibrary(), session.api().version(), reason);
    if (api) {
        trace::PcSampler::MayBegin mayBegin;
        if (turn_)
            mayBegin = [turn = turn_.get()] { return turn->hasBegun(); };
        auto sampler = std::make_unique<trace::PcSampler>(*api, settings_.folder, std::move(mayBegin));
        reason = session.watchContexts(*sampler);
        const MutexLock lock(mutex_);
        if (reason.empty())
            pcSampler_ = std::move(sampler);
    }
    if (!reason.empty())
        noteFact("inside", reason);
}

void Recording::setSampler(bool on)
{
    trace::PcSampler* sampler = pcSamplerIfAny();
    if (sampler)
        withDriver([&] { sampler->setOn(on); });
}

void Recording::yieldDevice(Profiler profiler)
{
    if (profiler == Profiler::Torch && !window_.yields)
        return;
    const bool hasStopped = stopDevice(
        profiler == Profiler::Torch
            ? "the device was left to torch.profiler when the program started it (--yield-to-torch)"
            : "the device was left to Proton when the program started it: CUPTI accepts one profiler");
    settle();
    // Later, CUPTI may be the profiler's: Proton can be started again, and torch.profiler uses the same library.
    if (!hasStopped || profiler != Profiler::Proton)
        return;
    // Decodes what CUPTI has written: the names in it are CUPTI's.
    if (!flush(false))
        return;
    // Triton brings a CUPTI of its own, which the driver refuses while another one is attached, also without a subscriber.
    withDriver([session = sessionIfAny()] { session->leaveProcess(); });
}

bool Recording::stopDevice(std::string_view reason)
{
    const TryMutexLock window(windowMutex_);
    if (!leftTo_.empty())
        return false;
    leftTo_ = reason;
    trace::CuptiSession* session = sessionIfAny();
    if (!session)
        return false;
    trace::Losses losses;
    session->giveUp(losses);
    // The other profiler may sample instructions as well.
    if (trace::PcSampler* sampler = pcSamplerIfAny())
        withDriver([&] { sampler->stop(); });
    noteFact("device_untraced", reason);
    const MutexLock lock(mutex_);
    cuptiLosses_.add(losses);
    return true;
}

void Recording::detachSoon(trace::CuptiSession& session)
{
    const TryMutexLock window(windowMutex_);
    if (!on_ && leftTo_.empty())
        withDriver([&session] { session.detachSoon(); });
}

} // namespace tilescope::record
