#pragma once

#include "core/analysis/time/process_steps.h"
#include "core/analysis/time/range_totals.h"
#include "core/model/topology_index.h"
#include "core/store/rows/row_inserter.h"
#include "core/store/rows/writable_file.h"
#include "core/store/tracks/call_totals_writer.h"
#include "core/store/tracks/totals.h"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilescope::store {

/// Writes the totals of a run's traced steps (`kernel_total`, `range_total`, `step_total`) and the totals by caller
/// (CallTotalsWriter). The caller passes events with texts of the file and times from the run's start: ranges in start
/// order, each before the calls within it; ops and calls in start order; device events in start order; then
/// allocations. Part of the transaction in which the run is sealed.
///
/// Memory grows with the number of names, paths, steps, waiting calls and gaps in device activity, and by 16 bytes an
/// op.
class TotalsWriter {
public:
    TotalsWriter(WritableFile& target, std::int64_t run);
    ~TotalsWriter();

    void add(const Range& range);
    void add(const Op& op);
    void add(const ApiCall& call);
    /// \param isLaunched  its launch was recorded; the time of the launch may be 0
    void add(const DeviceEvent& event, bool isLaunched);
    void add(const AllocEvent& event) { calls_.add(event); }
    void write();

private:
    struct Step {
        std::int32_t number = 0;
        ProcessIndex process = {};
        Timestamp start{}; ///< of its host range
        Timestamp end{};
    };
    struct KernelKey {
        std::uint64_t name = 0; ///< and kind
        std::uint64_t path = 0;
        bool operator==(const KernelKey&) const = default;
    };
    struct KernelHash {
        std::size_t operator()(const KernelKey& key) const noexcept
        {
            return (key.name * 0x9E37'79B9'7F4A'7C15ULL) ^ (key.path * 0xC2B2'AE3D'27D4'EB4FULL >> 7);
        }
    };

    /// Of a text of the file. Asks the database only for texts that the writer did not give.
    std::string_view text(StringId id);
    bool isStep(StringId path);
    /// Passes on the steps since the last call.
    void passSteps();
    void writeKernels();
    void writePaths();
    void writeSteps();

    WritableFile& target_;
    const std::int64_t run_;
    RowInserter kernelRows_;
    RowInserter pathRows_;
    RowInserter stepRows_;
    const TopologyIndex topology_;
    const bool wholeRecording_; ///< kernels count whether or not they belong to a step
    std::unordered_map<StringId, std::string> texts_;
    const analysis::TextOf textOf_;
    analysis::RangeTotals paths_;
    std::unordered_map<KernelKey, KernelTotal, KernelHash> kernels_;
    std::unordered_map<StringId, bool> isStep_; ///< by path
    std::vector<Step> steps_;                   ///< by start once passed on
    std::size_t passed_ = 0;                    ///< steps
    std::map<ProcessIndex, analysis::ProcessSteps> processes_;
    CallTotalsWriter calls_;
    bool onGpu_ = false;
};

} // namespace tilescope::store
