#pragma once

#include "core/model/rank_seat.h"

#include <c10/core/Device.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

namespace tilescope::engine {

/// The memory of the GPUs of other ranks on this host. A rank describes addresses of its own memory in a slot of the board;
/// another rank that reads the slot gets addresses of its own for them. Between processes they go through CUDA's
/// handles, one per allocation, which stay open until the end.
/// The memory must come from cudaMalloc(), as that of LibTorch's allocator does. One thread at a time; the GPU is the current device.
class PeerMemory {
public:
    explicit PeerMemory(c10::DeviceIndex device);
    /// Closes the handles. Nothing may use the memory any more.
    ~PeerMemory();
    PeerMemory(const PeerMemory&) = delete;
    PeerMemory& operator=(const PeerMemory&) = delete;

    /// Describes addresses in the GPU's memory; null ones are left out.
    /// \param slot  of Board::kSlotBytes
    /// \return  bytes filled
    /// \throws c10::Error  another kind of memory, or too many addresses
    std::size_t describe(std::span<const void* const> addresses, std::byte* slot);

    /// Where this process finds an address that another rank has described.
    /// \param peer   number of the rank
    /// \param index  of the address in its call of describe()
    /// \throws c10::Error  CUDA cannot open the memory, or the other rank is a thread of this process
    void* addressOf(int peer, const std::byte* slot, std::size_t index);

    /// The PCI address of this rank's GPU or another's, from its description: 0000:1b:00.0
    static const char* busIdIn(const std::byte* slot);

private:
    struct Place;
    struct Header;
    struct Functions;

    void* open(int peer, const Place& place);

    const Functions& functions_;
    std::uint64_t process_; ///< differs between processes
    char busId_[32] = {};
    std::map<std::uint64_t, std::array<std::byte, 64>> handles_; ///< of own allocations, by their id
    std::map<std::pair<int, std::uint64_t>, void*> opened_;      ///< by rank and id of its allocation
};

} // namespace tilescope::engine
