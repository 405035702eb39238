#include "core/query/timeline/timeline_search.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace tilescope::query {

namespace {

std::string lowered(std::string_view text)
{
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    return result;
}

// Orders a heap that keeps the longest items: its top is the shortest one kept.
struct Shorter {
    bool operator()(const FoundItem& a, const FoundItem& b) const
    {
        return a.length != b.length ? a.length > b.length : a.start < b.start;
    }
};

std::int64_t* countFor(SearchResult& result, Lane::Kind kind)
{
    switch (kind) {
    case Lane::Kind::Stream:
        return &result.kernels;
    case Lane::Kind::Thread:
        return &result.ops;
    case Lane::Kind::Ranges:
        return &result.ranges;
    case Lane::Kind::Frames:
        return &result.frames;
    case Lane::Kind::Busy:
    case Lane::Kind::Memory:
    case Lane::Kind::Counter:
        return nullptr;
    }
    return nullptr;
}

} // namespace

SearchResult search(const Timeline& timeline, std::string_view text, const std::function<bool()>& cancelled)
{
    SearchResult result;
    const std::string wanted = lowered(text);
    if (wanted.empty())
        return result;
    std::vector<bool> matches(timeline.names.size());
    for (std::size_t i = 0; i < matches.size(); ++i)
        matches[i] = lowered(timeline.names[i].text).find(wanted) != std::string::npos ||
                     lowered(timeline.names[i].label).find(wanted) != std::string::npos;
    for (std::size_t l = 0; l < timeline.lanes.size(); ++l) {
        const Lane& lane = timeline.lanes[l];
        std::int64_t* count = countFor(result, lane.kind);
        for (std::size_t r = 0; count != nullptr && r < lane.rows.size(); ++r) {
            if (cancelled())
                return {};
            const Track& row = lane.rows[r];
            for (std::size_t i = 0; i < row.size(); ++i) {
                if (!matches[row.name(i)])
                    continue;
                ++*count;
                const FoundItem found{{l, r, i}, row.start(i), row.length(i)};
                if (result.items.size() == SearchResult::kMostFound) {
                    if (!Shorter{}(found, result.items.front()))
                        continue;
                    std::pop_heap(result.items.begin(), result.items.end(), Shorter{});
                    result.items.pop_back();
                }
                result.items.push_back(found);
                std::push_heap(result.items.begin(), result.items.end(), Shorter{});
            }
        }
    }
    std::sort(result.items.begin(), result.items.end(), Shorter{});
    return result;
}

} // namespace tilescope::query
