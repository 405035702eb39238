#pragma once

#include "core/analysis/time/text_of.h"
#include "core/analysis/work/op_work.h"
#include "core/analysis/work/spec_work.h"
#include "core/model/events.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// The time of a traced step at one place, and the work done in it, if known.
struct TimedWork {
    std::string_view path = {};   ///< from step down
    std::string_view op = {};     ///< empty if unknown
    std::string_view shapes = {}; ///< of its arguments, as recorded; empty if unknown
    OpId firstOp = {};            ///< the first of them; none if unknown
    KernelFamily family = KernelFamily::Other;
    std::int32_t step = kNoStep;
    std::int64_t instances = 0; ///< ops, or kernels without a known op
    Nanoseconds time{0};        ///< of the kernels it launched; on a CPU its own
    bool counted = false;       ///< whether `time` is that of `work`
    bool inferred = false;      ///< the op is that of kernels with the same name and launch
    bool replayed = false;      ///< uncounted, and of a CUDA graph: its ops ran when it was captured
    Work work{};
};

/// Which events count.
enum class WorkScope : std::uint8_t { TracedSteps, Recording };

/// The family of a device event.
using FamilyOf = std::function<KernelFamily(const DeviceEvent&)>;

/// Time and work of the traced steps, from the shapes of their ops.
///
/// Ops nest. The outermost ops with a rule (op_work.h) count, each with the time of everything within it and
/// the memory that it fills there, in the family with most of the time of kernels of such ops with the same arguments
/// at one place. If an op calls another of the same name (autocast's), the inner one counts. The time of other ops, and of ops without shapes, has no
/// work. Without device events the ops' self time counts.
///
/// A kernel whose launch was not recorded counts for the op of the kernels with the same name and launch configuration,
/// if these are of ops with one name and the same arguments; otherwise of two or more among them that ran after the
/// same kernels.
/// \param ops     in any order. Ops of one untraced step represent those of every traced step. The views are
///                those of textOf.
/// \param device  in any order
/// \param scope   TracedSteps: events outside a step are ignored
/// O(n x depth of nesting).
std::vector<TimedWork> timedWorkOfOps(std::span<const Op> ops, std::span<const DeviceEvent> device,
                                      const TextOf& textOf, const FamilyOf& familyOf,
                                      const WorkContext& context, WorkScope scope = WorkScope::TracedSteps);

/// What each op and device event of a list stands for. All by position.
struct AlikeCalls {
    std::span<const OpId> first = {};              ///< by op: the first call that launched
    std::span<const std::int64_t> calls = {};      ///< by op
    std::span<const std::int64_t> launching = {};  ///< by op: calls with a device event within
    std::span<const std::int64_t> activities = {}; ///< by device event
};

/// The same from sums: each op stands for a group of calls, and each device event for a group of events, whose total time
/// is its duration.
/// \param device  not empty; each with a correlation of its own
/// \return        none if the sums do not determine the result
std::optional<std::vector<TimedWork>>
timedWorkOfSums(std::span<const Op> ops, std::span<const DeviceEvent> device, const AlikeCalls& alike,
                const TextOf& textOf, const FamilyOf& familyOf, const WorkContext& context, WorkScope scope);

/// Like timedWorkOfOps() without recorded shapes: the spec gives the matmuls and attention of each step. The
/// time of those two families has work, that of the others has none.
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

/// The work of each counted op (timedWorkOfOps), assigned to its kernels: those with the name that took most
/// of the op's time, among the kernels of the family that the op's rule names, if any. Its other kernels,
/// which convert operands or add up parts, have no work. In the order of the ops, then of the steps. O(n x
/// depth of nesting).
std::vector<KernelWork> workOfKernels(std::span<const Op> ops, std::span<const DeviceEvent> device,
                                      const TextOf& textOf, const FamilyOf& familyOf,
                                      const WorkContext& context, WorkScope scope = WorkScope::TracedSteps);

/// The totals of the items of one group.
struct WorkTotal {
    std::string key = {};
    OpId firstOp = {};
    std::int64_t instances = 0;
    Nanoseconds time{0};
    Nanoseconds countedTime{0};  ///< the part of the time with known work
    Nanoseconds inferredTime{0}; ///< the part of `countedTime` whose ops are inferred
    Nanoseconds replayedTime{0}; ///< the part of the rest that is of CUDA graphs
    Work work{};
};

/// The groups that an item counts for; none leaves it out.
using WorkGroupsOf = std::function<void(const TimedWork&, const std::function<void(std::string_view)>&)>;

/// Totals by group, the most time first; equal ones by key. O(n log g).
std::vector<WorkTotal> workTotals(std::span<const TimedWork> items, const WorkGroupsOf& groupsOf);

} // namespace tilescope::analysis
