#pragma once

// What the recorder's library offers to its plug-in for LibTorch. Plain C, and no other header of this tree: the
// plug-in is also compiled on the user's machine, against the LibTorch that is installed there.

#include <cstddef>
#include <cstdint>

namespace tilescope::record {

inline constexpr std::uint32_t kPluginVersion = 2;

/// Functions of the recorder. All may be called by any thread, under any lock; none throws. They do nothing while
/// nothing is recorded.
struct PluginInterface {
    std::uint32_t version; ///< kPluginVersion

    /// `changed` is called whenever recording starts (1) or stops (0), and now with the present state. Once.
    void (*watchRecording)(void (*changed)(std::int32_t isOn));
    /// The number of a text, the same for the same text; all bits set while nothing is recorded.
    std::uint32_t (*numberOf)(const char* text, std::size_t bytes);
    /// An operator begins in the calling thread.
    /// \param sequence    autograd's number; -1: none
    /// \param isBackward  1: it is a node of the backward pass
    /// \param shapes      number of "bf16[4, 128] f32[128]"; all bits set: not recorded
    void (*openOp)(const char* name, std::size_t nameBytes, std::int64_t sequence, std::int32_t isBackward,
                   std::uint32_t shapes);
    void (*closeOp)();
    /// A block of the CPU was allocated (bytes) or freed (-1).
    void (*noteHostBlock)(const void* address, std::int64_t bytes);
    /// The allocators of the GPUs 0 to count - 1 are empty and will call noteDeviceEvent().
    void (*startDeviceMemory)(std::int32_t count);
    /// An event of a GPU's allocator; called under its lock.
    /// \param action  AllocAction
    void (*noteDeviceEvent)(std::int32_t device, std::int32_t action, std::uint64_t address,
                            std::int64_t bytes, const void* stream, std::uint64_t graphPool,
                            std::uint64_t ownPool);
};

} // namespace tilescope::record
