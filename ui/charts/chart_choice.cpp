// Which keys of runs make the axes and the lines of a chart.

#include "ui/charts/chart_choice.h"

#include "core/analysis/stats/statistics.h"
#include "core/base/number_text.h"
#include "core/config/schema.h"
#include "ui/kit/natural_order.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tilescope::ui {

namespace {

/// Names of keys as texts, in the order of a rank.
QStringList textsBy(std::uint8_t config::KeyUse::*rank)
{
    QStringList names;
    for (const std::string_view key : config::keysBy(rank))
        names << QString::fromUtf8(key);
    return names;
}

/// Whether a key says how a run was recorded, not what ran: timed steps are never traced.
bool isOfRecording(const QString& name)
{
    const config::KeyInfo* key = config::findKey(name.toStdString());
    return key && key->use.ofRecording;
}

/// The keys that studies vary most often; the first that varies is used.
const QStringList& keysAlongX()
{
    static const QStringList names = textsBy(&config::KeyUse::alongX);
    return names;
}

const QStringList& keysOfSeries()
{
    static const QStringList names = textsBy(&config::KeyUse::series);
    return names;
}

QString paramText(const query::RunSummary& run, const QString& key)
{
    const std::string_view value = run.param(key.toStdString());
    return QString::fromUtf8(value);
}

// The keys that describe the experiment, those that studies vary most often first.
QStringList ordered(const QStringList& keys, const QStringList& first)
{
    QStringList result;
    for (const QString& key : first)
        if (keys.contains(key))
            result << key;
    for (const QString& key : keys)
        if (!result.contains(key) && !isOfRecording(key))
            result << key;
    return result;
}

std::size_t countOfValues(const std::vector<const query::RunSummary*>& runs, const QString& key)
{
    std::set<QString> values;
    for (const query::RunSummary* run : runs)
        values.insert(paramText(*run, key));
    return values.size();
}

// Runs at the same place as another run without being its repeats.
std::size_t crowd(const std::vector<ChartPlace>& places, const QStringList& by, const QStringList& all)
{
    std::map<std::tuple<QString, QString, QStringList, double>, std::set<QStringList>> at;
    for (const ChartPlace& place : places) {
        QStringList shown;
        for (const QString& key : by)
            shown << paramText(*place.run, key);
        QStringList experiment;
        for (const QString& key : all)
            experiment << paramText(*place.run, key);
        at[{place.facet, place.series, shown, place.x}].insert(experiment);
    }
    std::size_t crowded = 0;
    for (const auto& [place, experiments] : at)
        crowded += experiments.size() - 1;
    return crowded;
}

} // namespace

QStringList wordsAlong(const std::vector<const query::RunSummary*>& runs, const QString& key)
{
    QStringList words;
    bool areNumbers = true;
    for (const query::RunSummary* run : runs) {
        const std::string_view value = run->param(key.toStdString());
        areNumbers = areNumbers && (value.empty() || parseNumber<double>(value));
        if (!value.empty())
            words << QString::fromUtf8(value);
    }
    if (areNumbers)
        return {};
    words.removeDuplicates();
    sortNaturally(words);
    return words;
}

QStringList separatingKeys(const std::vector<ChartPlace>& places, const QString& x)
{
    std::vector<const query::RunSummary*> runs;
    for (const ChartPlace& place : places)
        runs.push_back(place.run);
    QStringList keys = ordered(varyingKeys(runs), keysOfSeries());
    keys.removeAll(x);
    QStringList chosen;
    for (std::size_t left = crowd(places, chosen, keys); left > 0;) {
        QString best;
        for (const QString& key : keys)
            if (const std::size_t after = crowd(places, chosen + QStringList{key}, keys); after < left) {
                left = after;
                best = key;
            }
        if (best.isEmpty())
            break;
        chosen << best;
    }
    return chosen;
}

ChartPoint merged(const std::vector<ChartPoint>& repeats, ChartRecipe::Centre centre, ChartRecipe::Bars bars)
{
    if (repeats.size() == 1)
        return repeats.front();
    std::vector<double> values;
    ChartPoint point = repeats.front();
    point.n = 0;
    for (const ChartPoint& repeat : repeats) {
        values.push_back(repeat.y);
        point.n += repeat.n;
    }
    const analysis::Statistics statistics = *analysis::summarise(values);
    point.runs = std::int64_t(repeats.size());
    point.y = centre == ChartRecipe::Centre::Mean ? statistics.mean : statistics.median;
    point.low.reset();
    point.high.reset();
    if (bars == ChartRecipe::Bars::Deviation && statistics.standardDeviation) {
        point.low = point.y - *statistics.standardDeviation;
        point.high = point.y + *statistics.standardDeviation;
    } else if (bars == ChartRecipe::Bars::Interval && statistics.ci95) {
        point.low = statistics.ci95->low;
        point.high = statistics.ci95->high;
    }
    return point;
}

ChartRecipe suggested(ChartRecipe recipe, const std::vector<const query::RunSummary*>& runs)
{
    const ChartRecipe usual;
    const auto isTold = [&runs](const QString& key) {
        return std::any_of(runs.begin(), runs.end(),
                           [&key](const query::RunSummary* run) { return !paramText(*run, key).isEmpty(); });
    };
    const auto isWordOfAll = [&runs](const QString& key) {
        return wordsAlong(runs, key).size() > 1 &&
               std::ranges::none_of(
                   runs, [&key](const query::RunSummary* run) { return paramText(*run, key).isEmpty(); });
    };
    const QStringList along = ordered(numericKeys(runs), keysAlongX());
    QStringList lines = ordered(varyingKeys(runs), keysOfSeries());
    recipe.x = usual.x;
    const QStringList measured = quantitiesOf(runs);
    recipe.y = measured.isEmpty() || measured.contains(usual.y) ? usual.y : measured.front();
    if (!along.isEmpty()) {
        recipe.x = along.front();
        // Most charts show a length; otherwise, choose the key with the most values.
        if (keysAlongX().indexOf(recipe.x) < 0 ||
            keysAlongX().indexOf(recipe.x) > keysAlongX().indexOf(QStringLiteral("kv_len")))
            recipe.x =
                *std::max_element(along.begin(), along.end(), [&runs](const QString& a, const QString& b) {
                    return countOfValues(runs, a) < countOfValues(runs, b);
                });
    } else if (const auto word = std::ranges::find_if(lines, isWordOfAll); word != lines.end()) {
        recipe.x = *word; // runs that differ in words stand beside each other
        lines.removeAll(recipe.x);
        recipe.series = lines.value(0);
        return recipe;
    } else {
        const auto known = std::find_if(keysAlongX().begin(), keysAlongX().end(), isTold);
        if (known != keysAlongX().end())
            recipe.x = *known;
        else if (runs.size() == 1 && runs.front()->tracedSteps.size() > 1)
            recipe.x = ChartRecipe::stepNumber(); // of one recording or import, whose mean would be one point
        else if (isTold(QStringLiteral("file")))  // what imports and recordings have of the keys
            recipe.x = QStringLiteral("file");
    }
    lines.removeAll(recipe.x);
    recipe.series = !lines.isEmpty() ? lines.front() : isTold(usual.series) ? usual.series : QString();
    return recipe;
}

} // namespace tilescope::ui
