#include "core/analysis/path/critical_path.h"

#include <algorithm>

namespace tilescope::analysis {

namespace {

using namespace literals;

/// The part that a lag counts as, and the longest lag that does.
struct LagRule {
    PathPart part = PathPart::Launch;
    Nanoseconds most{0};
};

LagRule ruleOf(Cause cause)
{
    switch (cause) {
    case Cause::Launch:
        return {PathPart::Launch, 50'000_ns};
    case Cause::Stream:
    case Cause::StreamWait:
    case Cause::Graph:
    case Cause::Inferred:
    case Cause::Collective:
        return {PathPart::Launch, 20'000_ns};
    case Cause::Device:
        return {PathPart::Synchronization, 20'000_ns};
    case Cause::Program:
    case Cause::HandOver:
        break;
    }
    return {PathPart::Host, 1'000'000_ns};
}

/// Walks back from the end of a step.
class PathWalk {
public:
    PathWalk(const ActivityGraph& graph, Interval wall) : graph_(graph), wall_(wall), cursor_(wall.end) {}

    std::vector<PathSegment> from(std::uint32_t activity)
    {
        addUntil(graph_.activities()[activity].time.end, {});
        while (cursor_ > wall_.start) {
            const ActivityGraph::Constraint* const binding = graph_.bindingOf(activity);
            const std::optional<Cause> cause = binding ? std::optional(binding->cause) : std::nullopt;
            const Activity& each = graph_.activities()[activity];
            addUntil(each.time.start, {.part = each.part, .activity = activity, .cause = cause});
            if (!binding) {
                addUntil(wall_.start, {.next = activity});
                break;
            }
            addLag(graph_.activities()[binding->from].time.end, activity, *cause);
            activity = binding->from;
        }
        std::ranges::reverse(path_);
        return std::move(path_);
    }

private:
    /// Continues the path back from the start of an activity to the end of the activity that it waited for.
    void addLag(Timestamp end, std::uint32_t next, Cause cause)
    {
        const Activity& each = graph_.activities()[next];
        const LagRule rule = ruleOf(cause);
        // While the launch call runs, it explains the wait.
        const Timestamp called =
            cause == Cause::Launch ? std::max(end, std::min(each.calledUntil, each.time.start)) : end;
        const PathSegment wait{.part = rule.part, .next = next, .cause = cause};
        addUntil(std::max(called, each.time.start - rule.most), wait);
        addUntil(called, {.next = next, .cause = cause});
        addUntil(end, wait);
    }

    /// Continues the path back to `start`.
    void addUntil(Timestamp start, PathSegment segment)
    {
        start = std::max(start, wall_.start);
        if (start >= cursor_)
            return;
        segment.time = {start, cursor_};
        path_.push_back(segment);
        cursor_ = start;
    }

    const ActivityGraph& graph_;
    const Interval wall_;
    Timestamp cursor_;
    std::vector<PathSegment> path_; // latest first
};

} // namespace

std::vector<PathSegment> criticalPath(const ActivityGraph& graph, std::uint32_t last, Interval wall)
{
    return PathWalk(graph, wall).from(last);
}

PathParts partsOf(const std::vector<PathSegment>& path)
{
    PathParts parts;
    for (const PathSegment& segment : path)
        parts[segment.part] += segment.time.length();
    return parts;
}

} // namespace tilescope::analysis
