#include "core/store/chunk_directory.h"

#include <algorithm>

namespace tilescope::store {

namespace {

std::vector<IdInterval> merged(std::vector<IdInterval> intervals)
{
    if (!std::ranges::is_sorted(intervals, {}, &IdInterval::first))
        std::ranges::sort(intervals, {}, &IdInterval::first);
    std::vector<IdInterval> result;
    for (const IdInterval& interval : intervals)
        if (!result.empty() && interval.first <= result.back().last + 1) {
            result.back().last = std::max(result.back().last, interval.last);
            result.back().rows += interval.rows;
        } else {
            result.push_back(interval);
        }
    return result;
}

} // namespace

void ChunkDirectory::add(std::int64_t chunk, const Entry& entry)
{
    newest_ = std::max(newest_, chunk);
    rows_ += entry.ids.rows;
    entries_.push_back(entry);
}

void ChunkDirectory::arrange()
{
    if (latestEnd_.size() == entries_.size())
        return;
    std::size_t from = latestEnd_.size();
    if (!std::ranges::is_sorted(entries_, {}, &Entry::start)) {
        std::ranges::stable_sort(entries_, {}, &Entry::start);
        from = 0;
    }
    latestEnd_.resize(entries_.size());
    for (std::size_t i = from; i < entries_.size(); ++i)
        latestEnd_[i] = i == 0 ? entries_[i].end : std::max(latestEnd_[i - 1], entries_[i].end);
}

std::vector<IdInterval> ChunkDirectory::overlapping(std::int64_t begin, std::int64_t end) const
{
    const auto behind = std::ranges::lower_bound(entries_, end, {}, &Entry::start);
    const auto first = std::ranges::lower_bound(latestEnd_, begin) - latestEnd_.begin();
    std::vector<IdInterval> found;
    for (auto entry = entries_.begin() + first; entry < behind; ++entry)
        if (entry->end >= begin)
            found.push_back(entry->ids);
    return merged(std::move(found));
}

std::vector<IdInterval> ChunkDirectory::all() const
{
    std::vector<IdInterval> found;
    found.reserve(entries_.size());
    for (const Entry& entry : entries_)
        found.push_back(entry.ids);
    return merged(std::move(found));
}

} // namespace tilescope::store
