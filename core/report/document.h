#pragma once

#include "core/analysis/stats/statistics.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::report {

// The content of a report, independent of its format. Plain values; texts are unescaped, each writer escapes
// them for its format.

/// One field of a table.
struct Cell {
    enum class Kind {
        Text,
        Number,
        Missing,     ///< not run or not measured
        OutOfMemory, ///< ran out of memory; a result
        Skipped,     ///< not supported by the device; a result
        Failed
    };
    Kind kind = Kind::Text;
    std::string text = {};            ///< `12.3 ± 0.4`, `OOM`; ± is half the interval
    std::optional<double> value = {}; ///< of a Number: in the unit Column::baseUnit
    std::optional<analysis::ConfidenceInterval> interval = {}; ///< 95 %, of a median
    std::optional<std::int64_t> n = {};                        ///< number of samples behind the value
    std::optional<std::size_t> note = {};                      ///< index of a note under the table
};

struct Column {
    std::string heading = {};
    std::string unit = {};     ///< of its numbers as text; empty for plain numbers and texts
    std::string baseUnit = {}; ///< of Cell::value: ms, B, 1, %
    bool numeric = true;
};

struct Table {
    std::string id = {}; ///< file name: letters, digits and dashes
    std::string caption = {};
    std::vector<Column> columns = {};
    std::vector<std::vector<Cell>> rows = {};
    std::vector<std::string> notes = {};
};

/// A figure that `tilescope-gui --charts` draws.
struct Figure {
    std::string id = {};
    std::string caption = {};
    std::string recipe = {};             ///< JSON
    std::vector<std::string> files = {}; ///< recordings with the runs of the figure
};

/// A computed statement.
struct Finding {
    std::string text = {};
    std::string rule = {};    ///< how it was computed
    std::string command = {}; ///< shows the data behind the statement
};

/// A caveat that a reader must know before relying on a figure.
using Caution = std::string;

/// How many points of a study have which result.
struct PointCounts {
    std::size_t points = 0; ///< of the edition that was run
    std::size_t ok = 0;
    std::size_t outOfMemory = 0;
    std::size_t skipped = 0;
    std::size_t failed = 0; ///< error, cancelled or interrupted
};

/// One study.
struct Section {
    std::string study = {};
    std::string title = {};
    std::string asks = {};
    PointCounts counts = {};
    std::vector<std::string> runs = {};                            ///< uids
    std::vector<std::string> about = {};                           ///< one sentence per part
    std::vector<std::pair<std::string, std::string>> setting = {}; ///< machine, versions, clocks
    std::vector<Table> tables = {};
    std::vector<Figure> figures = {};
    std::vector<Finding> findings = {};
    std::vector<Caution> cautions = {};
};

struct Document {
    std::string title = {};
    std::string program = {};              ///< Tilescope and its version
    std::vector<std::string> sources = {}; ///< the recordings; without folders if anonymous
    std::vector<Section> sections = {};
};

} // namespace tilescope::report
