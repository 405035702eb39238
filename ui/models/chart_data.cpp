// The values of a chart: from runs and a recipe to points, fits and a caption.

#include "ui/models/chart_recipe.h"
#include "ui/plots/number_text.h"

#include <QCollator>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

namespace tilescope::ui {

namespace {

QString text(std::string_view view)
{
    return QString::fromUtf8(view.data(), qsizetype(view.size()));
}

std::optional<double> numberOf(std::string_view value)
{
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    return error == std::errc() && end == value.data() + value.size() ? std::optional(number) : std::nullopt;
}

std::optional<Phase> phaseOf(const QString& word)
{
    const std::pair<const char*, Phase> phases[] = {{"step", Phase::Step},
                                                    {"forward", Phase::Forward},
                                                    {"backward", Phase::Backward},
                                                    {"optimizer", Phase::Optimizer}};
    for (const auto& [name, phase] : phases)
        if (word == QLatin1String(name))
            return phase;
    return {};
}

// As axes and captions call it: the wall's clock goes without saying.
QString wordsOf(const QString& quantity)
{
    const qsizetype comma = quantity.indexOf(QStringLiteral(", "));
    if (comma < 0)
        return quantity;
    const QString clock = quantity.mid(comma + 2);
    return quantity.left(comma) +
           (clock == QLatin1String("wall") ? QStringLiteral(" time") : QStringLiteral(" %1 time").arg(clock));
}

// The same of what lies along x: a quantity, or a key of the spec.
QString wordsOfX(const QString& x)
{
    if (ChartRecipe::quantities().contains(x))
        return wordsOf(x);
    return x == QLatin1String("seq_len") ? QStringLiteral("sequence length N")
                                         : QString(x).replace(QLatin1Char('_'), QLatin1Char(' '));
}

bool isMemory(const QString& quantity)
{
    return quantity.contains(QLatin1String("memory"));
}

// Times in ns, memory in bytes; what the statistic does not have stays away.
std::optional<ChartPoint> valueOf(const query::RunSummary& run, const QString& quantity,
                                  const ChartRecipe& recipe)
{
    ChartPoint point;
    if (isMemory(quantity)) {
        const auto& bytes =
            quantity == QLatin1String("peak memory") ? run.result.peakAllocated : run.result.beforeBackward;
        if (!bytes)
            return {};
        point.y = double(bytes->count);
        point.n = 1;
        return point;
    }
    const QStringList words = quantity.split(QStringLiteral(", "));
    const std::optional<Phase> phase = phaseOf(words.value(0));
    for (const query::PhaseTimes& times : run.phases) {
        if (times.phase != phase)
            continue;
        const auto& statistics = words.value(1) == QLatin1String("GPU") ? times.gpuMs : times.wallMs;
        if (!statistics)
            return {};
        constexpr double kMs = 1e6;
        point.n = statistics->n;
        point.y = kMs * (recipe.centre == ChartRecipe::Centre::Mean ? statistics->mean : statistics->median);
        if (recipe.bars == ChartRecipe::Bars::Deviation && statistics->standardDeviation) {
            point.low = point.y - kMs * *statistics->standardDeviation;
            point.high = point.y + kMs * *statistics->standardDeviation;
        } else if (recipe.bars == ChartRecipe::Bars::Interval && statistics->ci95) {
            point.low = kMs * statistics->ci95->low;
            point.high = kMs * statistics->ci95->high;
        }
        return point;
    }
    return {};
}

// Those that the recipe names; all where it names none.
std::vector<const query::RunSummary*> namedRuns(const ChartRecipe& recipe,
                                                std::vector<const query::RunSummary*> runs)
{
    if (!recipe.runs.isEmpty())
        std::erase_if(runs, [&recipe](const query::RunSummary* run) {
            return !recipe.runs.contains(QString::fromStdString(run->uid));
        });
    return runs;
}

// Where a run lies along x: the value of a key, or of a quantity.
std::optional<double> placeOf(const query::RunSummary& run, const ChartRecipe& recipe)
{
    if (!ChartRecipe::quantities().contains(recipe.x))
        return numberOf(run.param(recipe.x.toStdString()));
    const std::optional<ChartPoint> point = valueOf(run, recipe.x, recipe);
    return point ? std::optional(point->y) : std::nullopt;
}

// A quantity along x has one unit too.
void scaleX(Chart& chart, const QString& quantity)
{
    std::vector<double> values;
    for (const ChartSeries& series : chart.series)
        for (const ChartPoint& point : series.points)
            values.push_back(point.x);
    const Unit unit = columnUnit(values, isMemory(quantity) ? byteUnit : timeUnit);
    for (ChartSeries& series : chart.series)
        for (ChartPoint& point : series.points)
            point.x /= unit.size;
    chart.xTitle = QStringLiteral("%1, %2").arg(wordsOf(quantity), QString::fromUtf8(unit.word));
}

// One unit for all points: that of the median.
void scale(Chart& chart, bool memory)
{
    std::vector<double> values;
    for (const ChartSeries& series : chart.series)
        for (const ChartPoint& point : series.points)
            values.push_back(point.y);
    const Unit unit = columnUnit(values, memory ? byteUnit : timeUnit);
    chart.unit = QString::fromUtf8(unit.word);
    for (ChartSeries& series : chart.series) {
        for (ChartPoint& point : series.points) {
            point.exact =
                memory ? withUnit(wholeNumber(std::int64_t(point.y)), "B") : exactTime(std::int64_t(point.y));
            point.y /= unit.size;
            if (point.low)
                point.low = *point.low / unit.size;
            if (point.high)
                point.high = *point.high / unit.size;
        }
    }
}

struct Drawn {
    std::vector<const query::RunSummary*> runs;
    std::int64_t leastN = 0; ///< samples behind a point
    std::int64_t mostN = 0;
    int leftOut = 0;
    bool outOfMemory = false;

    void add(std::int64_t n)
    {
        leastN = leastN == 0 ? n : std::min(leastN, n);
        mostN = std::max(mostN, n);
    }
};

QString statisticsWords(const ChartRecipe& recipe, const Drawn& drawn)
{
    QString words =
        recipe.centre == ChartRecipe::Centre::Mean ? QStringLiteral("Means") : QStringLiteral("Medians");
    words += drawn.leastN == drawn.mostN
                 ? QStringLiteral(" of %1 timed steps").arg(drawn.mostN)
                 : QStringLiteral(" of %1 to %2 timed steps").arg(drawn.leastN).arg(drawn.mostN);
    if (recipe.bars == ChartRecipe::Bars::Deviation)
        words += QStringLiteral("; bars: standard deviation");
    else if (recipe.bars == ChartRecipe::Bars::Interval)
        words += QStringLiteral("; bars: 95 % interval of the median");
    return words + QStringLiteral(". ");
}

QString fitWords(ChartRecipe::Fit fit)
{
    const QString law = fit == ChartRecipe::Fit::Linear      ? QStringLiteral("c·x")
                        : fit == ChartRecipe::Fit::Quadratic ? QStringLiteral("c·x²")
                                                             : QStringLiteral("c·x^p");
    return QStringLiteral(
               "Dashed lines: least-squares fits of %1 to the larger half of the points, on logarithms. ")
        .arg(law);
}

QString captionOf(const ChartRecipe& recipe, const Drawn& drawn, const QString& machine)
{
    QString caption = QStringLiteral("%1 against %2").arg(wordsOf(recipe.y), wordsOfX(recipe.x));
    caption[0] = caption[0].toUpper();
    if (!recipe.series.isEmpty())
        caption += QStringLiteral(" by %1").arg(recipe.series);
    if (!recipe.facet.isEmpty())
        caption += QStringLiteral(", a panel for each %1").arg(recipe.facet);
    caption += QStringLiteral(". ");
    if (!isMemory(recipe.y) && drawn.mostN > 0)
        caption += statisticsWords(recipe, drawn);
    QStringList same;
    for (const char* key : {"workload", "precision", "batch", "heads", "d_head", "causal", "mode", "size"}) {
        std::set<QString> values;
        for (const query::RunSummary* run : drawn.runs)
            values.insert(key == std::string_view("workload") ? QString::fromStdString(run->workload)
                                                              : text(run->param(key)));
        if (values.size() == 1 && !values.begin()->isEmpty())
            same << QStringLiteral("%1 %2").arg(QLatin1String(key), *values.begin());
    }
    if (!same.isEmpty())
        caption += QStringLiteral("All: %1. ").arg(same.join(QStringLiteral(", ")));
    if (recipe.fit != ChartRecipe::Fit::None)
        caption += fitWords(recipe.fit);
    if (drawn.outOfMemory && recipe.outOfMemory)
        caption += QStringLiteral("Open triangles at the top: out of memory. ");
    if (drawn.leftOut > 0)
        caption += QStringLiteral("%1 runs lack %2 or %3 and are left out. ")
                       .arg(drawn.leftOut)
                       .arg(recipe.x, recipe.y);
    if (!machine.isEmpty())
        caption += machine + QStringLiteral(". ");
    if (!recipe.filter.isEmpty())
        caption += QStringLiteral("Query: %1.").arg(recipe.filter.simplified());
    return caption.trimmed();
}

// 9 before 10, words by the alphabet.
void sortNaturally(QStringList& words)
{
    QCollator order;
    order.setNumericMode(true);
    std::sort(words.begin(), words.end(),
              [&order](const QString& a, const QString& b) { return order.compare(a, b) < 0; });
}

} // namespace

double ChartFit::at(double x) const
{
    return c * std::pow(x, exponent);
}

QString ChartFit::formula(const QString& x, const QString& unit) const
{
    static const QString kSuper = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    const auto raised = [](int number) {
        QString text = number < 0 ? QStringLiteral("⁻") : QString();
        for (const QChar digit : QString::number(std::abs(number)))
            text += kSuper[digit.digitValue()];
        return text;
    };
    const int power = c > 0 ? int(std::floor(std::log10(c))) : 0;
    QString text = power > -3 && power < 4
                       ? threeDigits(c)
                       : QStringLiteral("%1·10%2").arg(threeDigits(c / std::pow(10, power)), raised(power));
    text += QLatin1Char(' ') + x;
    const bool whole = std::abs(exponent - std::round(exponent)) < 1e-9;
    if (whole && exponent != 1)
        text += raised(int(std::lround(exponent)));
    else if (!whole)
        text += QStringLiteral("^%1").arg(threeDigits(exponent));
    return text + QLatin1Char(' ') + unit;
}

std::optional<ChartFit> fitOf(const std::vector<ChartPoint>& points, ChartRecipe::Fit kind)
{
    const std::size_t tail = std::max<std::size_t>(2, (points.size() + 1) / 2);
    if (kind == ChartRecipe::Fit::None || points.size() < 2)
        return {};
    std::vector<std::pair<double, double>> logs;
    for (std::size_t i = points.size() - tail; i < points.size(); ++i)
        if (points[i].x > 0 && points[i].y > 0)
            logs.emplace_back(std::log(points[i].x), std::log(points[i].y));
    if (logs.size() < 2)
        return {};
    double meanX = 0;
    double meanY = 0;
    for (const auto& [x, y] : logs) {
        meanX += x / double(logs.size());
        meanY += y / double(logs.size());
    }
    double xx = 0;
    double xy = 0;
    double yy = 0;
    for (const auto& [x, y] : logs) {
        xx += (x - meanX) * (x - meanX);
        xy += (x - meanX) * (y - meanY);
        yy += (y - meanY) * (y - meanY);
    }
    ChartFit fit;
    fit.fromX = points[points.size() - tail].x;
    fit.exponent = kind == ChartRecipe::Fit::Linear      ? 1
                   : kind == ChartRecipe::Fit::Quadratic ? 2
                   : xx > 0                              ? xy / xx
                                                         : 1;
    fit.c = std::exp(meanY - fit.exponent * meanX);
    double residual = 0;
    for (const auto& [x, y] : logs)
        residual += std::pow(y - std::log(fit.at(std::exp(x))), 2);
    fit.r2 = yy > 0 ? 1 - residual / yy : 1;
    // A standard error on the logarithm is a share of c. With the exponent free, it is that of c at the
    // middle.
    const auto n = double(logs.size());
    const double freedom = n - (kind == ChartRecipe::Fit::Power ? 2 : 1);
    if (freedom > 0)
        fit.spread = std::sqrt(residual / freedom / n);
    return fit;
}

QStringList varyingKeys(const std::vector<const query::RunSummary*>& runs)
{
    QStringList keys;
    if (runs.empty())
        return keys;
    for (const auto& [key, value] : runs.front()->params) {
        const bool differs =
            std::any_of(runs.begin(), runs.end(), [&key = key, &value = value](const query::RunSummary* run) {
                return run->param(key) != value;
            });
        if (differs && key != "name")
            keys << QString::fromStdString(key);
    }
    return keys;
}

QStringList numericKeys(const std::vector<const query::RunSummary*>& runs)
{
    QStringList keys = varyingKeys(runs);
    keys.removeIf([&runs](const QString& key) {
        return std::any_of(
            runs.begin(), runs.end(),
            [name = key.toStdString()](const query::RunSummary* run) { return !numberOf(run->param(name)); });
    });
    return keys;
}

bool hasWords(const query::RunSummary& run, const QString& filter)
{
    const QStringList words = filter.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    return std::all_of(words.begin(), words.end(), [&run](const QString& word) {
        const auto equals = word.indexOf(QLatin1Char('='));
        if (equals < 0)
            return QString::fromStdString(run.workload) == word ||
                   std::any_of(run.params.begin(), run.params.end(),
                               [&word](const auto& param) { return text(param.second) == word; });
        const std::string key = word.left(equals).toStdString();
        const QString value = key == "workload" ? QString::fromStdString(run.workload) : text(run.param(key));
        return word.mid(equals + 1).split(QLatin1Char(',')).contains(value);
    });
}

QString machineWords(const std::vector<query::EnvironmentTable>& environments)
{
    const std::pair<const char*, QString> facts[] = {
        {"gpu.name", QStringLiteral("%1")},         {"cpu.model", QStringLiteral("%1")},
        {"driver", QStringLiteral("driver %1")},    {"cuda_runtime", QStringLiteral("CUDA %1")},
        {"libtorch", QStringLiteral("PyTorch %1")}, {"program", QStringLiteral("%1")}};
    QStringList words;
    for (const auto& [key, form] : facts) {
        QStringList values;
        for (const query::EnvironmentTable& environment : environments)
            for (const EnvironmentEntry& entry : environment.rows)
                if (entry.key == key && !entry.value.empty() &&
                    !values.contains(QString::fromStdString(entry.value)))
                    values << QString::fromStdString(entry.value);
        // The host's processor says little where a GPU did the work.
        if (values.isEmpty() || (std::string_view(key) == "cpu.model" && !words.isEmpty()))
            continue;
        words << form.arg(values.join(QStringLiteral(" and ")));
    }
    return words.join(QStringLiteral(", "));
}

Chart chartOf(const ChartRecipe& recipe, const std::vector<const query::RunSummary*>& given,
              const QString& machine)
{
    std::vector<const query::RunSummary*> runs = namedRuns(recipe, given);
    std::erase_if(runs, [&recipe](const query::RunSummary* run) { return !hasWords(*run, recipe.filter); });
    Chart chart;
    const bool length = recipe.x == QLatin1String("seq_len");
    chart.xTitle = wordsOfX(recipe.x) + (length ? QStringLiteral(", tokens") : QString());
    chart.xWord = length ? QStringLiteral("N") : recipe.x;
    chart.facetKey = recipe.facet;
    std::map<std::pair<QString, QString>, ChartSeries> series; // by facet and name
    Drawn drawn;
    const auto valueOfKey = [](const query::RunSummary& run, const QString& key) {
        return key.isEmpty() ? QString() : text(run.param(key.toStdString()));
    };
    // A number alone does not say what it is one of.
    const auto nameOf = [&](const query::RunSummary& run) {
        const QString value = valueOfKey(run, recipe.series);
        return numberOf(value.toStdString()) ? recipe.series + QLatin1Char(' ') + value : value;
    };
    for (const query::RunSummary* run : runs) {
        const std::optional<double> at = placeOf(*run, recipe);
        const std::pair place(valueOfKey(*run, recipe.facet), nameOf(*run));
        if (at && run->result.status == RunStatus::Oom) {
            series[place].outOfMemory.push_back(*at);
            drawn.outOfMemory = true;
            drawn.runs.push_back(run);
            continue;
        }
        std::optional<ChartPoint> point = valueOf(*run, recipe.y, recipe);
        if (!at || !point) {
            ++drawn.leftOut;
            continue;
        }
        point->x = *at;
        point->label = valueOfKey(*run, recipe.label);
        drawn.add(point->n);
        drawn.runs.push_back(run);
        series[place].points.push_back(std::move(*point));
    }
    for (const auto& [place, one] : series) {
        if (!chart.facets.contains(place.first))
            chart.facets << place.first;
        if (!chart.names.contains(place.second))
            chart.names << place.second;
    }
    sortNaturally(chart.facets);
    sortNaturally(chart.names);
    for (const QString& facet : chart.facets)
        for (const QString& name : chart.names) {
            const auto found = series.find({facet, name});
            if (found == series.end())
                continue;
            ChartSeries& one = chart.series.emplace_back(std::move(found->second));
            one.name = name;
            one.facet = facet;
            std::stable_sort(one.points.begin(), one.points.end(),
                             [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
            chart.crowded = chart.crowded || std::adjacent_find(one.points.begin(), one.points.end(),
                                                                [](const ChartPoint& a, const ChartPoint& b) {
                                                                    return a.x == b.x;
                                                                }) != one.points.end();
        }
    scale(chart, isMemory(recipe.y));
    if (ChartRecipe::quantities().contains(recipe.x))
        scaleX(chart, recipe.x);
    for (ChartSeries& one : chart.series)
        one.fit = fitOf(one.points, recipe.fit);
    chart.yTitle = QStringLiteral("%1, %2").arg(wordsOf(recipe.y), chart.unit);
    chart.caption = captionOf(recipe, drawn, machine);
    if (chart.series.empty())
        chart.empty =
            runs.empty()
                ? given.empty()
                      ? QStringLiteral("Select the runs of an experiment in the list on the right.")
                      : QStringLiteral("No run has every word of the filter '%1'.").arg(recipe.filter)
                : QStringLiteral("None of the runs has both %1 and %2.").arg(recipe.x, recipe.y);
    return chart;
}

} // namespace tilescope::ui
