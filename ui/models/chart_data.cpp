// The values of a chart: from runs and a recipe to points, fits and a caption.

#include "ui/models/chart_recipe.h"
#include "ui/plots/number_text.h"

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

bool isMemory(const QString& quantity)
{
    return quantity.contains(QLatin1String("memory"));
}

// Times in ns, memory in bytes; what the statistic does not have stays away.
std::optional<ChartPoint> valueOf(const query::RunSummary& run, const ChartRecipe& recipe)
{
    ChartPoint point;
    if (isMemory(recipe.y)) {
        const auto& bytes =
            recipe.y == QLatin1String("peak memory") ? run.result.peakAllocated : run.result.beforeBackward;
        if (!bytes)
            return {};
        point.y = double(bytes->count);
        point.n = 1;
        return point;
    }
    const QStringList words = recipe.y.split(QStringLiteral(", "));
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

QString captionOf(const ChartRecipe& recipe, const std::vector<const query::RunSummary*>& runs, int leftOut)
{
    QString caption = QStringLiteral("%1 against %2").arg(recipe.y, recipe.x);
    if (!recipe.series.isEmpty())
        caption += QStringLiteral(" by %1").arg(recipe.series);
    caption += QStringLiteral(". ");
    if (!isMemory(recipe.y)) {
        caption +=
            recipe.centre == ChartRecipe::Centre::Mean ? QStringLiteral("Means") : QStringLiteral("Medians");
        caption += QStringLiteral(" of the timed steps");
        if (recipe.bars == ChartRecipe::Bars::Deviation)
            caption += QStringLiteral("; bars: standard deviation");
        else if (recipe.bars == ChartRecipe::Bars::Interval)
            caption += QStringLiteral("; bars: 95 % interval of the median");
        caption += QStringLiteral(". ");
    }
    QStringList same;
    for (const char* key : {"workload", "precision", "batch", "heads", "d_head", "mode", "size"}) {
        std::set<QString> values;
        for (const query::RunSummary* run : runs)
            values.insert(key == std::string_view("workload") ? QString::fromStdString(run->workload)
                                                              : text(run->param(key)));
        if (values.size() == 1 && !values.begin()->isEmpty())
            same << QStringLiteral("%1 %2").arg(QLatin1String(key), *values.begin());
    }
    if (!same.isEmpty())
        caption += QStringLiteral("All: %1. ").arg(same.join(QStringLiteral(", ")));
    if (recipe.fit != ChartRecipe::Fit::None)
        caption += QStringLiteral("Dashed: least-squares fits to the larger half of the points. ");
    if (leftOut > 0)
        caption +=
            QStringLiteral("%1 runs lack %2 or %3 and are left out. ").arg(leftOut).arg(recipe.x, recipe.y);
    return caption.trimmed();
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

Chart chartOf(const ChartRecipe& recipe, const std::vector<const query::RunSummary*>& given)
{
    const std::vector<const query::RunSummary*> runs = namedRuns(recipe, given);
    Chart chart;
    chart.xTitle = recipe.x == QLatin1String("seq_len")
                       ? QStringLiteral("sequence length N, tokens")
                       : QString(recipe.x).replace(QLatin1Char('_'), QLatin1Char(' '));
    std::map<QString, ChartSeries> series;
    std::vector<const query::RunSummary*> drawn;
    int leftOut = 0;
    const std::string x = recipe.x.toStdString();
    const std::string by = recipe.series.toStdString();
    for (const query::RunSummary* run : runs) {
        const std::optional<double> at = numberOf(run->param(x));
        const QString name = by.empty() ? QString() : text(run->param(by));
        if (at && run->result.status == RunStatus::Oom) {
            series[name].outOfMemory.push_back(*at);
            drawn.push_back(run);
            continue;
        }
        std::optional<ChartPoint> point = valueOf(*run, recipe);
        if (!at || !point) {
            ++leftOut;
            continue;
        }
        point->x = *at;
        series[name].points.push_back(std::move(*point));
        drawn.push_back(run);
    }
    for (auto& [name, one] : series) {
        one.name = name;
        std::stable_sort(one.points.begin(), one.points.end(),
                         [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
        chart.series.push_back(std::move(one));
    }
    scale(chart, isMemory(recipe.y));
    for (ChartSeries& one : chart.series)
        one.fit = fitOf(one.points, recipe.fit);
    chart.yTitle = QStringLiteral("%1, %2").arg(recipe.y, chart.unit);
    chart.caption = captionOf(recipe, drawn, leftOut);
    if (chart.series.empty())
        chart.empty =
            runs.empty()
                ? QStringLiteral("Select the runs of an experiment in the list on the right.")
                : QStringLiteral("None of the selected runs has both %1 and %2.").arg(recipe.x, recipe.y);
    return chart;
}

} // namespace tilescope::ui
