#pragma once

#include "core/model/memory_category.h"
#include "core/predict/caching_allocator.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace tilescope::predict {

/// Categories of allocated memory: those up to Fragmentation.
inline constexpr std::size_t kMemoryCategories = static_cast<std::size_t>(MemoryCategory::Fragmentation) + 1;

/// Bytes per category, in the order of MemoryCategory.
using BytesByCategory = std::array<std::int64_t, kMemoryCategories>;

class Memory;

/// A memory block that several tensors may share; freed when the last of them is destroyed.
class Storage {
public:
    Storage() = default;
    Storage(const Storage& other);
    Storage(Storage&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)), place_(other.place_)
    {
    }
    Storage& operator=(Storage other) noexcept
    {
        std::swap(memory_, other.memory_);
        std::swap(place_, other.place_);
        return *this;
    }
    ~Storage();

    explicit operator bool() const { return memory_ != nullptr; }
    bool isShared() const;

private:
    friend class Memory;
    Storage(Memory& memory, std::uint32_t place) : memory_(&memory), place_(place) {}

    Memory* memory_ = nullptr;
    std::uint32_t place_ = 0;
};

/// The memory of a device during the replay of a step: current and peak bytes by category.
///
/// Must outlive its Storages. One thread.
class Memory {
public:
    enum class Event : std::uint8_t { Allocate, Free };
    /// Called for each allocation and free, with the requested number of bytes.
    using Observer = std::function<void(Event, std::int64_t bytes, MemoryCategory, const char* what)>;

    /// \param isCaching  true: as on a GPU; false: every block is allocated and freed individually
    Memory(bool isCaching, std::int64_t limit);
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    /// \param what          a literal that describes the bytes. Zero bytes allocate no block.
    /// \throws OutOfMemory
    Storage make(std::int64_t bytes, MemoryCategory category, const char* what);
    /// Changes the category of a block.
    void recategorize(const Storage& storage, MemoryCategory category);
    void resetPeaks();
    /// While set, allocations come from the pool of a CUDA graph.
    void capture(bool isCapturing) { allocator_.useGraphPool(isCapturing); }
    void observe(Observer observer) { observer_ = std::move(observer); }

    std::int64_t allocated() const { return allocated_; }
    std::int64_t peakAllocated() const { return peakAllocated_; }
    std::int64_t peakReserved() const { return peakReserved_; }
    const BytesByCategory& byCategory() const { return byCategory_; }
    const BytesByCategory& byCategoryAtPeak() const { return atPeak_; }

private:
    friend class Storage;
    struct Entry {
        std::int64_t bytes = 0; ///< requested
        std::int64_t size = 0;  ///< allocated
        const char* what = "";
        std::int32_t holders = 0;
        CachingAllocator::BlockId block = 0;
        MemoryCategory category = MemoryCategory::Temporaries;
    };

    void release(std::uint32_t place);
    void notePeaks();
    std::int64_t& of(MemoryCategory category) { return byCategory_[static_cast<std::size_t>(category)]; }

    bool isCaching_;
    std::int64_t limit_;
    CachingAllocator allocator_;
    std::int64_t allocated_ = 0;
    std::int64_t peakAllocated_ = 0;
    std::int64_t peakReserved_ = 0;
    BytesByCategory byCategory_{};
    BytesByCategory atPeak_{};
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> unused_; ///< free indices of `entries_`
    Observer observer_;
};

} // namespace tilescope::predict
