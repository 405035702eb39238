#pragma once

#include "core/analysis/work/op_totals.h"
#include "core/model/events.h"
#include "core/model/topology_index.h"
#include "core/store/rows/writable_file.h"
#include "core/store/tracks/call_totals.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tilescope::store {

/// Sums a recording by caller (CallTotals) and writes `op_total`, `activity_total` and `allocation_total`.
///
/// The caller passes ops in start order, then device events, then allocations, with texts of the file. Writes nothing
/// for a recording without repetition, or one whose ops a reader would order differently. Memory: 16 bytes for each
/// op, and the totals.
class CallTotalsWriter {
public:
    /// More totals of one kind than this hold no repetition worth storing. The same calls of two processes are two totals, so
    /// a run of many processes may have more.
    static constexpr std::size_t kMostTotals = 1U << 17;
    static constexpr std::size_t kMostOfProcess = 1U << 10;

    /// \param topology  kept by the caller
    CallTotalsWriter(WritableFile& target, std::int64_t run, const TopologyIndex& topology);
    ~CallTotalsWriter();

    void add(const Op& op);
    /// \param isLaunched  its launch was recorded; the time of the launch may be 0
    void add(const DeviceEvent& event, bool isLaunched);
    /// Of an action Alloc.
    void add(const AllocEvent& event);
    void write();

private:
    static constexpr std::uint32_t kMostOps = 1U << 28; ///< numbers of a damaged file
    static constexpr std::uint32_t kDeepest = 250;      ///< ops within each other

    /// An op of the recording, by OpId.
    struct OpState {
        std::uint32_t total = kNoOpCall;
        OpId caller = {};
        std::int32_t step = kNoStep;
        bool launches = false;
        bool callsItsName = false; ///< an op of the same name with arguments is within it
    };
    struct Keys;

    void takeTogether();
    void take(const Op& op);
    /// \return  whether the op is known; otherwise it must not arrive later
    bool isKnown(OpId op);
    /// The calls that an activity or allocation of this op belongs to, or kNoOpCall. Takes the ops that wait.
    /// \return  null if the totals were given up
    std::optional<std::uint32_t> totalOf(OpId op);
    void noteLaunch(OpId op, std::int32_t step);
    void noteReplay(const DeviceEvent& event, ProcessIndex process, bool isLaunched);
    void finish();
    void weighSteps();
    void giveUp();
    void writeOps();
    void writeActivities();
    void writeAllocations();

    WritableFile& target_;
    const std::int64_t run_;
    const TopologyIndex& topology_;
    const std::size_t mostTotals_;
    CallTotals totals_;
    std::unique_ptr<Keys> keys_; ///< none: given up
    std::vector<std::uint32_t> depths_;
    std::vector<std::int64_t> callsOfItsName_; ///< by index of CallTotals::ops
    std::vector<OpState> ops_;
    std::vector<Op> together_; ///< that start at one instant
    analysis::OpTotals selfTimes_;
    std::unordered_set<std::uint32_t> awaited_; ///< ops that others named and that are not known
    /// Of kernels outside CUDA graphs: bits by process and the upper half of the number. A recording has few such halves,
    /// wherever its numbers begin.
    std::unordered_map<std::uint64_t, std::vector<bool>> correlations_;
    bool countsWork_ = true;
    bool knowsSteps_ = true; ///< of activities
    bool knowsOpSteps_ = true;
};

} // namespace tilescope::store
