#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tilescope::query {

/// Numbers of steps, as stretches of neighbours: small where something happens in every step.
class StepSet {
public:
    /// In any order; O(1) in the order of steps.
    void add(std::int32_t step)
    {
        if (stretches_.empty() || step < stretches_.back().first ||
            step > std::int64_t{stretches_.back().last} + 1)
            stretches_.push_back({step, step});
        else
            stretches_.back().last = std::max(stretches_.back().last, step);
    }
    void add(const StepSet& other)
    {
        stretches_.insert(stretches_.end(), other.stretches_.begin(), other.stretches_.end());
    }

    /// Number of different steps. O(n log n).
    std::int64_t count() const
    {
        std::vector<Stretch> sorted = stretches_;
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
        std::int32_t last = 0;
    };

    std::vector<Stretch> stretches_;
};

} // namespace tilescope::query
