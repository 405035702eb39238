#pragma once

#include "ui/charts/chart_recipe.h"

#include <QStringList>

namespace tilescope::ui {

class ChartPlot;

/// Writes a small file, whole or not at all.
/// \throws Error  it cannot be written
void writeTextFile(const QString& path, const QString& text);

/// Reads a recipe.
/// \throws Error  the file cannot be read, or is none
ChartRecipe readRecipe(const QString& path);

/// Writes a figure at its size on paper, as PDF, SVG or PNG by the name's suffix, and its caption as text
/// beside it.
/// \throws Error  it cannot be written, or the suffix is another
void writeFigure(ChartPlot& plot, const Chart& chart, const ChartRecipe& recipe, const QString& path);

/// Draws every recipe, of a chart or of timelines, from the runs of the recordings into `folder`, named after
/// the recipes: PDF, SVG, PNG and a caption, of a chart the data as CSV too. What `tilescope-gui --charts`
/// does. Every process writes the same bytes, for which hashes of this process lose their random seed.
/// \throws Error  as above, and where a recipe finds nothing to draw
void writeCharts(const QStringList& recipes, const QStringList& recordings, const QString& folder);

} // namespace tilescope::ui
