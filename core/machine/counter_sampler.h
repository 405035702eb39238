#pragma once

#include "core/machine/counter_log.h"
#include "core/machine/repeating_thread.h"
#include "core/model/counter_track.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include <sys/types.h>

namespace tilescope::machine {

/// How often counters are read unless the user says otherwise.
inline constexpr std::chrono::milliseconds kCounterInterval{20};

struct CounterRequest {
    std::chrono::milliseconds interval = kCounterInterval;
    std::vector<int> gpus = {}; ///< CUDA's indices
    /// Whose CPU use and memory are read, with its descendants; of another process also what its threads wait for a core, ten
    /// times a second at most. 0: this one alone.
    pid_t process = 0;
};

/// Reads counters of the host and of GPUs: once in the constructor, then on its own thread until stop().
///
/// Only the owner's thread may call members. Readings are at multiples of the interval; if a reading takes
/// longer than the interval, the next one is left out.
class CounterSampler {
public:
    explicit CounterSampler(const CounterRequest& request);
    CounterSampler(const CounterSampler&) = delete;
    CounterSampler& operator=(const CounterSampler&) = delete;

    /// Reads once more and ends the thread. Call it once.
    std::vector<CounterTrack> stop();

private:
    void read();

    std::vector<CounterLog> logs_;          ///< the thread's until it has ended
    std::optional<CounterLog> ofThreads_;   ///< the same
    std::int64_t readings_ = 0;             ///< the same
    const std::int64_t betweenThreads_;     ///< readings of `logs_` for each of `ofThreads_`
    std::optional<RepeatingThread> thread_; ///< started last
};

} // namespace tilescope::machine
