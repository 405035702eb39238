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

/// Totals of one path over all traced steps.
struct RangeTotal {
    std::string path;
    std::int64_t instances = 0;
    std::optional<Nanoseconds> wall = {}; ///< host time; none if no host range or op has this path
    std::optional<Nanoseconds> gpu =
        {}; ///< time in which a GPU executes work launched below the path, summed over GPUs; none without a GPU
    double percent = 0; ///< of the steps' GPU time; without a GPU of their wall time
};

/// Sums records one by one, like rangeTotals(). Memory is O(paths). Each kind of record arrives in start
/// order.
class RangeTotals {
public:
    /// \param textOf  must outlive this object
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

/// Totals of the traced steps by path, beginning at `step`, in tree order (siblings by first start).
///
/// Wall time and instances of a path come from its host ranges. Module paths of backward have none, because
/// autograd launches from its own thread: their wall time is the time in which an op attributed to the path
/// was running, and their instances are the calls of the module in forward, otherwise the steps in which they occur. GPU
/// time is that of device events
/// attributed to the path or below; each instant counts once.
/// \param ranges, ops, device  each in start order; records outside a step are ignored
/// O(n x depth of paths).
std::vector<RangeTotal> rangeTotals(std::span<const Range> ranges, std::span<const Op> ops,
                                    std::span<const DeviceEvent> device, const TextOf& textOf);

} // namespace tilescope::analysis
