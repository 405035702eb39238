// The recorder's plug-in for LibTorch: passes operators and the events of the allocators on to the recorder.
//
// It is compiled with the program for one version of LibTorch, and by `tilescope record --build-plugin` for others,
// from 2.0 on: C++17. resources/record/sitecustomize.py loads it. It links nothing of Tilescope, and of LibTorch only
// what every build has: the allocator of the GPUs is found by name.

#include "core/model/autograd_op.h"
#include "core/record/plugin_interface.h"
#include "core/trace/host/input_shapes.h"
#include "core/trace/host/observed_views.h"

#include <ATen/record_function.h>
#include <c10/core/CPUAllocator.h>
#include <torch/csrc/autograd/function.h>
#include <torch/version.h>

#if TILESCOPE_WITH_CUDA && (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 2)
#define TILESCOPE_FOLLOWS_GPU 1
#include <c10/cuda/CUDACachingAllocator.h>
#else
#define TILESCOPE_FOLLOWS_GPU 0
#endif

#include <dlfcn.h>

#include <memory>
#include <string_view>
#include <type_traits>

namespace tilescope::record {

namespace {

const PluginInterface* recorder = nullptr;

// --- operators ---

std::int64_t runningSequence()
{
    const auto node = torch::autograd::get_current_node();
    return node ? static_cast<std::int64_t>(node->sequence_nr()) : -1;
}

std::uint32_t numberOf(std::string_view text)
{
    return recorder->numberOf(text.data(), text.size());
}

std::unique_ptr<at::ObserverContext> beginOp(const at::RecordFunction& function)
{
    const std::string_view name = function.name();
    if (isEvaluation(name)) {
        const std::string_view node = withoutEvaluation(name);
        recorder->openOp(node.data(), node.size(), runningSequence(), 1, trace::InputShapes::kNone);
        return nullptr;
    }
    thread_local trace::InputShapes shapes;
    recorder->openOp(name.data(), name.size(), function.seqNr(), 0, shapes.of(function, &numberOf));
    return nullptr;
}

void endOp(const at::RecordFunction&, at::ObserverContext*)
{
    recorder->closeOp();
}

// --- memory of the CPU ---

c10::Allocator* base = nullptr;
c10::DeleterFnPtr freeBlock = nullptr;

void release(void* block)
{
    // Before the block goes back: after it, another thread may already have the address again.
    recorder->noteHostBlock(block, -1);
    freeBlock(block);
}

/// Notes what the CPU's allocator does. Blocks stay those of that allocator.
class NotingAllocator final : public c10::Allocator {
public:
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 3
    c10::DataPtr allocate(std::size_t bytes) override
    {
        return noted(bytes);
    }
    void copy_data(void* to, const void* from, std::size_t count) const override
    {
        base->copy_data(to, from, count);
    }
#else
    c10::DataPtr allocate(std::size_t bytes) const override
    {
        return noted(bytes);
    }
#endif
    c10::DeleterFnPtr raw_deleter() const override
    {
        return &release;
    }

private:
    static c10::DataPtr noted(std::size_t bytes)
    {
        c10::DataPtr block = base->allocate(bytes);
        if (block.get_context() && block.compare_exchange_deleter(freeBlock, &release))
            recorder->noteHostBlock(block.get_context(), static_cast<std::int64_t>(bytes));
        return block;
    }
};

bool followHost()
{
    base = c10::GetCPUAllocator();
    freeBlock = base ? base->raw_deleter() : nullptr;
    // Without it, a block and its context differ.
    if (!freeBlock)
        return false;
    static NotingAllocator allocator;
    c10::SetCPUAllocator(&allocator, 1);
    return c10::GetCPUAllocator() == &allocator;
}

// --- memory of the GPUs ---

#if TILESCOPE_FOLLOWS_GPU

/// The number of an action in AllocAction, which has the same order.
template <class Entry> std::int32_t actionOf(const Entry& entry)
{
    switch (entry.action_) {
    case Entry::ALLOC:
        return 0;
    case Entry::FREE_REQUESTED:
        return 1;
    case Entry::FREE_COMPLETED:
        return 2;
    case Entry::SEGMENT_ALLOC:
        return 3;
    case Entry::SEGMENT_FREE:
        return 4;
    case Entry::SEGMENT_MAP:
        return 5;
    case Entry::SEGMENT_UNMAP:
        return 6;
    case Entry::OOM:
        return 8;
    default:
        return 7;
    }
}

/// Later versions say the pool.
template <class Entry> auto poolOf(const Entry& entry, int) -> decltype(entry.mempool_)
{
    return entry.mempool_;
}
template <class Entry> std::pair<std::uint64_t, std::uint64_t> poolOf(const Entry&, long)
{
    return {0, 0};
}

bool followDevices(int count)
{
    using c10::cuda::CUDACachingAllocator::CUDAAllocator;
    void* library = dlopen("libc10_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    void* found = library ? dlsym(library, "_ZN3c104cuda20CUDACachingAllocator9allocatorE") : nullptr;
    CUDAAllocator* allocator = found ? static_cast<std::atomic<CUDAAllocator*>*>(found)->load() : nullptr;
    if (!allocator || !allocator->initialized())
        return false;
    recorder->startDeviceMemory(count);
    allocator->attachAllocatorTraceTracker([](const auto& entry) {
        const auto pool = poolOf(entry, 0);
        recorder->noteDeviceEvent(entry.device_, actionOf(entry), static_cast<std::uint64_t>(entry.addr_),
                                  static_cast<std::int64_t>(entry.size_), entry.stream_, pool.first,
                                  pool.second);
    });
    return true;
}

#else

bool followDevices(int)
{
    return false;
}

#endif

} // namespace

} // namespace tilescope::record

using tilescope::record::PluginInterface;

extern "C" {

/// The version of LibTorch that the plug-in was compiled for: 2.11.0.
__attribute__((visibility("default"))) const char* tilescope_plugin_torch()
{
    return TORCH_VERSION;
}

/// \return  1 if the recorder is of the same version
__attribute__((visibility("default"))) int tilescope_plugin_start(const PluginInterface* interface)
{
    if (!interface || interface->version != tilescope::record::kPluginVersion)
        return 0;
    tilescope::record::recorder = interface;
    return 1;
}

/// Notes operators with the shapes of their tensors from now on, but for views.
__attribute__((visibility("default"))) int tilescope_plugin_ops()
{
    using namespace tilescope::record;
    if (!recorder)
        return 0;
    at::RecordFunctionCallback callback(&beginOp, &endOp);
    callback.needsInputs(true).scopes({at::RecordScope::FUNCTION});
    static const at::CallbackHandle handle = at::addGlobalCallback(callback);
    // A listener costs each operator time, also if it does nothing.
    recorder->watchRecording([](std::int32_t isOn) {
        try {
            if (isOn)
                at::reenableCallback(handle);
            else
                at::disableCallback(handle);
        } catch (...) {
            return; // no memory: the listener stays as it is
        }
    });
    tilescope::trace::setViewsObserved(false);
    return 1;
}

/// A profiler of the program begins: lets it see views again.
__attribute__((visibility("default"))) void tilescope_plugin_observe_views()
{
    tilescope::trace::setViewsObserved(true);
}

/// Notes what the CPU's allocator does from now on.
/// \return  0 if this LibTorch does not let it
__attribute__((visibility("default"))) int tilescope_plugin_host_memory()
{
    return tilescope::record::recorder && tilescope::record::followHost() ? 1 : 0;
}

/// Notes what the allocators of `count` GPUs do from now on. Right after CUDA was initialised.
/// \return  0 if this LibTorch does not let it
__attribute__((visibility("default"))) int tilescope_plugin_device_memory(int count)
{
    return tilescope::record::recorder && tilescope::record::followDevices(count) ? 1 : 0;
}
}
