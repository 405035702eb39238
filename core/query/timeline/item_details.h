#pragma once

#include "core/analysis/kernels/occupancy.h"
#include "core/base/units.h"
#include "core/model/events.h"
#include "core/query/timeline/hue.h"
#include "core/query/timeline/timeline.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::store {
class RunReader;
}

namespace tilescope::query {

/// The rates that a box achieved.
struct Achieved {
    std::optional<double> flops = {}; ///< FLOP/s
    std::optional<double> bytes = {}; ///< B/s
    std::string op = {};              ///< the op that the work belongs to; empty for a copy
    std::int64_t kernels = 0;         ///< number of kernels that do the work; their time counts
    std::string why = {};             ///< why there are no rates; otherwise empty
};

/// Details of one box of a timeline. Values that were not recorded are absent.
struct ItemDetails {
    std::string name;
    std::string label;
    Lane::Kind lane = Lane::Kind::Stream;
    Hue hue = Hue::Other;
    std::int64_t start = 0;  ///< from the timeline's origin
    std::int64_t length = 0; ///< nanoseconds
    std::string does;        ///< what a kernel computes, as a phrase
    std::string path;        ///< its range
    std::string module;
    std::string op;
    std::string shapes;
    std::vector<std::string> stack =
        {}; ///< calls that were open at its launch or, on the host, at its start;
            ///< innermost first
    std::optional<std::int64_t> launchedBefore = {}; ///< from launch to start
    std::optional<std::uint32_t> correlation = {};
    std::optional<LaunchConfig> launch = {};
    std::optional<analysis::Occupancy> occupancy = {};
    std::optional<double> waves = {};
    std::string noOccupancy = {}; ///< why a kernel has no occupancy
    std::optional<Bytes> bytes = {};
    std::optional<std::int64_t> gapBefore = {}; ///< idle time before it in its row
    Achieved achieved = {};
};

/// Looks up an item among the run's events. Reads the events around it.
/// \throws Error  the file is damaged
ItemDetails describeItem(const store::RunReader& reader, RunId run, const Timeline& timeline,
                         const TimelineItem& item);

} // namespace tilescope::query
