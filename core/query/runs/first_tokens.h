#pragma once

#include "core/query/runs/generation_figures.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::query {

/// The times to the first token of a file's timed generations, by point: those of a run and of its repeats on the same device
/// are one statistic. Reads nothing until it is asked for a run of mode generate. One thread.
class FirstTokens {
public:
    /// \param reader  must outlive this
    explicit FirstTokens(const store::RunReader& reader) : reader_(reader) {}
    /// Replaces the time to the first token of a run that is ok by that over its point. O(runs + samples) the first time.
    /// \throws Error  from the reader
    void addRepeats(std::optional<GenerationFigures>& figures, const store::RunRecord& run);

private:
    using Point = std::pair<std::string, std::string>; // spec hash, device
    void read();

    const store::RunReader& reader_;
    bool isRead_ = false;
    std::map<Point, std::vector<double>> byPoint_; // ms, in the order of runs
};

} // namespace tilescope::query
