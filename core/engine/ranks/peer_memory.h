#pragma once

#include "core/model/rank_info.h"

#include <c10/core/Device.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

namespace tilescope::engine {

/// Maps the GPU memory of other ranks on this host. A rank describes addresses of its own memory in a slot of
/// the board; another rank that reads the slot gets addresses of its own for the same memory. The processes
/// exchange CUDA's IPC handles, one per allocation, which stay open until the end. The memory must come from
/// cudaMalloc(), like that of LibTorch's allocator. One thread at a time; the GPU must be current.
class PeerMemory {
public:
    explicit PeerMemory(c10::DeviceIndex device);
    /// Closes the handles. Nothing may use the memory afterwards.
    ~PeerMemory();
    PeerMemory(const PeerMemory&) = delete;
    PeerMemory& operator=(const PeerMemory&) = delete;

    /// Describes addresses in the GPU's memory; null addresses are left out.
    /// \param slot  Board::kSlotBytes long
    /// \return  number of bytes filled
    /// \throws c10::Error  the memory is of another kind, or there are too many addresses
    std::size_t describe(std::span<const void* const> addresses, std::byte* slot);

    /// The address in this process of memory that another rank has described.
    /// \param peer   number of the rank
    /// \param index  index of the address in the rank's call of describe()
    /// \throws c10::Error  CUDA cannot open the memory, or the other rank is a thread of this process
    void* addressOf(int peer, const std::byte* slot, std::size_t index);

    /// The PCI address of the GPU in a description: 0000:1b:00.0
    static const char* busIdIn(const std::byte* slot);

private:
    struct Place;
    struct Header;
    struct Functions;

    void* open(int peer, const Place& place);

    const Functions& functions_;
    std::uint64_t process_; ///< differs between processes
    char busId_[32] = {};
    std::map<std::uint64_t, std::array<std::byte, 64>> handles_; ///< handles of own allocations, by id
    std::map<std::pair<int, std::uint64_t>, void*> opened_;      ///< by rank and id of its allocation
};

} // namespace tilescope::engine
