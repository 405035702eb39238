#pragma once

#include "ui/charts/chart_recipe.h"

#include <QStringList>

namespace tilescope::ui {

class ChartPlot;

/// Writes a small file, whole or not at all.
/// \throws Error  it cannot be written
void writeTextFile(const QString& path, const QString& text);

/// The text of a caption file: a line about what was drawn, and one about the machine, which a report states
/// elsewhere.
QString captionWithMachine(const QString& caption, const QString& machine);

/// Reads a recipe.
/// \throws Error  the file cannot be read, or is none
ChartRecipe readRecipe(const QString& path);

/// Writes a figure at its size on paper, as PDF, SVG or PNG according to the suffix, and its caption as a
/// text file beside it.
/// \throws Error  it cannot be written, or the suffix is unknown
void writeFigure(ChartPlot& plot, const Chart& chart, const ChartRecipe& recipe, const QString& path);

/// Implements `tilescope-gui --charts`: draws every recipe, of a chart or of timelines, from the runs of the
/// recordings into `folder`. Writes PDF, SVG, PNG and a caption, and for charts the data as CSV. Files are
/// named after the recipes, or "chart" if a recipe is given as JSON text. Disables the random seed of hashes
/// in this process, so that output is reproducible.
/// \throws Error  as above, or a recipe has nothing to draw
void writeCharts(const QStringList& recipes, const QStringList& recordings, const QString& folder);

} // namespace tilescope::ui
