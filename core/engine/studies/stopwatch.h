#pragma once

#include "core/engine/common/device.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace tilescope::engine {

/// Measures work that runs back to back. Session thread.
class Stopwatch {
public:
    struct Times {
        std::int64_t calls = 0;      ///< number of calls in a sample
        std::vector<double> seconds; ///< by sample: seconds per call
    };

    explicit Stopwatch(const Device& device) : device_(device) {}

    /// Each sample is between two device synchronizations and takes at least 50 ms on a GPU and 20 ms on a CPU. The
    /// search for the number of calls warms up.
    Times secondsPerCall(const std::function<void()>& work, int samples) const;

private:
    double seconds(const std::function<void()>& work, std::int64_t repeats) const;

    const Device& device_;
};

} // namespace tilescope::engine
