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

/// What the totals of ranges cover.
enum class RangeScope {
    Steps,     ///< only the traced steps; paths begin at `step`
    Recording, ///< everything, as if the recording were one step; whole paths. For recordings without steps
};

/// Totals of one path over all traced steps, or over a recording without steps.
struct RangeTotal {
    std::string path;
    std::int64_t instances = 0;
    std::optional<Nanoseconds> wall = {}; ///< host time; none if no host range or op has this path
    std::optional<Nanoseconds> gpu =
        {}; ///< time in which a GPU executes work launched below the path, summed over GPUs; none without a GPU
    double percent = 0; ///< of the GPU time of all outermost paths; without a GPU of their wall time
};

/// Sums records one by one, like rangeTotals(). Memory is O(paths). Each kind of record arrives in start
/// order.
class RangeTotals {
public:
    /// \param textOf  must outlive this object
    explicit RangeTotals(const TextOf& textOf, RangeScope scope = RangeScope::Steps);
    ~RangeTotals();

    void add(const Range& range);
    void add(const Op& op);
    void add(const DeviceEvent& event);
    std::vector<RangeTotal> list();

private:
    class Tree;
    bool covers(std::int32_t step) const { return scope_ == RangeScope::Recording || step != kNoStep; }

    std::unique_ptr<Tree> tree_;
    RangeScope scope_;
    bool hasGpu_ = false;
};

/// The path in forward of the module that `path` names in backward; empty if `path` is not below `step/backward`.
std::string pathInForward(std::string_view path);

/// Totals by path in tree order (siblings by first start): of the traced steps, beginning at `step`, or of everything.
///
/// Wall time and instances of a path come from its host ranges. Module paths of backward have none, because
/// autograd launches from its own thread: their wall time is the time in which an op attributed to the path
/// was running, and their instances are the calls of the module in forward, otherwise the steps in which they occur. GPU
/// time is that of device events attributed to the path or below; each instant counts once.
/// \param ranges, ops, device  each in start order; with RangeScope::Steps records outside a step are ignored
/// O(n x depth of paths).
std::vector<RangeTotal> rangeTotals(std::span<const Range> ranges, std::span<const Op> ops,
                                    std::span<const DeviceEvent> device, const TextOf& textOf,
                                    RangeScope scope = RangeScope::Steps);

} // namespace tilescope::analysis
