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
    OpId firstOp = {};            ///< the first of these ops; none if unknown
    KernelFamily family = KernelFamily::Other;
    std::int32_t step = kNoStep;
    std::int64_t instances = 0; ///< ops, or kernels without a known op
    Nanoseconds time{0};        ///< of the kernels that the ops launched; on a CPU, of the ops
    bool counted = false;       ///< whether `time` is that of `work`
    bool inferred = false;      ///< the op is inferred from kernels with the same name and launch
    bool replayed = false;      ///< uncounted work of a CUDA graph, whose ops ran only during capture
    Work work{};
};

/// Which events count.
enum class WorkScope : std::uint8_t { TracedSteps, Recording };

/// The family of a device event.
using FamilyOf = std::function<KernelFamily(const DeviceEvent&)>;

/// Time and work of the traced steps, from the shapes of their ops.
///
/// Ops nest. The outermost ops with a rule (op_work.h) count. Each has the time of everything within it, and
/// the memory that it fills there. Its family is that of most kernel time of equal ops: same name, arguments
/// and place. If an op calls another of the same name (autocast's), the inner one counts. The time of other
/// ops, and of ops without shapes, has no work. Without device events, the ops' self time counts.
///
/// A kernel whose launch was not recorded counts for the op of the kernels with the same name and launch
/// configuration, if all their ops have one name and the same arguments. Otherwise, two or more of these
/// kernels must have run after the same kernels as this one.
/// \param ops     in any order. Ops of one untraced step represent those of every traced step. The views of
///                the result are those of textOf.
/// \param device  in any order
/// \param scope   TracedSteps: events outside a step are ignored
/// O(n x depth of nesting).
std::vector<TimedWork> timedWorkOfOps(std::span<const Op> ops, std::span<const DeviceEvent> device,
                                      const TextOf& textOf, const FamilyOf& familyOf,
                                      const WorkContext& context, WorkScope scope = WorkScope::TracedSteps);

/// The calls and events that each op and device event of a list stands for. All members are indexed by position.
struct AlikeCalls {
    std::span<const OpId> first = {};              ///< by op: id of the first call that launched
    std::span<const std::int64_t> calls = {};      ///< by op
    std::span<const std::int64_t> launching = {};  ///< by op: number of calls with a device event within
    std::span<const std::int64_t> activities = {}; ///< by device event
};

/// Computes timedWorkOfOps() from sums: each op stands for a group of calls, and each device event for a
/// group of events whose total time is its duration.
/// \param device  not empty; each event has a unique correlation
/// \return        none if the sums do not determine the result
std::optional<std::vector<TimedWork>>
timedWorkOfSums(std::span<const Op> ops, std::span<const DeviceEvent> device, const AlikeCalls& alike,
                const TextOf& textOf, const FamilyOf& familyOf, const WorkContext& context, WorkScope scope);

/// Like timedWorkOfOps(), but without recorded shapes: the spec gives the matmuls and attention of each step.
/// Only the time of these two families has work.
/// \param spec   must outlive the result: paths point into it
/// \param steps  number of traced steps
/// O(n + steps x spec).
std::vector<TimedWork> timedWorkOfSpec(std::span<const SpecWork> spec, std::int64_t steps,
                                       std::span<const Op> ops, std::span<const DeviceEvent> device,
                                       const TextOf& textOf, const FamilyOf& familyOf, WorkScope scope);

/// The work of the kernels of one name for one op.
struct KernelWork {
    StringId kernel = {};
    StringId path = {}; ///< path of the first of these kernels, as recorded
    std::int32_t step =
        kNoStep; ///< step of the kernels; the op may be of the untraced step that recorded the shapes
    std::int64_t instances = 0;
    Nanoseconds time{0};
    Work work{};
};

/// The work of each counted op (timedWorkOfOps), assigned to the kernel name that took most of the op's time.
/// If some of the op's kernels are of the family that its rule names, only these are considered. Its other
/// kernels, which convert operands or add up parts, have no work. In the order of the ops, then of the steps.
/// O(n x depth of nesting).
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
    Nanoseconds replayedTime{0}; ///< the part of the uncounted time that belongs to CUDA graphs
    Work work{};
};

/// Calls its second argument with each group that an item counts for; with none, the item is left out.
using WorkGroupsOf = std::function<void(const TimedWork&, const std::function<void(std::string_view)>&)>;

/// Totals by group, the most time first; equal ones by key. O(n log g).
std::vector<WorkTotal> workTotals(std::span<const TimedWork> items, const WorkGroupsOf& groupsOf);

} // namespace tilescope::analysis
