// The values of a chart: from runs and a recipe to points, fits and a caption.

#include "core/base/number_text.h"
#include "core/config/schema.h"
#include "ui/charts/chart_choice.h"
#include "ui/kit/count_text.h"
#include "ui/kit/natural_order.h"
#include "ui/kit/number_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tilescope::ui {

namespace {

constexpr double kNsPerMs = 1e6;

// A deviation is about the mean, an interval about the median: bars are those of the centre.
ChartRecipe::Bars barsOf(const ChartRecipe& recipe)
{
    if (recipe.bars == ChartRecipe::Bars::None)
        return recipe.bars;
    return recipe.centre == ChartRecipe::Centre::Mean ? ChartRecipe::Bars::Deviation
                                                      : ChartRecipe::Bars::Interval;
}

std::optional<Phase> phaseOf(const QString& word)
{
    const std::pair<const char*, Phase> phases[] = {
        {"step", Phase::Step},           {"forward", Phase::Forward}, {"backward", Phase::Backward},
        {"optimizer", Phase::Optimizer}, {"prefill", Phase::Prefill}, {"decode", Phase::Decode},
        {"sample", Phase::Sample}};
    for (const auto& [name, phase] : phases)
        if (word == QLatin1String(name))
            return phase;
    return {};
}

// The name in axes and captions, which leave out that wall time is meant.
QString wordsOf(const QString& quantity)
{
    const qsizetype comma = quantity.indexOf(QStringLiteral(", "));
    if (comma < 0)
        return quantity;
    const QString clock = quantity.mid(comma + 2);
    return quantity.left(comma) +
           (clock == QLatin1String("wall") ? QStringLiteral(" time") : QStringLiteral(" %1 time").arg(clock));
}

// The same for x: a quantity, or a key of the spec.
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

// Times in ns, memory in bytes; bounds that the statistic lacks are absent.
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
        point.n = statistics->n;
        point.y =
            kNsPerMs * (recipe.centre == ChartRecipe::Centre::Mean ? statistics->mean : statistics->median);
        const ChartRecipe::Bars bars = barsOf(recipe);
        if (bars == ChartRecipe::Bars::Deviation && statistics->standardDeviation) {
            point.low = point.y - kNsPerMs * *statistics->standardDeviation;
            point.high = point.y + kNsPerMs * *statistics->standardDeviation;
        } else if (bars == ChartRecipe::Bars::Interval && statistics->ci95) {
            point.low = kNsPerMs * statistics->ci95->low;
            point.high = kNsPerMs * statistics->ci95->high;
        }
        return point;
    }
    if (!run.tracedStep || quantity != QLatin1String("step, wall"))
        return {};
    point.y = kNsPerMs * *run.tracedStep;
    point.isTraced = true;
    return point;
}

// The time of each token of a run of mode generate by its position; empty for other runs, and for phases of whole generations.
std::vector<ChartPoint> tokensOf(const query::RunSummary& run, const QString& quantity)
{
    const QStringList words = quantity.split(QStringLiteral(", "));
    const std::optional<Phase> phase = phaseOf(words.value(0));
    const auto context = parseNumber<std::int64_t>(run.param("context"));
    std::vector<ChartPoint> points;
    if (!context || words.value(1) != QLatin1String("wall"))
        return points;
    for (const query::PhaseTimes& times : run.phases)
        if (times.phase == phase)
            for (const auto& [step, ms] : times.tokensMs)
                points.push_back({.x = double(*context + step), .y = kNsPerMs * ms, .n = 1, .exact = {}});
    return points;
}

// The time of each typical step of a recording or an import by its number; empty for other runs and quantities.
std::vector<ChartPoint> stepsOf(const query::RunSummary& run, const QString& quantity)
{
    std::vector<ChartPoint> points;
    if (quantity == QLatin1String("step, wall"))
        for (const auto& [step, ms] : run.tracedSteps)
            points.push_back({.x = double(step), .y = kNsPerMs * ms, .n = 1, .exact = {}});
    return points;
}

// The runs that the recipe names; all if it names none.
std::vector<const query::RunSummary*> namedRuns(const ChartRecipe& recipe,
                                                std::vector<const query::RunSummary*> runs)
{
    if (!recipe.runs.isEmpty())
        std::erase_if(runs, [&recipe](const query::RunSummary* run) {
            return !recipe.runs.contains(QString::fromStdString(run->uid));
        });
    return runs;
}

// The x of a run: the value of a key or its position among the words, or the value of a quantity.
std::optional<double> placeOf(const query::RunSummary& run, const ChartRecipe& recipe,
                              const QStringList& words)
{
    if (!words.isEmpty()) {
        const auto at = words.indexOf(QString::fromUtf8(run.param(recipe.x.toStdString())));
        return at < 0 ? std::nullopt : std::optional(double(at));
    }
    if (!ChartRecipe::quantities().contains(recipe.x))
        return parseNumber<double>(run.param(recipe.x.toStdString()));
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
    const Unit unit = axisUnit(values, isMemory(quantity) ? byteUnit : timeUnit);
    for (ChartSeries& series : chart.series)
        for (ChartPoint& point : series.points)
            point.x /= unit.divisor;
    chart.xTitle = QStringLiteral("%1, %2").arg(wordsOf(quantity), QString::fromStdString(unit.suffix));
}

// One unit for all points: that of the median.
void scale(Chart& chart, bool memory)
{
    std::vector<double> values;
    for (const ChartSeries& series : chart.series)
        for (const ChartPoint& point : series.points)
            values.push_back(point.y);
    const Unit unit = axisUnit(values, memory ? byteUnit : timeUnit);
    chart.unit = QString::fromStdString(unit.suffix);
    for (ChartSeries& series : chart.series) {
        for (ChartPoint& point : series.points) {
            point.exact =
                memory ? withUnit(wholeNumber(std::int64_t(point.y)), "B") : exactTime(std::int64_t(point.y));
            point.y /= unit.divisor;
            if (point.low)
                point.low = *point.low / unit.divisor;
            if (point.high)
                point.high = *point.high / unit.divisor;
        }
    }
}

struct Drawn {
    std::vector<const query::RunSummary*> runs;
    std::int64_t leastN = 0; ///< samples behind a point
    std::int64_t mostN = 0;
    std::int64_t mostRuns = 1; ///< most runs that a point combines
    bool runBars = false;      ///< a point of several has a bar
    int leftOut = 0;
    bool outOfMemory = false;
    bool traced = false; ///< points of recordings and imports

    void add(const ChartPoint& point)
    {
        traced = traced || point.isTraced;
        if (point.isTraced)
            return;
        leastN = leastN == 0 ? point.n : std::min(leastN, point.n);
        mostN = std::max(mostN, point.n);
        mostRuns = std::max(mostRuns, point.runs);
        runBars = runBars || (point.runs > 1 && point.low);
    }
};

QString statisticsWords(const ChartRecipe& recipe, const Drawn& drawn)
{
    if (recipe.x == ChartRecipe::position())
        return QStringLiteral("The time of each token of all sequences. ");
    if (recipe.x == ChartRecipe::stepNumber())
        return QStringLiteral("The time of each typical step, of several ranks their mean. ");
    QString words =
        recipe.centre == ChartRecipe::Centre::Mean ? QStringLiteral("Means") : QStringLiteral("Medians");
    words += drawn.leastN == drawn.mostN
                 ? QStringLiteral(" of ") + counted(drawn.mostN, "timed step")
                 : QStringLiteral(" of %1 to %2").arg(drawn.leastN).arg(counted(drawn.mostN, "timed step"));
    if (barsOf(recipe) == ChartRecipe::Bars::Deviation)
        words += QStringLiteral("; bars: standard deviation");
    else if (barsOf(recipe) == ChartRecipe::Bars::Interval)
        words += drawn.leastN < analysis::kFewestForInterval
                     ? QStringLiteral("; bars: 95 % interval of the median, none below 6 steps")
                     : QStringLiteral("; bars: 95 % interval of the median");
    return words + QStringLiteral(". ");
}

QString fitWords(ChartRecipe::Fit fit)
{
    const QString law = fit == ChartRecipe::Fit::Linear      ? QStringLiteral("c·x")
                        : fit == ChartRecipe::Fit::Quadratic ? QStringLiteral("c·x²")
                                                             : QStringLiteral("c·x^p");
    return QStringLiteral(
               "Dashed lines: least-squares fits of %1 to the larger half of the points, on logarithms; none "
               "where R² is below %2. ")
        .arg(law)
        .arg(kLeastR2);
}

// \param ofWords  x has no law to fit
QString captionOf(const ChartRecipe& recipe, const QStringList& separatedBy, bool ofWords, const Drawn& drawn,
                  const QString& machine)
{
    QString caption = QStringLiteral("%1 against %2").arg(wordsOf(recipe.y), wordsOfX(recipe.x));
    caption[0] = caption[0].toUpper();
    QStringList by = separatedBy;
    if (!recipe.series.isEmpty())
        by.prepend(recipe.series);
    if (!by.isEmpty())
        caption += QStringLiteral(" by %1").arg(by.join(QStringLiteral(" and ")));
    if (!recipe.facet.isEmpty())
        caption += QStringLiteral(", a panel for each %1").arg(recipe.facet);
    caption += QStringLiteral(". ");
    if (!isMemory(recipe.y) && drawn.mostN > 0)
        caption += statisticsWords(recipe, drawn);
    if (drawn.traced)
        caption += QStringLiteral("Of recordings and imports: the mean traced step. ");
    if (drawn.mostRuns > 1)
        caption += QStringLiteral("Repeated runs, up to %1, are one point: their %2%3. ")
                       .arg(drawn.mostRuns)
                       .arg(recipe.centre == ChartRecipe::Centre::Mean ? QStringLiteral("mean")
                                                                       : QStringLiteral("median"),
                            drawn.runBars ? QStringLiteral(", with a bar over the runs") : QString());
    QStringList same;
    for (const std::string_view key : config::keysBy(&config::KeyUse::caption)) {
        std::set<QString> values;
        for (const query::RunSummary* run : drawn.runs)
            values.insert(key == "workload" ? QString::fromStdString(run->workload)
                                            : QString::fromUtf8(run->param(key)));
        if (values.size() == 1 && !values.begin()->isEmpty())
            same << QStringLiteral("%1 %2").arg(QString::fromUtf8(key), *values.begin());
    }
    if (!same.isEmpty())
        caption += QStringLiteral("All: %1. ").arg(same.join(QStringLiteral(", ")));
    if (recipe.fit != ChartRecipe::Fit::None && !ofWords)
        caption += fitWords(recipe.fit);
    if (drawn.outOfMemory && recipe.outOfMemory)
        caption += QStringLiteral("Open triangles at the top: out of memory. ");
    if (drawn.leftOut > 0)
        caption += QStringLiteral("Left out: %1 without %2 or %3. ")
                       .arg(counted(drawn.leftOut, "run"), wordsOfX(recipe.x), wordsOf(recipe.y));
    if (!machine.isEmpty())
        caption += machine + QStringLiteral(". ");
    if (!recipe.filter.isEmpty())
        caption += QStringLiteral("Query: %1.").arg(recipe.filter.simplified());
    return caption.trimmed();
}

/// A run in the chart: its place and value. Without a point, the run ran out of memory.
struct Placed {
    ChartPlace place;
    std::optional<ChartPoint> point;
};

QString valueOfKey(const query::RunSummary& run, const QString& key)
{
    return key.isEmpty() ? QString() : QString::fromUtf8(run.param(key.toStdString()));
}

// A number needs the name of its key.
QString namedValue(const query::RunSummary& run, const QString& key)
{
    const QString value = valueOfKey(run, key);
    return parseNumber<double>(value.toStdString()) ? key + QLatin1Char(' ') + value : value;
}

std::vector<Placed> placedOf(const ChartRecipe& recipe, const std::vector<const query::RunSummary*>& runs,
                             const QStringList& words, Drawn& drawn)
{
    std::vector<Placed> placed;
    for (const query::RunSummary* run : runs) {
        if (recipe.isWithinRuns()) {
            const std::vector<ChartPoint> points =
                recipe.x == ChartRecipe::stepNumber() ? stepsOf(*run, recipe.y) : tokensOf(*run, recipe.y);
            drawn.leftOut += points.empty();
            if (!points.empty())
                drawn.runs.push_back(run);
            for (const ChartPoint& point : points) {
                placed.push_back(
                    {{run, point.x, valueOfKey(*run, recipe.facet), namedValue(*run, recipe.series)}, point});
                placed.back().point->uid = run->uid;
            }
            continue;
        }
        const std::optional<double> at = placeOf(*run, recipe, words);
        const bool failed = run->result.status == RunStatus::Oom;
        std::optional<ChartPoint> point = failed ? std::nullopt : valueOf(*run, recipe.y, recipe);
        if (!at || (!failed && !point)) {
            ++drawn.leftOut;
            continue;
        }
        if (point) {
            point->x = *at;
            point->label = valueOfKey(*run, recipe.label);
            point->uid = run->uid;
        }
        drawn.outOfMemory = drawn.outOfMemory || failed;
        drawn.runs.push_back(run);
        placed.push_back(
            {{run, *at, valueOfKey(*run, recipe.facet), namedValue(*run, recipe.series)}, std::move(point)});
    }
    return placed;
}

// One of each run along positions or steps, which runs share.
std::vector<ChartPlace> placesOf(const std::vector<Placed>& placed, bool areWithinRuns)
{
    std::vector<ChartPlace> places;
    for (const Placed& one : placed) {
        if (areWithinRuns && !places.empty() && places.back().run == one.place.run)
            continue;
        places.push_back(one.place);
        if (areWithinRuns)
            places.back().x = 0;
    }
    return places;
}

// By facet and name.
std::map<std::pair<QString, QString>, ChartSeries>
seriesOf(const ChartRecipe& recipe, const std::vector<Placed>& placed, const QStringList& separatedBy)
{
    std::map<std::pair<QString, QString>, ChartSeries> series;
    for (const Placed& one : placed) {
        QStringList words;
        if (!recipe.series.isEmpty())
            words << one.place.series;
        for (const QString& key : separatedBy)
            words << namedValue(*one.place.run, key);
        words.removeAll(QString()); // of keys that this kind of run does not have
        ChartSeries& line = series[{one.place.facet, words.join(QStringLiteral(", "))}];
        if (one.point)
            line.points.push_back(*one.point);
        else if (std::ranges::find(line.outOfMemory, one.place.x, &ChartPoint::x) == line.outOfMemory.end())
            line.outOfMemory.push_back(
                {.x = one.place.x, .exact = QObject::tr("out of memory"), .uid = one.place.run->uid});
    }
    return series;
}

// By x; repeats at one x become one point.
void sortPoints(ChartSeries& series, const ChartRecipe& recipe, bool merges)
{
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
    if (!merges)
        return;
    std::vector<ChartPoint> points;
    for (auto from = series.points.begin(); from != series.points.end();) {
        const auto to = std::find_if(from, series.points.end(),
                                     [from](const ChartPoint& other) { return other.x != from->x; });
        points.push_back(merged({from, to}, recipe.centre, barsOf(recipe)));
        from = to;
    }
    series.points = std::move(points);
}

} // namespace

QStringList quantitiesOf(const std::vector<const query::RunSummary*>& runs)
{
    const ChartRecipe any;
    QStringList known = ChartRecipe::quantities();
    known.removeIf([&](const QString& quantity) {
        return std::ranges::none_of(
            runs, [&](const query::RunSummary* run) { return valueOf(*run, quantity, any).has_value(); });
    });
    return known;
}

QStringList varyingKeys(const std::vector<const query::RunSummary*>& runs)
{
    QStringList keys;
    std::set<std::string_view> seen{"name"};
    for (const query::RunSummary* of : runs)
        for (const auto [key, value] : of->params) {
            if (!seen.insert(key).second)
                continue;
            const bool differs = std::any_of(runs.begin(), runs.end(),
                                             [key = key, value = value](const query::RunSummary* run) {
                                                 return run->param(key) != value;
                                             });
            if (differs)
                keys << QString::fromUtf8(key);
        }
    return keys;
}

QStringList numericKeys(const std::vector<const query::RunSummary*>& runs)
{
    QStringList keys = varyingKeys(runs);
    keys.removeIf([&runs](const QString& key) {
        return std::any_of(runs.begin(), runs.end(),
                           [name = key.toStdString()](const query::RunSummary* run) {
                               return !parseNumber<double>(run->param(name));
                           });
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
                   std::any_of(run.params.begin(), run.params.end(), [&word](const auto& param) {
                       return QString::fromUtf8(param.second) == word;
                   });
        const std::string key = word.left(equals).toStdString();
        const QString value =
            key == "workload" ? QString::fromStdString(run.workload) : QString::fromUtf8(run.param(key));
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
        // The host's processor is left out if a GPU did the work.
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
    const bool inTokens = length || recipe.x == ChartRecipe::position();
    chart.xTitle = wordsOfX(recipe.x) + (inTokens ? QStringLiteral(", tokens") : QString());
    chart.xWord = length ? QStringLiteral("N") : recipe.x;
    chart.facetKey = recipe.facet;
    Drawn drawn;
    const bool isKey = !ChartRecipe::quantities().contains(recipe.x);
    if (isKey && !recipe.isWithinRuns())
        chart.words = wordsAlong(runs, recipe.x);
    const std::vector<Placed> placed = placedOf(recipe, runs, chart.words, drawn);
    if (isKey) // where x is measured no line is followed along it
        chart.separatedBy = separatingKeys(placesOf(placed, recipe.isWithinRuns()), recipe.x);
    std::map<std::pair<QString, QString>, ChartSeries> series = seriesOf(recipe, placed, chart.separatedBy);
    for (auto& [place, one] : series) {
        sortPoints(one, recipe, isKey);
        for (const ChartPoint& point : one.points)
            drawn.add(point);
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
        }
    scale(chart, isMemory(recipe.y));
    if (ChartRecipe::quantities().contains(recipe.x))
        scaleX(chart, recipe.x);
    for (ChartSeries& one : chart.series)
        one.fit = fitOf(one.points, chart.words.isEmpty() ? recipe.fit : ChartRecipe::Fit::None);
    chart.yTitle = QStringLiteral("%1, %2").arg(wordsOf(recipe.y), chart.unit);
    chart.caption = captionOf(recipe, chart.separatedBy, !chart.words.isEmpty(), drawn, machine);
    const auto isOutOfMemory = [](const ChartSeries& one) { return one.points.empty(); };
    if (!chart.series.empty() && std::ranges::all_of(chart.series, isOutOfMemory)) {
        chart.series.clear();
        chart.empty =
            drawn.runs.size() == 1
                ? QStringLiteral("The run ran out of memory: it has no %1 to draw.").arg(wordsOf(recipe.y))
                : QStringLiteral("All of these runs ran out of memory: none has a %1 to draw.")
                      .arg(wordsOf(recipe.y));
    } else if (chart.series.empty())
        chart.empty =
            runs.empty()
                ? given.empty() ? QStringLiteral("Select the runs of an experiment in the list on the right.")
                                : QStringLiteral("No run matches the filter '%1'.").arg(recipe.filter)
                : QStringLiteral("None of the runs has both %1 and %2.").arg(recipe.x, wordsOf(recipe.y));
    if (!chart.empty.isEmpty())
        chart.caption.clear();
    return chart;
}

} // namespace tilescope::ui
