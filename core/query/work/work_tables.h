#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/analysis/work/roofline.h"
#include "core/analysis/work/timed_work.h"
#include "core/analysis/work/work.h"
#include "core/query/runs/event_query.h"
#include "core/query/runs/grouping.h"
#include "core/query/runs/run_tables.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// The measured ceilings of a run's device and those of its data sheet.
struct DeviceCeilings {
    analysis::Ceilings measured = {};
    analysis::Ceilings sheet = {};
    std::string measuredFrom = {}; ///< source of the figures; without figures, the reason
    std::string sheetFrom = {};
};

/// For the precision of the run. Measured ones are those that the file has of the run's own device, the
/// latest of each kind.
/// \throws Error  from the reader
DeviceCeilings ceilingsOf(const store::RunReader& reader, const store::RunRecord& run);

/// The ceilings of a recording of another program. Its ops may differ in precision; the ceilings are those of the
/// precision of most of the arithmetic.
/// \param items  the work of the recording
/// \throws Error  from the reader
DeviceCeilings ceilingsOf(const store::RunReader& reader, const store::RunRecord& run,
                          std::span<const analysis::TimedWork> items);

/// Work and rates of one group of the traced steps.
struct RooflineRow {
    std::string key = {};
    std::string op = {};     ///< by op and by shape; unattributed if unknown
    std::string shapes = {}; ///< by shape: its arguments as recorded; empty if unknown
    analysis::KernelFamily family = analysis::KernelFamily::Other; ///< by shape
    OpId firstOp = {}; ///< number of the first op in the run; none if unknown
    std::int64_t instances = 0;
    Nanoseconds time{0};
    Nanoseconds counted{0};  ///< part of it with known work: rates are over that
    Nanoseconds inferred{0}; ///< part of `counted` of kernels without a recorded launch
    std::optional<analysis::Work> work = {};
    std::optional<analysis::RooflinePoint> measured = {};
    std::optional<analysis::RooflinePoint> sheet = {};
    std::string why = {}; ///< why a value is missing; empty if none is
};

struct RooflineTable {
    store::RunRecord run = {};
    Grouping grouping = Grouping::Family;
    std::vector<RooflineRow> rows = {}; ///< most time first
    bool fromShapes = false;            ///< else from the spec: matmuls and attention only
    bool onGpu = false;
    DeviceCeilings ceilings = {};
};

/// Why the ops of a run have no shapes, and how to get them.
std::string_view whyNoShapes(const store::RunRecord& run);

/// By family (the default), op, shape (op and arguments), range, phase or module; a range includes its children. Of another
/// program's recording the whole counts, otherwise the traced steps.
/// \throws Error  no such run; the pattern is invalid
RooflineTable roofline(const store::RunReader& reader, const EventQuery& query);

/// The utilisation of the device in one timed step.
struct MfuRow {
    RunId run = {};
    std::int32_t step = 0;
    Nanoseconds wall{0};
    std::optional<analysis::Flops> model = {};
    std::optional<analysis::Flops> hardware = {};
    std::optional<double> mfuMeasured = {}; ///< model FLOPs / (wall x measured ceiling)
    std::optional<double> mfuSheet = {};    ///< the same with the data sheet's
    std::optional<double> hfuSheet = {};    ///< hardware FLOPs instead
    std::string why = {};
};

struct MfuTable {
    std::vector<MfuRow> rows = {};          ///< by run and step
    std::vector<std::string> formulas = {}; ///< of each run that has one, with the run's number
    std::vector<store::RunRecord> runs = {};
};

/// The utilisation in the timed steps of one run or of all runs.
/// \throws Error  no such run
MfuTable mfu(const store::RunReader& reader, const EventQuery& query);

} // namespace tilescope::query
