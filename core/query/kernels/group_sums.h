#pragma once

#include "core/analysis/compare/comparison.h"
#include "core/base/units.h"
#include "core/query/runs/run_kernels.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::query {

/// Adds up times by key, step after step.
class GroupSums {
public:
    void beginStep() { ++steps_; }

    void add(std::string_view key, Nanoseconds time, std::int64_t instances)
    {
        auto group = groups_.find(key);
        if (group == groups_.end()) {
            group = groups_.emplace(key, analysis::GroupTimes{.key = std::string(key)}).first;
            group->second.runs.emplace_back();
        }
        std::vector<double>& times = group->second.runs.front();
        times.resize(steps_); // steps before this one may not have had it
        times.back() += static_cast<double>(time.count());
        group->second.instancesPerStep += static_cast<double>(instances);
    }

    /// One run with a value for each step, by key.
    std::vector<analysis::GroupTimes> take()
    {
        std::vector<analysis::GroupTimes> list;
        for (auto& [key, group] : groups_) {
            group.runs.front().resize(steps_);
            group.instancesPerStep /= static_cast<double>(steps_);
            list.push_back(std::move(group));
        }
        return list;
    }

private:
    std::size_t steps_ = 0;
    std::map<std::string, analysis::GroupTimes, std::less<>> groups_;
};

struct RunGroups {
    std::size_t steps = 0;
    bool onGpu = false;
    std::vector<analysis::GroupTimes> families = {}; ///< of kernels; of ops without a GPU
    std::vector<analysis::GroupTimes> kernels = {};
    std::vector<analysis::GroupTimes> ops = {};
    std::vector<analysis::GroupTimes> ranges = {};
    LaunchFamilies byLaunch = {}; ///< of kernels whose names say no family
};

} // namespace tilescope::query
