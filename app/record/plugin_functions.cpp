#include "app/record/plugin_functions.h"

#include "app/record/recorder.h"
#include "core/model/memory.h"
#include "core/trace/allocators/device_alloc_log.h"
#include "core/trace/host/host_log.h"

#include <string_view>

namespace tilescope::record {

namespace {

using trace::HostLogs;
using trace::ThreadLog;

void openOp(const char* name, std::size_t nameBytes, std::int64_t sequence, std::int32_t isBackward,
            const char* shapes, std::size_t shapesBytes) noexcept
{
    try {
        if (ThreadLog* log = HostLogs::mine())
            log->openOp({name, nameBytes}, sequence, isBackward ? OpScope::Backward : OpScope::Function,
                        {shapes, shapesBytes});
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

const PluginInterface& pluginFunctions() noexcept
{
    static constexpr PluginInterface functions{.version = kPluginVersion,
                                               .openOp = &openOp,
                                               .closeOp = &closeOp,
                                               .noteHostBlock = &noteHostBlock,
                                               .startDeviceMemory = &startDeviceMemory,
                                               .noteDeviceEvent = &noteDeviceEvent};
    return functions;
}

} // namespace tilescope::record
