#pragma once

#include "core/base/ids.h"
#include "core/trace/host/host_record.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tilescope::trace {

/// Maps the correlation id of a launch to where and when the host made it. One thread.
///
/// A launch may have any number of activities (of a graph), so an entry is not removed when found, but after
/// `capacity` newer ones: memory is constant. Open addressing with linear probing; ids arrive in ascending
/// order, so neighbours are adjacent. O(1) on average.
class LaunchTable {
public:
    struct Launch {
        HostContext context = {};
        std::int32_t step = kNoStep;
        std::int64_t time = 0;
        std::uint32_t thread = 0;
    };

    explicit LaunchTable(std::size_t capacity = 1 << 17);

    /// Keeps the first launch of an id: the runtime's call, not the driver's within it.
    void insert(std::uint32_t correlation, const Launch& launch);
    /// The launch of an id, null if there is none. Valid until the next insert.
    const Launch* find(std::uint32_t correlation) const;
    void clear();
    std::size_t size() const { return size_; }

private:
    struct Slot {
        Launch launch;
        std::uint32_t correlation = 0; ///< 0: empty
    };
    std::size_t homeOf(std::uint32_t correlation) const;
    std::size_t slotOf(std::uint32_t correlation) const;
    void erase(std::uint32_t correlation);

    std::vector<Slot> slots_;
    std::size_t mask_;
    std::size_t size_ = 0;
    std::vector<std::uint32_t> order_; // ids in the order of insertion, a ring; order_[next_] is the oldest
    std::size_t next_ = 0;
};

} // namespace tilescope::trace
