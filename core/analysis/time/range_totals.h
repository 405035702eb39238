#pragma once

#include "core/analysis/time/text_of.h"
#include "core/base/units.h"
#include "core/model/events.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilescope::analysis {

/// What happened under one path, over all traced steps.
struct RangeTotal {
    std::string path;
    std::int64_t instances = 0;
    std::optional<Nanoseconds> wall = {}; ///< host time; none where no host range or op tells it
    std::optional<Nanoseconds> gpu =
        {};             ///< GPU busy with what was launched under the path; none without a GPU
    double percent = 0; ///< of the steps' GPU time; where there is none, of their wall
};

/// Adds up records one by one, as rangeTotals() does: what grows is the number of paths. Each kind comes in
/// start order.
class RangeTotals {
public:
    /// \param textOf  outlives this
    explicit RangeTotals(const TextOf& textOf);
    ~RangeTotals();

    void add(const Range& range);
    void add(const Op& op);
    void add(const DeviceEvent& event);
    std::vector<RangeTotal> list();

private:
    class Tree;
    std::unique_ptr<Tree> tree_;
    bool hasGpu_ = false;
};

/// Ranges of the traced steps by path, from `step` down, in tree order (siblings by when they first started).
///
/// A path with host ranges takes wall and instances from them. Backward's module paths have none, because
/// autograd launches from its own thread: their wall is the time in which an op attributed to the path was
/// running, and their instances are the steps in which they occur. GPU time is that of the device events
/// attributed to the path or beneath it, each instant counted once.
/// \param ranges, ops, device  each in start order; those outside a step are left out
/// O(n x depth of paths).
std::vector<RangeTotal> rangeTotals(std::span<const Range> ranges, std::span<const Op> ops,
                                    std::span<const DeviceEvent> device, const TextOf& textOf);

} // namespace tilescope::analysis
