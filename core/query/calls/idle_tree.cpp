#include "core/query/calls/idle_tree.h"

#include "core/analysis/waiting/host_cause.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilescope::query {

namespace {

using analysis::HostCause;
using Node = CallTree::Node;

/// Adds the idle time of a process to a tree.
class IdleStacks {
public:
    IdleStacks(const ProcessIdle& process, CallTree& tree, Node outermost)
        : process_(process), tree_(tree), outermost_(outermost), causes_(process.stacks),
          nodes_(process.stacks.size(), CallTree::kRoot)
    {
    }

    void add()
    {
        for (const auto& [device, idle] : process_.devices) {
            addSamples(idle);
            for (const analysis::IdleCall& call : idle.calls) {
                const CudaCaller& caller = process_.callers[call.name];
                const HostCause cause = analysis::causeOfCall(caller.call, caller.synchronizes);
                const Node node = tree_.child(causeNode(caller.stack, cause), CallKind::Call, caller.call);
                addTo(node, static_cast<double>(call.time.count()), call.count);
            }
            addTime(HostCause::Launching, idle.launching, idle.intervals);
            addTime(HostCause::Queued, idle.queued, idle.intervals);
            addTime(HostCause::Unexplained, idle.unknown, idle.intervals);
        }
        round();
    }

private:
    void addSamples(const analysis::IdleTime& idle)
    {
        constexpr auto kCauses = static_cast<std::uint32_t>(analysis::kHostCauses);
        const auto none = static_cast<std::uint32_t>(process_.stacks.size());
        const analysis::IdleShares shares =
            analysis::sharesOf(idle, process_.stacks, [&](const HostSample& hit) {
                const std::uint32_t stack = hit.stack == kNoStack ? none : hit.stack;
                return stack * kCauses + static_cast<std::uint32_t>(causes_.of(hit));
            });
        for (const analysis::IdleShare& share : shares.shares) {
            const std::uint32_t stack = share.value / kCauses;
            addTo(causeNode(stack == none ? kNoStack : stack, static_cast<HostCause>(share.value % kCauses)),
                  share.time, share.samples);
        }
        addTime(HostCause::Unexplained, shares.unresolved, idle.intervals);
    }

    void addTime(HostCause cause, Nanoseconds time, std::int64_t count)
    {
        if (time.count() > 0)
            addTo(causeNode(kNoStack, cause), static_cast<double>(time.count()), count);
    }

    Node causeNode(std::uint32_t stack, HostCause cause)
    {
        return tree_.child(stackNode(stack), CallKind::Cause, wordOf(cause));
    }

    /// Calls of one function from different lines are one node.
    Node stackNode(std::uint32_t stack)
    {
        if (stack == kNoStack)
            return outermost_;
        if (nodes_[stack] == CallTree::kRoot) {
            const HostStack& call = process_.stacks[stack];
            const bool isOp = analysis::partsOf(call.function).file.empty();
            nodes_[stack] =
                tree_.child(stackNode(call.caller), isOp ? CallKind::Op : CallKind::Frame, call.function);
        }
        return nodes_[stack];
    }

    void addTo(Node node, double time, std::int64_t count)
    {
        auto& [times, counts] = sums_[node];
        times += time;
        counts += count;
    }

    /// Whole nanoseconds; what rounding adds or takes is the longest's.
    void round()
    {
        std::int64_t missing = 0;
        for (const auto& [device, idle] : process_.devices)
            missing += idle.total.count();
        for (const auto& [node, sum] : sums_)
            missing -= std::llround(sum.first);
        const auto longest =
            std::ranges::max_element(sums_, {}, [](const auto& each) { return each.second.first; });
        for (auto at = sums_.begin(); at != sums_.end(); ++at)
            tree_.add(at->first, std::llround(at->second.first) + (at == longest ? missing : 0),
                      at->second.second);
    }

    const ProcessIdle& process_;
    CallTree& tree_;
    Node outermost_;
    analysis::HostCauses causes_;
    std::vector<Node> nodes_;                              ///< by stack
    std::map<Node, std::pair<double, std::int64_t>> sums_; ///< ns and count
};

} // namespace

CallTreeTable idleTree(const WaitingRecords& records)
{
    CallTreeTable table{.run = records.run,
                        .weight = CallWeight::Idle,
                        .onGpu = true,
                        .whole = records.steps == 0,
                        .span = records.span,
                        .steps = records.steps};
    for (const ProcessIdle& process : records.processes) {
        Node outermost = CallTree::kRoot;
        if (records.processes.size() > 1)
            outermost = table.tree.child(outermost, CallKind::Process, process.title);
        IdleStacks(process, table.tree, outermost).add();
    }
    table.events = table.tree.totalCount();
    if (table.events == 0)
        table.whyEmpty = whyNothingWaits(records);
    return table;
}

} // namespace tilescope::query
