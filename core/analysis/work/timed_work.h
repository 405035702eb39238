#pragma once

#include "core/analysis/time/text_of.h"
#include "core/analysis/work/op_work.h"
#include "core/analysis/work/spec_work.h"
#include "core/model/events.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// Time that a traced step took at one place, and the work that was done in it, where that is known.
struct TimedWork {
    std::string_view path = {}; ///< from step down
    std::string_view op = {};   ///< empty where it could not be told
    KernelFamily family = KernelFamily::Other;
    std::int32_t step = kNoStep;
    std::int64_t instances = 0; ///< ops, or kernels without a known op
    Nanoseconds time{0};        ///< of the kernels it launched; on a CPU its own
    bool counted = false;       ///< whether `time` is that of `work`
    Work work{};
};

/// The family of a device event.
using FamilyOf = std::function<KernelFamily(const DeviceEvent&)>;

/// Time and work of the traced steps, from the shapes of their ops.
///
/// Ops nest: the work that counts is that of the outermost ops with a rule (op_work.h), each with the time of
/// everything within it and the memory that it fills there, in the family that most of its kernels' time
/// belongs to; of an op that calls one of its own name (autocast's) the inner one counts. What other ops
/// take, and ops whose shapes are missing, comes without work. Without device events the ops' own time
/// counts.
/// \param ops     in any order. Of one untraced step they serve the kernels of every traced one. The views
///                are those of textOf.
/// \param device  in any order; events outside a step are left out
/// O(n x depth of nesting).
std::vector<TimedWork> timedWorkOfOps(std::span<const Op> ops, std::span<const DeviceEvent> device,
                                      const TextOf& textOf, const FamilyOf& familyOf,
                                      const WorkContext& context);

/// The same where shapes were not recorded: the spec tells the matmuls and attention of each step, so the
/// time of those two families counts, and that of the others comes without work.
/// \param spec   kept by the caller: paths refer to it
/// \param steps  traced steps
/// O(n + steps x spec).
std::vector<TimedWork> timedWorkOfSpec(std::span<const SpecWork> spec, std::int64_t steps,
                                       std::span<const Op> ops, std::span<const DeviceEvent> device,
                                       const TextOf& textOf, const FamilyOf& familyOf);

/// What kernels of one name did for one op.
struct KernelWork {
    StringId kernel = {};
    StringId path = {}; ///< of the first of them, as recorded
    std::int32_t step =
        kNoStep; ///< of the kernels: the op may be that of an untraced step that took the shapes
    std::int64_t instances = 0;
    Nanoseconds time{0};
    Work work{};
};

/// The work of each op that counts (timedWorkOfOps), told of the kernels it was done by: those of the one
/// name that took most of the op's time, of the family that the op's rule names where there are any. What
/// else it launched, to convert operands or to add up parts, has none of its own. In the order of the ops,
/// then of the steps. O(n x depth of nesting).
std::vector<KernelWork> workOfKernels(std::span<const Op> ops, std::span<const DeviceEvent> device,
                                      const TextOf& textOf, const FamilyOf& familyOf,
                                      const WorkContext& context);

/// What the items of one group come to.
struct WorkTotal {
    std::string key = {};
    std::int64_t instances = 0;
    Nanoseconds time{0};
    Nanoseconds countedTime{0}; ///< of it, the time whose work is known
    Work work{};
};

/// The groups that an item counts for; none leaves it out.
using WorkGroupsOf = std::function<void(const TimedWork&, const std::function<void(std::string_view)>&)>;

/// Totals by group, the most time first; equal ones by key. O(n log g).
std::vector<WorkTotal> workTotals(std::span<const TimedWork> items, const WorkGroupsOf& groupsOf);

} // namespace tilescope::analysis
