#pragma once

#include "ui/charts/chart_recipe.h"

namespace tilescope::ui {

/// A run that a chart shows, and where: a line is a facet and a series.
struct ChartPlace {
    const query::RunSummary* run = nullptr;
    double x = 0;
    QString facet, series;
};

/// The values of a key, in natural order, if one of them is a word; none if all are numbers. Runs without the key have
/// no value.
QStringList wordsAlong(const std::vector<const query::RunSummary*>& runs, const QString& key);

/// The fewest further keys that separate lines so that no line has runs of different experiments at one x.
/// Runs that differ only in how they were recorded (seed, trace, steps, …) are repeats of one experiment and
/// stay together. O(runs * keys) for each key that is returned.
QStringList separatingKeys(const std::vector<ChartPlace>& places, const QString& x);

/// One point of several repeats at one x: the mean or median of their values. Its bar covers the repeats,
/// not their steps; absent if there are too few.
ChartPoint merged(const std::vector<ChartPoint>& repeats, ChartRecipe::Centre centre, ChartRecipe::Bars bars);

/// `recipe` with x and series that suit the runs: the keys that the experiment varies. Other members are
/// kept.
ChartRecipe suggested(ChartRecipe recipe, const std::vector<const query::RunSummary*>& runs);

} // namespace tilescope::ui
