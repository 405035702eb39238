#pragma once

#include "core/analysis/kernels/occupancy.h"
#include "core/base/units.h"
#include "core/model/events.h"
#include "core/query/timeline/hue.h"
#include "core/query/timeline/timeline.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilescope::store {
class RunReader;
}

namespace tilescope::query {

/// Rates that a box's work came to.
struct Achieved {
    std::optional<double> flops = {}; ///< FLOP/s
    std::optional<double> bytes = {}; ///< B/s
    std::string op = {};              ///< whose work that is; empty for a copy
    std::int64_t kernels = 0;         ///< that share the work, and whose time counts
    std::string why = {};             ///< why there are no rates; empty where there are
};

/// Everything known about one box of a timeline. What was not recorded is absent.
struct ItemDetails {
    std::string name;
    std::string label;
    Lane::Kind lane = Lane::Kind::Stream;
    Hue hue = Hue::Other;
    std::int64_t start = 0;  ///< from the timeline's origin
    std::int64_t length = 0; ///< nanoseconds
    std::string does;        ///< what a kernel computes, in words
    std::string path;        ///< range that it belongs to
    std::string module;
    std::string op;
    std::string shapes;
    std::optional<std::int64_t> launchedBefore = {}; ///< from launch to start
    std::optional<std::uint32_t> correlation = {};
    std::optional<LaunchConfig> launch = {};
    std::optional<analysis::Occupancy> occupancy = {};
    std::optional<double> waves = {};
    std::string noOccupancy = {}; ///< why a kernel has none
    std::optional<Bytes> bytes = {};
    std::optional<std::int64_t> gapBefore = {}; ///< idle time in its row before it
    Achieved achieved = {};
};

/// Looks an item up among the run's events. Reads the events around it.
/// \throws Error  a damaged file
ItemDetails describeItem(const store::RunReader& reader, RunId run, const Timeline& timeline,
                         const TimelineItem& item);

} // namespace tilescope::query
