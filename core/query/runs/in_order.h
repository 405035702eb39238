#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace tilescope::query {

/// Sorts records that are almost in time order, with a buffer of about ten thousand. A consumer that needs
/// order can thus read a file without keeping all of its records in memory.
template <class Record, class TimeOf> class InOrder {
public:
    explicit InOrder(TimeOf timeOf) : timeOf_(timeOf) {}

    /// \param take  receives spans in order; a record that arrives more than kHeld records late stays out of
    ///              order
    template <class Take> void add(const Record& record, Take&& take)
    {
        held_.push_back(record);
        if (held_.size() < 2 * kHeld)
            return;
        sort();
        take(std::span<const Record>(held_).first(kHeld));
        held_.erase(held_.begin(), held_.begin() + kHeld);
    }
    template <class Take> void finish(Take&& take)
    {
        sort();
        take(std::span<const Record>(held_));
        held_.clear();
    }

private:
    static constexpr std::size_t kHeld = 16'384;

    void sort()
    {
        if (!std::ranges::is_sorted(held_, {}, timeOf_))
            std::ranges::stable_sort(held_, {}, timeOf_);
    }

    TimeOf timeOf_;
    std::vector<Record> held_;
};

} // namespace tilescope::query
