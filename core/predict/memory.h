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

/// Categories that the allocator's count is made of: those up to Fragmentation.
inline constexpr std::size_t kMemoryCategories = static_cast<std::size_t>(MemoryCategory::Fragmentation) + 1;

/// Bytes by what they are for, in the order of MemoryCategory.
using BytesByCategory = std::array<std::int64_t, kMemoryCategories>;

class Memory;

/// A piece of memory that several tensors may share; it is given back when the last of them is gone.
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

/// The memory of a device while a step is replayed: what is held, by what for, and the most there ever was.
///
/// Outlives every Storage of it. One thread.
class Memory {
public:
    enum class Event : std::uint8_t { Allocate, Free };
    /// Told of each allocation and each free, with the bytes that were asked for.
    using Observer = std::function<void(Event, std::int64_t bytes, MemoryCategory, const char* what)>;

    /// \param isCaching  as on a GPU; else every block is taken and given back as it is asked for
    Memory(bool isCaching, std::int64_t limit);
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    /// \param what          a literal that says what the bytes are. Zero bytes take no block.
    /// \throws OutOfMemory
    Storage make(std::int64_t bytes, MemoryCategory category, const char* what);
    /// Makes known what a block turned out to be for.
    void recategorize(const Storage& storage, MemoryCategory category);
    void resetPeaks();
    /// What is made while it is set lies in the pool of a CUDA graph.
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
        std::int64_t bytes = 0; ///< asked for
        std::int64_t size = 0;  ///< taken
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
    std::vector<std::uint32_t> unused_; ///< places in `entries_`
    Observer observer_;
};

} // namespace tilescope::predict
