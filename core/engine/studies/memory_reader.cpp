#include "core/engine/studies/memory_reader.h"

#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/engine/common/failure.h"
#include "core/model/text.h"
#include "core/trace/allocators/cpu_allocator.h"
#include "core/trace/host/tensor_text.h"

#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/StringUtil.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <mutex>
#include <shared_mutex>

namespace tilescope::engine {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

DeviceIndex indexOf(const Device& device)
{
    return device.isCuda() ? DeviceIndex{static_cast<std::int16_t>(device.torch().index())}
                           : DeviceIndex::none();
}

StorageHolders byAddress(const std::vector<HeldStorage>& held)
{
    StorageHolders holders;
    for (const HeldStorage& storage : held)
        holders.emplace(storage.address, storage);
    return holders;
}

/// The workspaces of cuBLAS. LibTorch keeps them for the life of the process.
void addWorkspaces(std::vector<HeldStorage>& held, Timestamp now)
{
    const auto add = [&](at::cuda::WorkspaceMapWithMutex& workspaces, const char* name) {
        const std::scoped_lock lock(workspaces.mutex);
        for (const auto& [key, data] : workspaces.map)
            held.push_back({.time = now,
                            .category = MemoryCategory::Workspace,
                            .address = reinterpret_cast<std::uintptr_t>(data.get()),
                            .name = name});
    };
    add(at::cuda::cublas_handle_stream_to_workspace(), "cuBLAS");
    add(at::cuda::cublaslt_handle_stream_to_workspace(), "cuBLASLt");
}

MemoryBlock blockOf(const HeldStorage& storage)
{
    return {.time = storage.time,
            .address = storage.address,
            .bytes = storage.bytes,
            .size = storage.bytes,
            .category = storage.category,
            .name = storage.name,
            .shape = storage.shape,
            .dtype = storage.dtype};
}

/// Segments of a device, and their blocks with holders.
void addSegments(MemoryFacts& facts, DeviceIndex device, Timestamp now, const StorageHolders& holders)
{
    const auto snapshot = allocator::snapshot();
    for (const auto& info : snapshot.segments) {
        if (info.device != device.value)
            continue;
        const auto pool = info.owner_private_pool_id;
        facts.segments.push_back({.time = now,
                                  .device = device,
                                  .address = info.address,
                                  .bytes = static_cast<std::int64_t>(info.total_size),
                                  .pool = poolNumber(pool.first, pool.second),
                                  .isLarge = info.is_large,
                                  .isExpandable = info.is_expandable});
        std::uint64_t address = info.address;
        for (const auto& block : info.blocks) {
            MemoryBlock known{};
            if (const auto holder = holders.find(address); block.allocated && holder != holders.end())
                known = blockOf(holder->second);
            else if (block.allocated && pool.first != 0)
                known.name = kGraphPool;
            known.time = now;
            known.device = device;
            known.address = address;
            known.size = static_cast<std::int64_t>(block.size);
            known.isFree = !block.active;
            known.bytes = block.allocated ? static_cast<std::int64_t>(block.requested_size) : 0;
            facts.blocks.push_back(std::move(known));
            address += block.size;
        }
    }
}

std::vector<KeptTensor> keptBy(const Experiment& experiment)
{
    const std::string base = c10::str("step/", wordOf(Phase::Forward));
    std::vector<KeptTensor> kept;
    experiment.visitSaved([&](const std::string& path, const char* op, const at::Tensor& tensor) {
        kept.push_back({base + path, op, tensor});
    });
    return kept;
}

} // namespace

MemoryReader::MemoryReader(const Device& device, const Experiment& experiment)
    : device_(device), experiment_(experiment)
{
}

std::vector<HeldStorage> MemoryReader::heldNow() const
{
    std::vector<HeldStorage> held;
    const Timestamp now = TraceClock::now();
    experiment_.visitHeld([&](MemoryCategory category, const std::string& name, const at::Tensor& tensor) {
        const std::uint64_t address = storageAddress(tensor);
        if (address == 0 || tensor.device() != device_.torch())
            return;
        held.push_back({.time = now,
                        .category = category,
                        .address = address,
                        .bytes = static_cast<std::int64_t>(tensor.storage().nbytes()),
                        .name = name,
                        .shape = trace::shapeText(tensor),
                        .dtype = trace::dtypeText(tensor.scalar_type())});
    });
    if (device_.isCuda())
        addWorkspaces(held, now);
    return held;
}

void MemoryReader::lookAtHeld()
{
    std::ranges::move(heldNow(), std::back_inserter(instants_.held));
}

void MemoryReader::noteSaved(const at::Tensor& root)
{
    const StorageHolders holders = byAddress(heldNow());
    const auto first = static_cast<std::int64_t>(instants_.saved.size());
    SavedTensors found = root.defined() ? savedTensors(root, holders, first)
                                        : savedTensors(keptBy(experiment_), holders, first);
    std::ranges::move(found.tensors, std::back_inserter(instants_.saved));
    unreadNodes_ += found.unreadNodes;
    if (unreadReason_.empty())
        unreadReason_ = found.unreadReason;
}

void MemoryReader::lookAtGraph()
{
    noteSaved(experiment_.graphRoot());
    lookAtHeld();
}

void MemoryReader::lookAtRecomputed(const at::Tensor& output)
{
    noteSaved(output);
}

MemoryFacts MemoryReader::takeInstants()
{
    return std::exchange(instants_, {});
}

MemoryFacts MemoryReader::takeStock(const std::string& moment) const
{
    MemoryFacts facts;
    const std::vector<HeldStorage> held = heldNow();
    const StorageHolders holders = byAddress(held);
    const Timestamp now = TraceClock::now();
    if (device_.isCuda()) {
        addSegments(facts, indexOf(device_), now, holders);
    } else {
        for (const auto& [address, storage] : holders)
            facts.blocks.push_back(blockOf(storage));
        std::ranges::sort(facts.blocks, {}, &MemoryBlock::address);
    }
    facts.readings.push_back(read(moment));
    return facts;
}

MemoryReading MemoryReader::read(const std::string& moment) const
{
    return readMemory(device_, moment);
}

MemoryReading readMemory(const Device& device, const std::string& moment)
{
    MemoryReading reading{.time = TraceClock::now(), .device = indexOf(device), .moment = moment};
    if (!device.isCuda()) {
        reading.requested = reading.allocated = reading.reserved = trace::CpuAllocator::current().count;
        return reading;
    }
    constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    const auto stats = allocator::getDeviceStats(device.torch().index());
    reading.requested = stats.requested_bytes[kAll].current;
    reading.allocated = stats.allocated_bytes[kAll].current;
    reading.reserved = stats.reserved_bytes[kAll].current;
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
        reading.deviceUsed = static_cast<std::int64_t>(total - free);
        reading.deviceTotal = static_cast<std::int64_t>(total);
    }
    return reading;
}

} // namespace tilescope::engine
