#pragma once

#include "core/base/units.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::machine {

/// What can disturb timed steps, as it stands at one moment. What this machine does not tell is absent.
struct Conditions {
    Timestamp at{};
    std::optional<unsigned> smClockMhz = {};
    std::optional<std::uint64_t> throttleReasons = {};
    std::map<int, Nanoseconds> waited = {};    ///< each thread of this process: ready to run, without a core
    std::optional<std::int64_t> stolen = {};   ///< ticks that the hypervisor gave to others
    std::optional<std::int64_t> allTicks = {}; ///< of all processors together
};

/// \param gpu  CUDA's index; none where the run is on a CPU. A millisecond; any thread.
Conditions conditionsNow(std::optional<int> gpu);

/// The largest share of the time between two moments that one thread waited for a core, among those that
/// lived at both; none where the kernel does not account for it.
std::optional<double> waitingShare(const Conditions& from, const Conditions& to);
std::optional<double> stolenShare(const Conditions& from, const Conditions& to);

/// Why the GPU held its clocks back at either moment; idling, application clocks and the power cap, which are
/// its ordinary limits, are left out.
std::vector<std::string> slowdowns(const Conditions& from, const Conditions& to);

} // namespace tilescope::machine
