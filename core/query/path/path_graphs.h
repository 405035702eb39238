#pragma once

#include "core/analysis/path/recorded_graph.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/run_kernels.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_set>
#include <vector>

namespace tilescope::query {

/// Events that a graph is made of at a time: 800 MB of them.
inline constexpr std::int64_t kMostPathEvents = 4'000'000;

/// Reads the graphs of stretches of time of one run, each event once. One thread.
class PathGraphs {
public:
    /// \param reader, topology  must outlive this object
    PathGraphs(const store::RunReader& reader, RunId run, const TopologyIndex& topology);

    /// The graph of the events that overlap `time` or begin when it ends.
    /// \return  none if more than `most` ranges, ops, calls and activities do
    std::optional<analysis::RecordedGraph> within(analysis::Interval time, std::int64_t most);

    enum class Order : std::uint8_t { FirstToLast, LastToFirst };
    using Take = std::function<void(const analysis::Interval& time, const analysis::RecordedGraph& graph)>;
    /// The graph of a stretch of time, or of its parts: the stretch is halved until each part overlaps at
    /// most `most` events or is shorter than 1 ms.
    void eachPiece(analysis::Interval time, std::int64_t most, Order order, const Take& take);

private:
    /// Adds the times shortly before and after in which threads took batches: they tell how long one takes.
    void addBatchesAround(analysis::Interval time);

    const store::RunReader& reader_;
    const RunId run_;
    const TopologyIndex& topology_;
    const store::EventCounts counts_;
    const std::vector<Wait> waits_;
    const std::vector<Collective> collectives_;
    const std::unordered_set<ThreadId> computedSteps_;
    RunKernels kernels_;
    analysis::UsualLags usual_ = {};
    TraceBatch batch_; ///< keeps its memory from graph to graph
};

} // namespace tilescope::query
