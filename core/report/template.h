#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::report {

/// Required key values of a run: `{mode: both}`.
using Where = std::vector<std::pair<std::string, std::string>>;

/// A metric of a run, or its ratio to another.
struct Quantity {
    std::string value = {}; ///< a metric of RunFacts
    Where from = {};        ///< key values of the run
    std::string over = {};  ///< divisor, a metric; empty: no division
    /// Key values of the divisor's run, in the same row; empty: the same run. If they have every key of the rows, the run may
    /// be in another row of the part.
    Where overFrom = {};
};

struct ColumnTemplate {
    std::string heading = {};
    Quantity quantity = {};
};

/// One row for each distinct combination of the keys `rows`, in the order of the points.
struct TableTemplate {
    std::string id = {};
    std::string caption = {};
    std::string part = {};              ///< empty: all parts
    Where from = {};                    ///< only these runs
    std::vector<std::string> rows = {}; ///< keys of the spec
    std::vector<ColumnTemplate> columns = {};
    bool geometricMean = false; ///< add a last row for ratios
};

/// A chart of runs, or their timelines one above the other.
struct FigureTemplate {
    std::string id = {};
    std::string caption = {};
    std::string part = {};
    Where from = {};
    std::string x = {}, y = {}, series = {}, facet = {}, label = {}, fit = {};
    bool logX = true;
    bool logY = true;
    std::vector<Where> timelines = {}; ///< one run each, the first that was traced; empty: draw a chart
    std::string alignAt = {};          ///< of timelines: path of a range within a step; empty: the step
    bool aboutMemory = false;          ///< of timelines: whether they show memory
};

/// A statement to compute; findings.h describes the rules and their keys.
struct FindingTemplate {
    std::string rule = {};
    std::string say = {}; ///< with {placeholders} of the rule
    std::string part = {};
    Quantity quantity = {};
    std::vector<std::string> by = {}; ///< keys that distinguish the points
    std::string x = {};
    std::string series = {};
    std::string first = {}, second = {}; ///< two values of `series`
    std::string figure = {};             ///< id of the figure that shows it; empty: the first one
};

/// The content of a study's section: a file NAME.report.yaml beside the study.
struct Template {
    std::vector<TableTemplate> tables = {};
    std::vector<FigureTemplate> figures = {};
    std::vector<FindingTemplate> findings = {};
};

/// \throws Error (Environment)  the file is missing or damaged; names the place
Template loadTemplate(std::string_view study);

/// Parses a template.
/// \param origin  precedes `:line:column` in messages
Template parseTemplate(std::string_view yaml, std::string_view origin);

} // namespace tilescope::report
