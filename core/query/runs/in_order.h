#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace tilescope::query {

/// Puts records that come nearly in the order of their times into that order, some ten thousand at a time:
/// what is read of a file one by one reaches those who need it in order without being held all at once.
template <class Record, class TimeOf> class InOrder {
public:
    explicit InOrder(TimeOf timeOf) : timeOf_(timeOf) {}

    /// \param take  gets spans in order; a record that comes later than kHeld others comes out late
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
