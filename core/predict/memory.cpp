#include "core/predict/memory.h"

#include <algorithm>

namespace tilescope::predict {

Storage::Storage(const Storage& other) : memory_(other.memory_), place_(other.place_)
{
    if (memory_ != nullptr)
        ++memory_->entries_[place_].holders;
}

Storage::~Storage()
{
    if (memory_ != nullptr && --memory_->entries_[place_].holders == 0)
        memory_->release(place_);
}

bool Storage::isShared() const
{
    return memory_ != nullptr && memory_->entries_[place_].holders > 1;
}

Memory::Memory(bool isCaching, std::int64_t limit) : isCaching_(isCaching), limit_(limit), allocator_(limit)
{
}

Storage Memory::make(std::int64_t bytes, MemoryCategory category, const char* what)
{
    if (bytes == 0)
        return {};
    Entry entry{.bytes = bytes, .size = bytes, .what = what, .holders = 1, .category = category};
    if (isCaching_) {
        entry.block = allocator_.allocate(bytes);
        entry.size = allocator_.sizeOf(entry.block);
    } else if (bytes > limit_ - allocated_) {
        throw OutOfMemory{bytes, allocated_, allocated_};
    }
    allocated_ += entry.size;
    of(category) += bytes;
    of(MemoryCategory::Fragmentation) += entry.size - bytes;
    if (observer_)
        observer_(Event::Allocate, bytes, category, what);
    notePeaks();
    if (unused_.empty()) {
        entries_.push_back(entry);
        return {*this, static_cast<std::uint32_t>(entries_.size() - 1)};
    }
    const std::uint32_t place = unused_.back();
    unused_.pop_back();
    entries_[place] = entry;
    return {*this, place};
}

void Memory::recategorize(const Storage& storage, MemoryCategory category)
{
    if (!storage)
        return;
    Entry& entry = entries_[storage.place_];
    of(entry.category) -= entry.bytes;
    of(category) += entry.bytes;
    entry.category = category;
}

void Memory::resetPeaks()
{
    peakAllocated_ = 0;
    peakReserved_ = 0;
    notePeaks();
}

void Memory::release(std::uint32_t place)
{
    const Entry& entry = entries_[place];
    if (isCaching_)
        allocator_.free(entry.block);
    allocated_ -= entry.size;
    of(entry.category) -= entry.bytes;
    of(MemoryCategory::Fragmentation) -= entry.size - entry.bytes;
    if (observer_)
        observer_(Event::Free, entry.bytes, entry.category, entry.what);
    unused_.push_back(place);
}

void Memory::notePeaks()
{
    if (allocated_ > peakAllocated_) {
        peakAllocated_ = allocated_;
        atPeak_ = byCategory_;
    }
    peakReserved_ = std::max(peakReserved_, isCaching_ ? allocator_.reserved() : allocated_);
}

} // namespace tilescope::predict
