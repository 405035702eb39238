#pragma once

#include "core/analysis/stats/statistics.h"
#include "core/model/run_counts.h"

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
    bool isKey = false; ///< names the row
};

struct Table {
    std::string id = {};    ///< file name: letters, digits and dashes
    std::size_t number = 0; ///< in the document, from 1
    std::string caption = {};
    std::vector<Column> columns = {};
    std::vector<std::vector<Cell>> rows = {};
    std::vector<std::string> notes = {};
};

/// A figure that `tilescope-gui --charts` draws.
struct Figure {
    std::string id = {};
    std::size_t number = 0; ///< in the document, from 1
    std::string caption = {};
    std::string drawn = {};              ///< what was drawn, from how many samples; added once it is drawn
    std::string recipe = {};             ///< JSON
    std::vector<std::string> files = {}; ///< recordings with the runs of the figure
    std::string command = {};            ///< draws it again
    bool isTimeline = false;
};

/// A computed statement.
struct Finding {
    std::string text = {};
    std::string rule = {};                  ///< how it was computed
    std::vector<std::string> commands = {}; ///< show the data behind the statement
    bool conclusive = true;                 ///< false: the data do not support a statement; the text says why
    /// The largest factor between the two configurations that it compares, as the absolute value of its
    /// logarithm; 0 if it compares none.
    double effect = 0;
    std::string figure = {}; ///< id of the figure that shows it; empty: the first one
};

/// A caveat that a reader must know before relying on a figure.
struct Caution {
    std::string text = {};
    std::size_t runs = 0; ///< that it is about; 0: all of the study

    bool operator==(const Caution&) const = default;
};

/// `text (3 runs)`.
std::string textOf(const Caution& caution);

/// One study.
struct Section {
    std::string study = {};
    std::string title = {};
    std::string asks = {};
    std::size_t points = 0;                                        ///< of the edition that was run
    RunCounts counts = {};                                         ///< of the points that were run
    std::vector<std::string> runs = {};                            ///< uids
    std::vector<std::string> about = {};                           ///< one sentence per part
    std::vector<std::pair<std::string, std::string>> setting = {}; ///< machine, versions, clocks
    std::vector<Table> tables = {};
    std::vector<Figure> figures = {};
    std::vector<Finding> findings = {};
    std::vector<Caution> cautions = {};
};

/// A finding of the summary.
struct Highlight {
    std::size_t section = 0;
    std::size_t finding = 0; ///< within the section

    bool operator==(const Highlight&) const = default;
};

struct Document {
    std::string title = {};
    std::string author = {};
    std::string program = {};              ///< Tilescope and its version
    std::string measured = {};             ///< the days of the measurements: 2026-11-25 to 2026-11-26
    std::vector<std::string> sources = {}; ///< the recordings; without folders if anonymous
    std::vector<std::string> method = {};  ///< how the values were measured, one sentence each
    std::vector<Highlight> summary = {};   ///< the strongest findings
    std::vector<Section> sections = {};
};

/// The figure that shows a finding of the section; null if the section has none.
const Figure* figureOf(const Section& section, const Finding& finding);

} // namespace tilescope::report
