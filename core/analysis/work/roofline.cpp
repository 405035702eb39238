#include "core/analysis/work/roofline.h"

#include <algorithm>

namespace tilescope::analysis {

namespace {

std::optional<double> rate(std::int64_t amount, Nanoseconds time)
{
    if (time.count() <= 0)
        return {};
    return static_cast<double>(amount) / (static_cast<double>(time.count()) * 1e-9);
}

} // namespace

std::string_view wordOf(Bound bound)
{
    return bound == Bound::Compute ? "compute" : "memory";
}

std::optional<RooflinePoint> placeUnder(const Ceilings& ceilings, Work work, Nanoseconds time)
{
    const bool computes = work.flops.count > 0;
    const bool moves = work.bytes.count > 0;
    if (time.count() <= 0 || (!computes && !moves) || (computes && !ceilings.flops) ||
        (moves && !ceilings.bytes))
        return {};
    const double computing = computes ? static_cast<double>(work.flops.count) / *ceilings.flops : 0;
    const double moving = moves ? static_cast<double>(work.bytes.count) / *ceilings.bytes : 0;
    return RooflinePoint{computing >= moving ? Bound::Compute : Bound::Memory,
                         std::max(computing, moving) / (static_cast<double>(time.count()) * 1e-9)};
}

std::optional<double> flopsPerSecond(Work work, Nanoseconds time)
{
    return rate(work.flops.count, time);
}

std::optional<double> bytesPerSecond(Work work, Nanoseconds time)
{
    return rate(work.bytes.count, time);
}

std::optional<double> intensityOf(Work work)
{
    if (work.bytes.count <= 0)
        return {};
    return static_cast<double>(work.flops.count) / static_cast<double>(work.bytes.count);
}

} // namespace tilescope::analysis
