#include "core/model/recomputation_plan.h"

#include <algorithm>
#include <numeric>

namespace tilescope {

namespace {

using Segments = std::vector<RecomputedSegment>;

/// The parts of [begin, end) when it is divided into at most `parts` of nearly equal length.
Segments divided(std::int64_t begin, std::int64_t end, std::int64_t parts)
{
    parts = std::min(parts, end - begin);
    Segments segments;
    for (std::int64_t i = 0; i < parts; ++i)
        segments.push_back(
            {.begin = begin + (end - begin) * i / parts, .end = begin + (end - begin) * (i + 1) / parts});
    return segments;
}

void nest(Segments& segments, std::int64_t parts)
{
    for (RecomputedSegment& segment : segments) {
        // The last part is computed with its graph, so it is divided in place until one block is left.
        for (std::int64_t begin = segment.begin; segment.end - begin > 1;) {
            Segments part = divided(begin, segment.end, parts);
            begin = part.back().begin;
            part.pop_back();
            segment.inner.insert(segment.inner.end(), part.begin(), part.end());
        }
        nest(segment.inner, parts);
    }
}

void count(const Segments& segments, std::vector<int>& times)
{
    for (const RecomputedSegment& segment : segments) {
        for (std::int64_t i = segment.begin; i < segment.end; ++i)
            ++times[static_cast<std::size_t>(i)];
        count(segment.inner, times);
    }
}

} // namespace

std::vector<RecomputedSegment> recomputationPlan(const Checkpointing& checkpointing, std::int64_t layers)
{
    const std::int64_t k = checkpointing.every;
    Segments plan;
    switch (checkpointing.kind) {
    case Checkpointing::Kind::None:
    case Checkpointing::Kind::Attention:
        break;
    case Checkpointing::Kind::Block:
        for (std::int64_t begin = 0, end = layers - checkpointing.kept; begin < end; begin += k)
            plan.push_back({.begin = begin, .end = std::min(begin + k, end)});
        break;
    case Checkpointing::Kind::Nested:
        plan = divided(0, layers, k);
        nest(plan, k);
        break;
    }
    return plan;
}

std::vector<int> recomputations(const std::vector<RecomputedSegment>& plan, std::int64_t layers)
{
    std::vector<int> times(static_cast<std::size_t>(layers));
    count(plan, times);
    return times;
}

RecomputationSummary summaryOf(const std::vector<RecomputedSegment>& plan, std::int64_t layers)
{
    const std::vector<int> times = recomputations(plan, layers);
    RecomputationSummary summary{.segments = static_cast<std::int64_t>(plan.size())};
    if (times.empty())
        return summary;
    summary.levels = *std::ranges::max_element(times);
    summary.factor = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(layers);
    return summary;
}

} // namespace tilescope
