#pragma once

#include "core/machine/counter_source.h"
#include "core/model/counter_track.h"

#include <optional>
#include <vector>

namespace tilescope::machine {

/// Keeps the readings of one source as tracks. One thread.
class CounterLog {
public:
    /// \param device  of the source's counters; none: the host
    explicit CounterLog(std::unique_ptr<CounterSource> source, DeviceIndex device = {});

    /// Reads every counter once.
    void read();
    /// A track for each counter that could be read: of a level at least once, of a total at least twice.
    std::vector<CounterTrack> take();

private:
    struct Last {
        Timestamp time{};
        std::uint64_t total = 0;
    };
    void add(std::size_t counter, Timestamp time, std::uint64_t value);

    std::unique_ptr<CounterSource> source_;
    std::vector<std::optional<std::uint64_t>> values_; ///< of the last reading
    std::vector<std::optional<Last>> last_;            ///< the last successful reading of each counter
    std::vector<CounterTrack> tracks_;
};

} // namespace tilescope::machine
