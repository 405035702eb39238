#pragma once

#include "app/record/window.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::record {

/// Measures the cost of recording: recorded and bare blocks of steps alternate. The cost is the mean ratio of their median
/// steps over pairs of blocks. One thread at a time.
class Calibration {
public:
    static constexpr int kWarmUp = 10;  ///< steps before the first block
    static constexpr int kSettling = 2; ///< first steps of a block, which are not counted
    static constexpr int kCounted = 5;  ///< steps of a block that are counted
    static constexpr std::size_t kPairs = 20;

    /// A step has ended at this time. All steps are recorded at first, and again after the last pair.
    Window::Change stepEnded(std::int64_t time);
    /// The mean ratio of a recorded step to a bare one with its 95 % interval; none before the second pair.
    std::optional<std::string> text() const;

private:
    int steps_ = 0; ///< in this block
    bool warm_ = false;
    bool on_ = true;
    std::int64_t last_ = 0;
    std::vector<std::int64_t> durations_; // of this block
    double recorded_ = 0;                 // median of the last block that was recorded
    std::vector<double> ratios_;
};

} // namespace tilescope::record
