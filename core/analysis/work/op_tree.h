#pragma once

#include "core/analysis/work/op_work.h"
#include "core/analysis/work/timed_work.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace tilescope::analysis {

/// Ops by id, with their rules.
class OpTree {
public:
    OpTree(std::span<const Op> ops, const TextOf& textOf, const WorkContext& context,
           const AlikeCalls& alike = {});

    bool counts(std::size_t i) const { return work_[i] && !covered_[i]; }
    /// The work of an op that counts, for its calls that launched.
    Work work(std::size_t i) const
    {
        Work done = times(*work_[i], launchingOf(i));
        done += filled_[i];
        return done;
    }
    /// Whether no memory was filled, or every call launched.
    bool isDetermined(std::size_t i) const { return filled_[i] == Work{} || launchingOf(i) == callsOf(i); }
    std::int64_t launchingOf(std::size_t i) const
    {
        return alike_.launching.empty() ? 1 : alike_.launching[i];
    }
    OpId firstOf(std::size_t i) const { return alike_.first.empty() ? ops_[i].id : alike_.first[i]; }
    /// The family of an op that has work.
    KernelFamily family(std::size_t i) const { return rule_[i]->family; }

    std::optional<std::size_t> find(OpId id) const
    {
        const auto found = position_.find(id);
        return found == position_.end() ? std::nullopt : std::optional(found->second);
    }

    /// The op that counts: the op itself or one of its ancestors.
    std::optional<std::size_t> countingAt(std::optional<std::size_t> op) const;

    std::optional<std::size_t> parentOf(std::size_t i) const
    {
        const Op& op = ops_[i];
        return !op.parent || op.parent == op.id ? std::nullopt : find(op.parent);
    }

private:
    static Work times(const Work& work, std::int64_t calls)
    {
        return {work.flops * calls, {work.bytes.count * calls}};
    }
    std::int64_t callsOf(std::size_t i) const { return alike_.calls.empty() ? 1 : alike_.calls[i]; }

    /// The outermost ancestor with work.
    std::optional<std::size_t> above(std::size_t i) const;
    bool isFill(std::optional<std::size_t> op) const
    {
        return op && work_[*op] && rule_[*op]->family == KernelFamily::Memset;
    }

    const std::span<const Op> ops_;
    const AlikeCalls alike_;
    std::unordered_map<OpId, std::size_t> position_;
    std::vector<std::optional<Work>> work_;
    std::vector<std::optional<OpRule>> rule_;
    std::vector<Work> filled_;
    std::vector<bool> covered_; ///< one of its ancestors counts
};

} // namespace tilescope::analysis
