#pragma once

#include "core/predict/predict_time.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tilescope::bench {

/// A recorded point: its spec, its measured time and memory, and the work of its steps.
struct RecordedRow {
    std::string study;
    std::string size; ///< width of a model, length of attention
    std::string kind; ///< lm bf16, naive fp32 graph
    ExperimentSpec spec;
    std::optional<double> measuredMs = {}; ///< none: it ran out of memory
    std::vector<predict::PhaseWork> work = {};
};

struct RecordedRows {
    std::vector<RecordedRow> rows;
    predict::TargetDevice device;
    predict::DeviceRates rates; ///< of the calibration that belongs to them
};

/// The rows that `tests/bench/predict/run -o` wrote, in their order.
/// \throws Error  the file cannot be read, or has no calibration
RecordedRows recordedRows(const std::filesystem::path& results);

} // namespace tilescope::bench
