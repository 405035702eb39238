#pragma once

#include "core/analysis/path/launch_lag.h"
#include "core/analysis/path/recorded_graph.h"
#include "core/analysis/time/data_loading.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/run_kernels.h"
#include "core/store/run_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tilescope::query {

/// Events that a graph is made of at a time: 800 MB of them.
inline constexpr std::int64_t kMostPathEvents = 4'000'000;

/// Records with a start and an end, for those that overlap a time.
template <class Record> class ByTime {
public:
    explicit ByTime(std::vector<Record> records) : records_(std::move(records)), byStart_(records_.size())
    {
        std::iota(byStart_.begin(), byStart_.end(), std::size_t{0});
        std::ranges::stable_sort(byStart_, {}, [this](std::size_t each) { return records_[each].start; });
        for (const Record& record : records_)
            longest_ = std::max(longest_, record.end - record.start);
    }

    /// Replaces `list` by the records that begin before the end of `time` and do not end before it, in the order in which they were
    /// given. O(log n), and those that begin within it or, before it, within the length of the longest record.
    void copyWithin(const analysis::Interval& time, std::vector<Record>& list) const
    {
        const auto startOf = [this](std::size_t each) { return records_[each].start; };
        std::vector<std::size_t> found;
        for (auto each = std::ranges::lower_bound(byStart_, time.start - longest_, {}, startOf);
             each != byStart_.end() && startOf(*each) < time.end; ++each)
            if (records_[*each].end >= time.start)
                found.push_back(*each);
        std::ranges::sort(found);
        list.clear();
        for (const std::size_t each : found)
            list.push_back(records_[each]);
    }

private:
    std::vector<Record> records_;
    std::vector<std::size_t> byStart_; ///< indices
    Nanoseconds longest_{0};
};

/// What a run usually needs, read from events anywhere in it. Any thread.
class UsualTimes {
public:
    UsualTimes(const store::RunReader& reader, RunId run, const TopologyIndex& topology);

    /// From its first activities.
    const analysis::UsualLags& lags() const { return lags_; }
    /// The shortest time in which a thread fetched a batch from DataLoader processes, in the whole run: that of a batch that was ready. A
    /// part of the run may only have batches that were waited for. The first call reads the run, later ones return its result.
    /// \param reader, names  those of the calling thread
    Nanoseconds shortestBatchFetch(const store::RunReader& reader, analysis::DataNames& names) const;

private:
    const RunId run_;
    analysis::UsualLags lags_;
    mutable std::once_flag isRead_;
    mutable Nanoseconds shortestBatchFetch_{};
};

/// Reads the graphs of stretches of time of one run, each event once. One thread.
class PathGraphs {
public:
    /// \param reader, topology, usual  of this run; must outlive this object
    PathGraphs(const store::RunReader& reader, RunId run, const TopologyIndex& topology,
               const UsualTimes& usual);

    /// The graph of the events that overlap `time` or begin when it ends.
    /// \return  none if more than `most` ranges, ops, calls and activities do
    std::optional<analysis::RecordedGraph> within(analysis::Interval time, std::int64_t most);

    enum class Order : std::uint8_t { FirstToLast, LastToFirst };
    using Take = std::function<void(const analysis::Interval& time, const analysis::RecordedGraph& graph)>;
    /// The graph of a stretch of time, or of its parts: the stretch is halved until each part overlaps at
    /// most `most` events or is shorter than 1 ms.
    void eachPiece(analysis::Interval time, std::int64_t most, Order order, const Take& take);

private:
    /// Adds the fetches of batches shortly before and after `time`, from which the time to load one is estimated.
    void addBatchesAround(analysis::Interval time);

    const store::RunReader& reader_;
    const RunId run_;
    const TopologyIndex& topology_;
    const store::EventCounts counts_;
    const ByTime<Wait> waits_;
    const ByTime<Collective> collectives_;
    const std::unordered_set<ThreadId> computedSteps_;
    RunKernels kernels_;
    const UsualTimes& usual_;
    std::optional<Nanoseconds> shortestBatchFetch_; ///< none: not asked for yet
    analysis::DataNames names_;
    TraceBatch batch_; ///< keeps its memory from graph to graph
};

} // namespace tilescope::query
