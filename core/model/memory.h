#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/code_place.h"
#include "core/model/events.h"
#include "core/model/memory_category.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope {

/// Memory of a tensor that the program is known to hold at an instant.
struct HeldStorage {
    Timestamp time{};
    MemoryCategory category = MemoryCategory::Unattributed;
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    std::string name = {};  ///< layers.3/ffn/down, tokens; of a gradient its parameter's
    std::string shape = {}; ///< [256, 512]
    std::string dtype = {}; ///< f32, bf16
};

/// A tensor that an autograd node holds for its backward.
struct SavedTensor {
    std::string path = {};   ///< range in which the node was made: step/forward/layers.3/ffn
    std::string op = {};     ///< aten::mm, tilescope::swiglu
    std::string tensor = {}; ///< name of a parameter or input; else what made it: `of aten::mm`, `own output`
    std::string shape = {};
    std::string dtype = {};
    std::int64_t bytes = 0;        ///< of the tensor
    std::uint64_t address = 0;     ///< of its storage in the step that was looked at
    std::int64_t storageBytes = 0; ///< of its storage, which may be larger
    /// Index in the list of the first tensor with the same storage, which counts the storage. None: this
    /// tensor counts it.
    std::optional<std::int64_t> sharedWith = {};
    MemoryCategory category = MemoryCategory::Activations; ///< of the storage
    Timestamp time{};                                      ///< when the graph was looked at
    std::optional<Timestamp> from = {};                    ///< in the first traced step; none if older
    std::optional<Timestamp> to = {};                      ///< none if it outlives the trace

    bool operator==(const SavedTensor&) const = default;
};

/// A block of a device's memory at an instant.
struct MemoryBlock {
    Timestamp time{};
    DeviceIndex device = {};
    std::uint64_t address = 0;
    std::int64_t bytes = 0; ///< requested; 0 if free
    std::int64_t size = 0;  ///< bytes that it occupies in its segment
    bool isFree = false;
    MemoryCategory category = MemoryCategory::Unattributed;
    std::string name = {}; ///< as HeldStorage
    std::string shape = {};
    std::string dtype = {};

    bool operator==(const MemoryBlock&) const = default;
};

/// A caching allocator's pool as one number: those of CUDA graphs are {n, 0} there, the program's own {0, n},
/// what belongs to none {0, 0}.
constexpr std::uint32_t kOwnPool = 1U << 31;
constexpr std::uint32_t poolNumber(std::uint64_t ofGraph, std::uint64_t ofProgram)
{
    return ofGraph != 0     ? static_cast<std::uint32_t>(ofGraph)
           : ofProgram != 0 ? static_cast<std::uint32_t>(ofProgram) | kOwnPool
                            : 0;
}

/// Memory that a caching allocator took from the driver, at an instant.
struct MemorySegment {
    Timestamp time{};
    DeviceIndex device = {};
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    StreamId stream = {};
    std::uint32_t pool = 0;
    bool isLarge = false;      ///< for blocks over 1 MiB
    bool isExpandable = false; ///< mapped pages of a range of addresses: it grows and shrinks

    bool operator==(const MemorySegment&) const = default;
};

/// The moment of a reading of the maximum that a captured step used in its graph's private pool, which is the
/// memory that its replays use. The allocator counts most of it as free.
inline constexpr const char* kReplayMoment = "a replay works in";

/// Figures of the allocator, the driver and NVML at an instant.
struct MemoryReading {
    Timestamp time{};
    DeviceIndex device = {};
    std::string moment = {};                     ///< before set-up, trace begins, trace ends, kReplayMoment
    std::int64_t requested = 0;                  ///< requested by the program and not yet freed
    std::int64_t allocated = 0;                  ///< with what rounding adds
    std::int64_t reserved = 0;                   ///< from the driver
    std::optional<std::int64_t> deviceUsed = {}; ///< by all processes
    std::optional<std::int64_t> deviceTotal = {};
    std::optional<std::int64_t> process = {}; ///< by this process, as NVML reports it

    bool operator==(const MemoryReading&) const = default;
};

/// Holder of memory in the private pool of a CUDA graph, which replayed steps use. Appended to the holder if
/// that is known.
inline constexpr const char* kGraphPool = "pool of a CUDA graph";

/// What a step allocated while it was captured as a CUDA graph. Replays allocate nothing: they work in this
/// memory, in the graph's private pool.
struct CapturedStep {
    std::vector<AllocEvent> events = {}; ///< of one device, in time order
    std::vector<Op> ops = {};            ///< that allocations point to
    std::vector<HeldStorage> held = {};  ///< at instants of the capture
    std::vector<SavedTensor> saved = {}; ///< likewise, before backward was captured
};

/// Facts about a run's memory that its allocation events do not contain.
struct MemoryFacts {
    std::vector<AllocEvent> reference = {};   ///< of one step before those that are traced
    std::vector<HeldStorage> held = {};       ///< at instants of that step
    std::vector<SavedTensor> saved = {};      ///< in that step
    std::vector<MemoryBlock> blocks = {};     ///< when the trace began, by address
    std::vector<MemorySegment> segments = {}; ///< likewise; none on a CPU
    std::vector<MemoryReading> readings = {};
    std::vector<CodePlace> places = {}; ///< of the ranges that allocated
    CapturedStep captured = {};         ///< before `blocks` were looked at

    bool empty() const
    {
        return reference.empty() && held.empty() && saved.empty() && blocks.empty() && segments.empty() &&
               readings.empty() && places.empty() && captured.events.empty();
    }
};

} // namespace tilescope
