#pragma once

#include "ui/kernels/inside_reading.h"
#include "ui/kit/table_model.h"

#include <QString>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilescope::ui {

/// "train.py:12": without the folder; of no line, the file alone.
QString placeText(const SourceLine& line);
/// The hue of a state of the warps.
query::Hue hueOfState(const std::string& reason);
/// "waits at a barrier", with the name of other tools in parentheses.
QString stateText(const std::string& reason);

/// What is shown of a kernel.
struct InsideChoice {
    std::string kernel;                    ///< full name
    std::string file;                      ///< whose lines are shown
    bool isUnissued = false;               ///< count only the samples at which no warp issued
    std::set<std::uint32_t> unfolded = {}; ///< lines whose inlined lines have rows of their own
};

/// A line of the shown file with its samples, or one that is inlined there.
struct InsideSourceRow {
    SourceLine line = {};
    QString text = {};
    std::vector<query::InsidePart> parts = {};
    double count = 0;                  ///< samples, as chosen
    std::optional<double> change = {}; ///< ns a launch, to the run before
    std::optional<double> before = {}; ///< ns a launch there
    std::optional<double> time = {};   ///< ns a launch
    std::size_t inlined = 0;           ///< lines that are inlined here
    double inlinedCount = 0;           ///< their samples
    QString inlinedNames = {};
    bool isInlined = false;
    bool isFolded = false; ///< it holds the samples of the inlined lines
};

/// The files of a kernel's lines, the one with the most samples first.
std::vector<std::string> filesOf(const InsideReading& reading, const std::string& kernel);

/// The lines of the chosen file: those around sampled lines, all of them if the text is known.
std::vector<InsideSourceRow> sourceLinesOf(const InsideReadings& readings, const InsideChoice& choice);
/// The rows' ids are their indices.
TableData sourceRows(const std::vector<InsideSourceRow>& lines, double whole, bool isCompared);

/// The lines of a kernel, of all its files, with the most samples first. The id is the place in reading.lines.
TableData hotRows(const InsideReading& reading, const InsideChoice& choice);
/// The states of the warps of a kernel.
TableData stateRows(const InsideReadings& readings, const InsideChoice& choice);
/// The sampled instructions of a kernel; equal ones of a line in a row are one. With the shares of those that are like them
/// in the run before.
/// \param line  only those of this line, also of what is inlined there; none: all
TableData instructionRows(const InsideReadings& readings, const InsideChoice& choice,
                          const std::optional<SourceLine>& line);

/// A figure of a kernel, with that of the run before.
struct InsideFigure {
    QString title;
    QString value = {}; ///< empty: unknown
    QString unit = {};
    QString detail = {};
    QString before = {};
    QString tip = {};
};
/// \param letter  of the run before; empty: there is none
std::vector<InsideFigure> insideFigures(const InsideReadings& readings, const std::string& kernel,
                                        const QString& letter);

} // namespace tilescope::ui
