#pragma once

#include "core/query/file_session.h"

#include <QString>
#include <QStringList>

#include <optional>
#include <string>
#include <vector>

namespace tilescope::ui {

/// The size of a figure on paper and of its text.
struct ChartPaper {
    double width = 6.75; ///< inches
    double height = 3.9;
    double text = 8; ///< points

    bool operator==(const ChartPaper&) const = default;
};

/// The content and appearance of a chart. Saved as a file; drawn equally with and without a window.
struct ChartRecipe {
    enum class Axis { Linear, Log2, Log10 };
    enum class Centre { Mean, Median };
    enum class Bars { None, Deviation, Interval };
    enum class Fit { None, Linear, Quadratic, Power };
    enum class Palette { ColourBlind, OkabeIto, Grey };

    QString title;
    QString x = QStringLiteral("seq_len"); ///< a key of the spec, with numbers or words, one of quantities(),
                                           ///< position() or stepNumber()
    QString y = QStringLiteral("step, wall");   ///< one of quantities()
    QString series = QStringLiteral("backend"); ///< the key that separates lines; empty: one line
    QString facet;                              ///< the key that separates panels; empty: one panel
    QString label;  ///< a key whose value is written beside each point; empty: none
    QString filter; ///< words that runs must have: precision=bf16, d_head=64,128, or a value of any key
    Axis xAxis = Axis::Log2;
    Axis yAxis = Axis::Log10;
    Centre centre = Centre::Median;
    Bars bars = Bars::Interval; ///< what belongs to the centre is drawn: a deviation about the mean only
    Fit fit = Fit::None;
    bool formula = true;     ///< written along its fit
    bool outOfMemory = true; ///< marked at the top
    bool grid = true;
    ChartPaper paper = {};
    Palette palette = Palette::ColourBlind;
    bool dashes = false;   ///< lines differ by their dashes too
    QStringList runs = {}; ///< uids of the runs that are drawn; empty: all that are given

    bool operator==(const ChartRecipe&) const = default;

    /// Quantities that can be y: step, wall; forward, wall; … peak memory.
    static QStringList quantities();
    /// x of the tokens of runs of mode generate: the tokens of a sequence before each, prompt included.
    static QString position();
    /// x of the typical steps of recordings and imports: their numbers.
    static QString stepNumber();
    /// Whether each run has a point for each of its steps or tokens, not one of all.
    bool isWithinRuns() const { return x == position() || x == stepNumber(); }
    /// The scale of x if it is a number: those of steps begin with 0 and have a linear one.
    Axis scaleOfX() const { return x == stepNumber() ? Axis::Linear : xAxis; }
    /// Papers that figures are usually made for, by name.
    static const std::vector<std::pair<QString, ChartPaper>>& papers();
    /// The recipe as JSON text. Reading a recipe of a newer kind or with a misspelt key throws an Error that names the key.
    QString toJson() const;
    /// The recipe as JSON on one line, without keys that have their default.
    QString toLine() const;
    static ChartRecipe fromJson(const QByteArray& json, const QString& origin);
};

struct ChartPoint {
    double x = 0;
    double y = 0;
    std::optional<double> low = {}; ///< of its error bar
    std::optional<double> high = {};
    std::int64_t n = 0;    ///< samples
    std::int64_t runs = 1; ///< repeats that it is the mean or median of
    bool isTraced = false; ///< the mean traced step of a recording or an import, which has no samples
    QString exact;         ///< with unit, for the table
    QString label = {};
    std::string uid = {}; ///< of its run; of the first one of repeats
};

/// A fit with a lower R² is not drawn.
inline constexpr double kLeastR2 = 0.8;

/// y = c x^exponent, fitted by least squares on logarithms.
struct ChartFit {
    double c = 0;
    double exponent = 1;
    double r2 = 0;
    double fromX = 0; ///< the first point that it is about

    double at(double x) const;
    QString formula(const QString& x, const QString& unit) const; ///< "5.92·10⁻⁸ N² ms"
    double spread = 0; ///< of c: its standard error as a share of it; 0 with two points
};

struct ChartSeries {
    QString name;
    QString facet;
    std::vector<ChartPoint> points;      ///< by x
    std::vector<ChartPoint> outOfMemory; ///< runs that ran out of it, without y; one for each x
    std::optional<ChartFit> fit = {};
};

struct Chart {
    QString xTitle, yTitle, unit;
    QString xWord;     ///< in formulas: N
    QStringList words; ///< values of x, if they are not all numbers: the x of points are positions among them
    std::vector<ChartSeries> series; ///< by facet, then by name
    QStringList names;               ///< of the series: one colour each, whatever the facet
    QStringList facets;              ///< values of the facets' key; one empty one without
    QString facetKey;
    QStringList separatedBy; ///< keys besides the recipe's series that separate lines, so that no line has
                             ///< two points at one x
    QString caption;
    QString empty; ///< why there is nothing to draw; empty if there is something
};

/// Makes the chart of a recipe from runs. Draws the runs that pass the filter; those without x or y are
/// omitted, and the caption gives their number. A line has at most one point per x: different experiments at
/// one x become separate lines, repeats of one experiment become one point.
/// \param machine  the machine of the runs, for the caption
/// O(runs log runs).
Chart chartOf(const ChartRecipe& recipe, const std::vector<const query::RunSummary*>& runs,
              const QString& machine = {});

/// The machine of runs in a caption's words: device, driver, CUDA, PyTorch, Tilescope; each once.
QString machineWords(const std::vector<query::EnvironmentTable>& environments);

/// Whether a run has every word of a recipe's filter.
bool hasWords(const query::RunSummary& run, const QString& filter);

/// c of y = c x^exponent through the tail of the points (their larger half by x, at least two); also the
/// exponent if the fit is a power law. None with fewer than two points, and if R² is below kLeastR2: such a line says
/// nothing about the points.
std::optional<ChartFit> fitOf(const std::vector<ChartPoint>& points, ChartRecipe::Fit kind);

/// The quantities that at least one of the runs has, as ChartRecipe::quantities() names them.
QStringList quantitiesOf(const std::vector<const query::RunSummary*>& runs);
/// Keys that differ among runs and are numbers in all of them.
QStringList numericKeys(const std::vector<const query::RunSummary*>& runs);
/// Keys that differ among runs, or that some of them lack: the choices for x and for series.
QStringList varyingKeys(const std::vector<const query::RunSummary*>& runs);

} // namespace tilescope::ui
