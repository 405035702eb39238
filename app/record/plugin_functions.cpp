#include "app/record/plugin_functions.h"

#include "app/record/recorder.h"
#include "core/model/memory.h"
#include "core/trace/allocators/device_alloc_log.h"
#include "core/trace/host/host_log.h"

#include <atomic>
#include <string_view>

namespace tilescope::record {

namespace {

using trace::HostLogs;
using trace::ThreadLog;

std::atomic<void (*)(std::int32_t)> watcher{nullptr};
std::atomic<bool> toldOn{false};

void watchRecording(void (*changed)(std::int32_t isOn)) noexcept
{
    watcher.store(changed);
    toldOn.store(HostLogs::recording());
    changed(toldOn.load() ? 1 : 0);
}

std::uint32_t numberOf(const char* text, std::size_t bytes) noexcept
{
    if (!HostLogs::recording())
        return trace::kNone;
    try {
        return ThreadLog::numberOf({text, bytes});
    } catch (...) {
        return trace::kNone; // no memory
    }
}

void openOp(const char* name, std::size_t nameBytes, std::int64_t sequence, std::int32_t isBackward,
            std::uint32_t shapes) noexcept
{
    try {
        if (ThreadLog* log = HostLogs::mine())
            log->openOp({name, nameBytes}, sequence, isBackward ? OpScope::Backward : OpScope::Function,
                        shapes);
    } catch (...) {
        return; // no memory: this op is missing
    }
}

void closeOp() noexcept
{
    if (ThreadLog* log = HostLogs::mineIfAny())
        log->closeOp();
}

void noteHostBlock(const void* address, std::int64_t bytes) noexcept
{
    try {
        // The reader finds the sizes of frees and the totals.
        if (ThreadLog* log = HostLogs::mine())
            log->noteAllocation(bytes < 0 ? AllocAction::FreeCompleted : AllocAction::Alloc, address,
                                bytes < 0 ? 0 : bytes, 0);
    } catch (...) {
        return; // no memory: this block is missing
    }
}

void startDeviceMemory(std::int32_t count) noexcept
{
    Recorder::startDeviceMemory(count);
}

void noteDeviceEvent(std::int32_t device, std::int32_t action, std::uint64_t address, std::int64_t bytes,
                     const void* stream, std::uint64_t graphPool, std::uint64_t ownPool) noexcept
{
    // Also between the parts that are recorded, so that the totals stay right.
    if (!Recorder::isStarted())
        return;
    if (auto* log = trace::DeviceAllocLog::of(DeviceIndex{static_cast<std::int16_t>(device)}))
        log->note(static_cast<AllocAction>(action), address, bytes, stream, poolNumber(graphPool, ownPool));
}

} // namespace

void noteRecording(bool isOn) noexcept
{
    // A forked child tells nothing new: another thread may have held a lock of the listener's library.
    if (const auto changed = watcher.load(); changed && toldOn.exchange(isOn) != isOn)
        changed(isOn ? 1 : 0);
}

const PluginInterface& pluginFunctions() noexcept
{
    static constexpr PluginInterface functions{.version = kPluginVersion,
                                               .watchRecording = &watchRecording,
                                               .numberOf = &numberOf,
                                               .openOp = &openOp,
                                               .closeOp = &closeOp,
                                               .noteHostBlock = &noteHostBlock,
                                               .startDeviceMemory = &startDeviceMemory,
                                               .noteDeviceEvent = &noteDeviceEvent};
    return functions;
}

} // namespace tilescope::record
