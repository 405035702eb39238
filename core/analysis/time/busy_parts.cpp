#include "core/analysis/time/busy_parts.h"

namespace tilescope::analysis {

BusyParts partitionBusy(Interval wall, std::span<const Interval> compute,
                        std::span<const Interval> communication, std::span<const Interval> copies)
{
    const std::vector<Interval> whole = unionOf({wall});
    const std::vector<Interval> computing = intersection(whole, compute);
    const std::vector<Interval> communicating = intersection(whole, communication);
    const std::vector<Interval> copying = intersection(whole, copies);
    const std::vector<Interval> exposed = difference(communicating, computing);
    return {.compute = lengthOf(computing),
            .exposedCommunication = lengthOf(exposed),
            .exposedCopies = lengthOf(difference(difference(copying, computing), communicating)),
            .overlapped = lengthOf(communicating) - lengthOf(exposed)};
}

} // namespace tilescope::analysis
