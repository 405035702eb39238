#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tilescope::query {

/// Numbers of steps, as stretches of neighbours: small where something happens in every step.
class StepSet {
public:
    /// In any order; O(1) in the order of steps.
    void add(std::int32_t step) { add(Stretch{step, step}); }
    void add(const StepSet& other)
    {
        if (other.latest_.first > other.latest_.last)
            return;
        for (const Stretch& each : other.earlier_)
            add(each);
        add(other.latest_);
    }

    /// Number of different steps. O(n log n).
    std::int64_t count() const
    {
        std::vector<Stretch> sorted = earlier_;
        sorted.push_back(latest_);
        std::ranges::sort(sorted, {}, &Stretch::first);
        std::int64_t steps = 0;
        std::int64_t next = INT64_MIN; // that is not counted yet
        for (const Stretch& each : sorted) {
            const std::int64_t first = std::max(next, std::int64_t{each.first});
            steps += std::max<std::int64_t>(0, each.last + 1 - first);
            next = std::max(next, std::int64_t{each.last} + 1);
        }
        return steps;
    }

private:
    struct Stretch {
        std::int32_t first = 0;
        std::int32_t last = -1; ///< before `first`: none
    };

    void add(Stretch next)
    {
        const bool isEmpty = latest_.first > latest_.last;
        if (isEmpty || next.first < latest_.first || next.first > std::int64_t{latest_.last} + 1) {
            if (!isEmpty)
                earlier_.push_back(latest_);
            latest_ = next;
        } else {
            latest_.last = std::max(latest_.last, next.last);
        }
    }

    Stretch latest_ = {}; ///< here, so that a set of one stretch allocates nothing
    std::vector<Stretch> earlier_;
};

} // namespace tilescope::query
