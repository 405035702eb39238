#pragma once

#include "core/base/units.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::machine {

/// Conditions at one moment that can disturb timed steps. Values that this machine does not report are
/// absent.
struct Conditions {
    Timestamp at{};
    std::optional<unsigned> smClockMhz = {};
    std::optional<std::uint64_t> throttleReasons = {};
    std::map<int, Nanoseconds> waited = {};    ///< per thread of this process: ready to run, but without a
                                               ///< core
    std::optional<std::int64_t> stolen = {};   ///< ticks that the hypervisor gave to other machines
    std::optional<std::int64_t> allTicks = {}; ///< of all processors
};

/// Takes about a millisecond. Any thread.
/// \param gpu  CUDA device index; none: the run is on a CPU
Conditions conditionsNow(std::optional<int> gpu);

/// The largest share of the time between two moments that one thread waited for a core, over the threads that
/// existed at both. None if the kernel does not account for it.
std::optional<double> waitingShare(const Conditions& from, const Conditions& to);
/// The share of the time in which at least one of these threads waited for a core, if they waited independently: 1 less the
/// product of the shares in which each had one. None if the kernel does not account for it.
std::optional<double> someWaitingShare(const Conditions& from, const Conditions& to);
std::optional<double> stolenShare(const Conditions& from, const Conditions& to);

/// The reasons for which the GPU reduced its clocks at either moment, without the ordinary ones: idle,
/// application clocks and power cap.
std::vector<std::string> slowdowns(const Conditions& from, const Conditions& to);

} // namespace tilescope::machine
