#include "core/engine/ranks/peer_memory.h"

#include "core/engine/ranks/board.h"

#include <c10/cuda/CUDAException.h>
#include <c10/util/Exception.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <random>

namespace tilescope::engine {

namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == 64);

std::uint64_t numberOfProcess()
{
    static const std::uint64_t number = [] {
        std::random_device random;
        return (std::uint64_t{random()} << 32) | random();
    }();
    return number;
}

template <class Function> void findInDriver(const char* name, Function*& function)
{
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    TORCH_CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result) ==
                        cudaSuccess &&
                    result == cudaDriverEntryPointSuccess,
                "the driver has no ", name);
    function = reinterpret_cast<Function*>(found);
}

} // namespace

/// Functions of the CUDA driver, looked up at run time because the engine is not linked with it.
struct PeerMemory::Functions {
    CUresult (*getAddressRange)(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) = nullptr;
    CUresult (*getAttribute)(void* value, CUpointer_attribute attribute, CUdeviceptr address) = nullptr;

    static const Functions& instance()
    {
        static const Functions functions = [] {
            Functions found;
            findInDriver("cuMemGetAddressRange", found.getAddressRange);
            findInDriver("cuPointerGetAttribute", found.getAttribute);
            return found;
        }();
        return functions;
    }
};

struct PeerMemory::Header {
    std::uint64_t process;
    std::uint64_t count;
    char busId[32];
};

struct PeerMemory::Place {
    std::uint64_t allocation; ///< id of the allocation, unique within the process
    std::uint64_t offset;     ///< offset of the address in the allocation
    void* address;            ///< the address within the process
    cudaIpcMemHandle_t handle;
};

PeerMemory::PeerMemory(c10::DeviceIndex device)
    : functions_(Functions::instance()), process_(numberOfProcess())
{
    C10_CUDA_CHECK(cudaDeviceGetPCIBusId(busId_, sizeof(busId_), device));
}

PeerMemory::~PeerMemory()
{
    for (const auto& [of, base] : opened_)
        C10_CUDA_CHECK_WARN(cudaIpcCloseMemHandle(base));
}

std::size_t PeerMemory::describe(std::span<const void* const> addresses, std::byte* slot)
{
    const std::size_t bytes = sizeof(Header) + addresses.size() * sizeof(Place);
    TORCH_CHECK(bytes <= Board::kSlotBytes, "a collective of ", addresses.size(), " tensors is too long");
    Header header{.process = process_, .count = addresses.size(), .busId = {}};
    std::memcpy(header.busId, busId_, sizeof(busId_));
    std::memcpy(slot, &header, sizeof(header));
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        Place place{};
        if (addresses[i]) {
            const auto address = reinterpret_cast<CUdeviceptr>(addresses[i]);
            CUdeviceptr base = 0;
            std::size_t length = 0;
            TORCH_CHECK(functions_.getAddressRange(&base, &length, address) == CUDA_SUCCESS &&
                            functions_.getAttribute(&place.allocation, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                    address) == CUDA_SUCCESS,
                        "a collective needs memory of the GPU");
            place.offset = address - base;
            place.address = const_cast<void*>(addresses[i]);
            const auto [known, isNew] = handles_.try_emplace(place.allocation);
            if (isNew)
                C10_CUDA_CHECK(
                    cudaIpcGetMemHandle(reinterpret_cast<cudaIpcMemHandle_t*>(known->second.data()),
                                        reinterpret_cast<void*>(base)));
            std::memcpy(&place.handle, known->second.data(), sizeof(place.handle));
        }
        std::memcpy(slot + sizeof(Header) + i * sizeof(Place), &place, sizeof(place));
    }
    return bytes;
}

void* PeerMemory::addressOf(int peer, const std::byte* slot, std::size_t index)
{
    Header header{};
    std::memcpy(&header, slot, sizeof(header));
    TORCH_CHECK(index < header.count, "rank ", peer, " has another number of tensors in a collective");
    Place place{};
    std::memcpy(&place, slot + sizeof(Header) + index * sizeof(Place), sizeof(place));
    if (!place.address)
        return nullptr;
    // Within one process, peer access would map every later allocation into the other GPUs and wait for them.
    TORCH_CHECK(header.process != process_,
                "ranks that are threads of one process cannot open each other's memory");
    return static_cast<std::byte*>(open(peer, place)) + place.offset;
}

const char* PeerMemory::busIdIn(const std::byte* slot)
{
    return reinterpret_cast<const char*>(slot) + offsetof(Header, busId);
}

void* PeerMemory::open(int peer, const Place& place)
{
    const auto [known, isNew] = opened_.try_emplace({peer, place.allocation}, nullptr);
    if (!known->second) {
        const cudaError_t status =
            cudaIpcOpenMemHandle(&known->second, place.handle, cudaIpcMemLazyEnablePeerAccess);
        if (status != cudaSuccess) {
            opened_.erase(known);
            C10_CUDA_CHECK(status);
        }
    }
    return known->second;
}

} // namespace tilescope::engine
