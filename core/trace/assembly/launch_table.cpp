#include "core/trace/assembly/launch_table.h"

#include <bit>

namespace tilescope::trace {

// At most half full, so that runs of occupied slots stay short.
LaunchTable::LaunchTable(std::size_t capacity)
    : slots_(std::bit_ceil(capacity) * 2), mask_(slots_.size() - 1), order_(slots_.size() / 2)
{
}

// Groups of four neighbouring ids map to every other of eight neighbouring slots, and the groups are
// scattered. Otherwise consecutive ids would fill one long run of slots, and erase() scans to the end of a
// run.
std::size_t LaunchTable::homeOf(std::uint32_t correlation) const
{
    const std::uint64_t block = (std::uint64_t{correlation} >> 2) * 0x9E3779B97F4A7C15ULL >> 32;
    return (block << 3 | (correlation & 3) << 1) & mask_;
}

std::size_t LaunchTable::slotOf(std::uint32_t correlation) const
{
    std::size_t slot = homeOf(correlation);
    while (slots_[slot].correlation != 0 && slots_[slot].correlation != correlation)
        slot = (slot + 1) & mask_;
    return slot;
}

void LaunchTable::insert(std::uint32_t correlation, const Launch& launch)
{
    if (correlation == 0 || find(correlation))
        return;
    std::uint32_t& oldest = order_[next_];
    if (oldest != 0)
        erase(oldest);
    oldest = correlation;
    next_ = (next_ + 1) % order_.size();
    slots_[slotOf(correlation)] = {launch, correlation};
    ++size_;
}

const LaunchTable::Launch* LaunchTable::find(std::uint32_t correlation) const
{
    const Slot& slot = slots_[slotOf(correlation)];
    return correlation != 0 && slot.correlation == correlation ? &slot.launch : nullptr;
}

void LaunchTable::erase(std::uint32_t correlation)
{
    std::size_t hole = slotOf(correlation);
    --size_;
    // Whoever probed past the hole moves back into it, so that no tombstones pile up.
    for (std::size_t next = (hole + 1) & mask_; slots_[next].correlation != 0; next = (next + 1) & mask_) {
        const std::size_t home = homeOf(slots_[next].correlation);
        if (((next - home) & mask_) >= ((next - hole) & mask_)) {
            slots_[hole] = slots_[next];
            hole = next;
        }
    }
    slots_[hole].correlation = 0;
}

void LaunchTable::clear()
{
    for (Slot& slot : slots_)
        slot.correlation = 0;
    for (std::uint32_t& id : order_)
        id = 0;
    size_ = 0;
    next_ = 0;
}

} // namespace tilescope::trace
