#pragma once

#include "core/analysis/time/path_glob.h"
#include "core/model/events.h"
#include "core/store/run_reader.h"

#include <unordered_map>

namespace tilescope::query {

/// Finds the ranges of steps among many ranges: looks at each path once.
class StepPaths {
public:
    explicit StepPaths(const store::RunReader& reader) : reader_(reader) {}

    bool isStep(const Range& range)
    {
        if (range.step == kNoStep)
            return false;
        const auto [known, isNew] = known_.try_emplace(range.path, false);
        if (isNew)
            known->second = analysis::fromStepDown(reader_.text(range.path)) == "step";
        return known->second;
    }

private:
    const store::RunReader& reader_;
    std::unordered_map<StringId, bool> known_;
};

} // namespace tilescope::query
