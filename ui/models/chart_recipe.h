#pragma once

#include "core/query/file_session.h"

#include <QString>
#include <QStringList>

#include <optional>
#include <vector>

namespace tilescope::ui {

/// What a chart shows and how: saved as a file, drawn by the window and without one alike.
struct ChartRecipe {
    enum class Centre { Mean, Median };
    enum class Bars { None, Deviation, Interval };
    enum class Fit { None, Linear, Quadratic, Power };

    QString title;
    QString x = QStringLiteral("seq_len");      ///< a key of the spec
    QString y = QStringLiteral("step, wall");   ///< one of quantities()
    QString series = QStringLiteral("backend"); ///< a key that tells lines apart; empty: one line
    bool logX = true;
    bool logY = true;
    Centre centre = Centre::Mean;
    Bars bars = Bars::Deviation;
    Fit fit = Fit::None;
    bool oneColumn = false; ///< 3.25 inches wide, else 6.75
    QStringList runs = {};  ///< uids of the runs that are drawn; empty: all that are given

    bool operator==(const ChartRecipe&) const = default;

    /// Quantities that can be y: step, wall; forward, wall; … peak memory.
    static QStringList quantities();
    /// As JSON text. A recipe of a newer kind or with a misspelt key is an Error that names the key.
    QString toJson() const;
    static ChartRecipe fromJson(const QByteArray& json, const QString& origin);
};

struct ChartPoint {
    double x = 0;
    double y = 0;
    std::optional<double> low = {}; ///< of its error bar
    std::optional<double> high = {};
    std::int64_t n = 0;
    QString exact; ///< with unit, for the table
};

/// y = c x^exponent, by least squares on the logarithms' scale of what it is shown on.
struct ChartFit {
    double c = 0;
    double exponent = 1;
    double r2 = 0;
    double fromX = 0; ///< the first point that it is about

    double at(double x) const;
    QString formula(const QString& x, const QString& unit) const; ///< "5.92·10⁻⁸ N² ms"
};

struct ChartSeries {
    QString name;
    std::vector<ChartPoint> points;  ///< by x
    std::vector<double> outOfMemory; ///< x of the runs that ran out of it
    std::optional<ChartFit> fit = {};
};

struct Chart {
    QString xTitle, yTitle, unit;
    std::vector<ChartSeries> series;
    QString caption;
    QString empty; ///< why there is nothing to draw; empty where there is
};

/// Makes the chart of a recipe from runs. Runs that lack x or y are left out, and the caption says how many.
/// O(runs log runs).
Chart chartOf(const ChartRecipe& recipe, const std::vector<const query::RunSummary*>& runs);

/// c of y = c x^exponent through the tail of the points (their larger half by x, two at least); the exponent
/// too where the fit is a power law. None with fewer than two points.
std::optional<ChartFit> fitOf(const std::vector<ChartPoint>& points, ChartRecipe::Fit kind);

/// Keys that differ among runs and are numbers in all of them: what can be x.
QStringList numericKeys(const std::vector<const query::RunSummary*>& runs);
/// Keys that differ among runs: what can tell series apart.
QStringList varyingKeys(const std::vector<const query::RunSummary*>& runs);

} // namespace tilescope::ui
