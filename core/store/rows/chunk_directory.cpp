#include "core/store/rows/chunk_directory.h"

#include <algorithm>

namespace tilescope::store {

namespace {

void join(IdInterval& interval, const IdInterval& next)
{
    interval.last = std::max(interval.last, next.last);
    interval.rows += next.rows;
    interval.sum += next.sum;
}

/// In id order, neighbours made one.
std::vector<IdInterval> joined(std::vector<IdInterval> intervals)
{
    if (!std::ranges::is_sorted(intervals, {}, &IdInterval::first))
        std::ranges::sort(intervals, {}, &IdInterval::first);
    std::vector<IdInterval> result;
    for (const IdInterval& interval : intervals)
        if (!result.empty() && interval.first - 1 <= result.back().last)
            join(result.back(), interval);
        else
            result.push_back(interval);
    return result;
}

} // namespace

void ChunkDirectory::add(const Chunk& chunk)
{
    newest_ = std::max(newest_, chunk.id);
    rows_ += chunk.rows;
    chunks_.push_back({{chunk.first, chunk.last, chunk.rows, chunk.sum}, chunk.start, chunk.end});
    arranged_ = false;
}

void ChunkDirectory::arrange()
{
    if (arranged_)
        return;
    arranged_ = true;
    std::ranges::stable_sort(chunks_, {}, firstId);
    groups_.clear();
    for (const Entry& chunk : chunks_) {
        if (groups_.empty() || chunk.ids.first > groups_.back().ids.last) {
            groups_.push_back(chunk);
            continue;
        }
        Entry& group = groups_.back();
        join(group.ids, chunk.ids);
        group.start = std::min(group.start, chunk.start);
        group.end = std::max(group.end, chunk.end);
    }
    std::ranges::stable_sort(groups_, {}, &Entry::start);
    latestEnd_.resize(groups_.size());
    for (std::size_t i = 0; i < groups_.size(); ++i)
        latestEnd_[i] = i == 0 ? groups_[i].end : std::max(latestEnd_[i - 1], groups_[i].end);
}

std::vector<IdInterval> ChunkDirectory::overlapping(std::int64_t begin, std::int64_t end) const
{
    const auto behind = std::ranges::lower_bound(groups_, end, {}, &Entry::start);
    const auto first = std::ranges::lower_bound(latestEnd_, begin) - latestEnd_.begin();
    std::vector<IdInterval> found;
    for (auto group = groups_.begin() + first; group < behind; ++group)
        if (group->end >= begin)
            found.push_back(group->ids);
    return joined(std::move(found));
}

std::vector<IdInterval> ChunkDirectory::all() const
{
    std::vector<IdInterval> found;
    found.reserve(groups_.size());
    for (const Entry& group : groups_)
        found.push_back(group.ids);
    return joined(std::move(found));
}

std::optional<IdInterval> ChunkDirectory::around(std::int64_t id) const
{
    const auto group = std::ranges::find_if(
        groups_, [id](const Entry& entry) { return entry.ids.first <= id && id <= entry.ids.last; });
    return group == groups_.end() ? std::nullopt : std::optional(group->ids);
}

} // namespace tilescope::store
