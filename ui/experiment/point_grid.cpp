#include "ui/experiment/point_grid.h"

#include "core/config/value_text.h"
#include "core/session/supervisor/sweep_text.h"
#include "ui/kit/number_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tilescope::ui {

namespace {

constexpr std::size_t kMostKeys = 4;
constexpr std::size_t kMostColumns = 64;
constexpr std::size_t kMostRows = 40;
constexpr double kLeastSpan = 1.5; // slowest to fastest, for the darkest shade

struct Key {
    QString name;
    QStringList values; ///< in order of occurrence
    bool numbers = true;
};

// Keys in the order of the sweep, the slowest first.
std::vector<Key> keysOf(const std::vector<std::map<QString, QString>>& points)
{
    std::map<QString, Key> found;
    std::vector<std::pair<std::size_t, QString>> order; // order of first occurrence of the second value
    for (std::size_t i = 0; i < points.size(); ++i) {
        for (const auto& [name, value] : points[i]) {
            Key& key = found[name];
            key.name = name;
            if (key.values.contains(value))
                continue;
            bool isNumber = false;
            value.toDouble(&isNumber);
            key.numbers = key.numbers && isNumber;
            key.values << value;
            if (key.values.size() == 2)
                order.emplace_back(i, name);
            if (std::size_t(key.values.size()) > kMostColumns)
                return {};
        }
    }
    std::ranges::sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Key> keys;
    for (const auto& [unused, name] : order)
        keys.push_back(found[name]);
    return keys;
}

// The rows are the number with the most values; of several, the innermost.
std::size_t rowKeyOf(const std::vector<Key>& keys)
{
    std::size_t best = keys.size() - 1;
    qsizetype most = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const qsizetype count = keys[i].numbers ? keys[i].values.size() : 0;
        if (count > 0 && count >= most && std::size_t(count) <= kMostRows) {
            best = i;
            most = count;
        }
    }
    return best;
}

// Stored values of a key as people write them: sizes have units.
QString shownValue(const QString& key, const QString& value)
{
    return QString::fromStdString(config::valueText(key.toStdString(), value.toStdString()));
}

void showValues(PointGrid& grid)
{
    for (QString& value : grid.rows)
        value = shownValue(grid.rowKey, value);
    for (QStringList& column : grid.columns)
        for (qsizetype i = 0; i < column.size(); ++i)
            column[i] = shownValue(grid.columnKeys[i], column[i]);
}

} // namespace

std::optional<PointGrid> gridOf(const std::vector<session::SweepPoint>& points)
{
    if (points.size() < 2 || points.size() > kMostColumns * kMostRows)
        return {};
    std::vector<std::map<QString, QString>> words;
    for (const config::KeyTexts& values : session::varyingValues(points)) {
        std::map<QString, QString>& ofPoint = words.emplace_back();
        for (const auto& [key, value] : values)
            ofPoint[QString::fromStdString(key)] = QString::fromStdString(value);
    }
    std::vector<Key> keys = keysOf(words);
    if (keys.empty() || keys.size() > kMostKeys)
        return {};
    PointGrid grid;
    const std::size_t down = rowKeyOf(keys);
    grid.rowKey = keys[down].name;
    grid.rows = keys[down].values;
    keys.erase(keys.begin() + std::ptrdiff_t(down));
    grid.columns.emplace_back();
    for (const Key& key : keys) {
        grid.columnKeys << key.name;
        std::vector<QStringList> next;
        for (const QStringList& column : grid.columns)
            for (const QString& value : key.values)
                next.push_back(column + QStringList(value));
        grid.columns = std::move(next);
        if (grid.columns.size() > kMostColumns)
            return {};
    }
    const std::size_t cells = std::size_t(grid.rows.size()) * grid.columns.size();
    if (std::size_t(grid.rows.size()) > kMostRows || cells > 2 * points.size())
        return {};
    grid.cells.assign(cells, -1);
    for (std::size_t i = 0; i < points.size(); ++i) {
        QStringList column;
        for (const QString& key : grid.columnKeys)
            column << words[i][key];
        const auto across = std::ranges::find(grid.columns, column) - grid.columns.begin();
        const qsizetype row = grid.rows.indexOf(words[i][grid.rowKey]);
        if (row < 0 || std::size_t(across) == grid.columns.size())
            return {};
        std::ptrdiff_t& cell = grid.cells[std::size_t(row) * grid.columns.size() + std::size_t(across)];
        if (cell >= 0)
            return {}; // two points have the same values: only a list can show both
        cell = std::ptrdiff_t(i);
    }
    showValues(grid);
    return grid;
}

std::shared_ptr<const SweepPlan> SweepPlan::of(SweepProgress::Points points,
                                               std::optional<SweepForecast> forecast)
{
    auto plan = std::make_shared<SweepPlan>();
    plan->grid = gridOf(*points);
    plan->progress = SweepProgress(std::move(points));
    plan->progress.setForecast(std::move(forecast));
    return plan;
}

std::vector<GridCell> cellsOf(const PointGrid& grid, const SweepProgress& progress)
{
    using Kind = GridCell::Kind;
    using Standing = SweepProgress::Standing;
    const std::vector<SweepProgress::PointState>& points = progress.points();
    std::vector<double> times;
    for (const SweepProgress::PointState& point : points)
        if (point.standing == Standing::Done && point.result.stepMs && *point.result.stepMs > 0)
            times.push_back(*point.result.stepMs * 1e6);
    std::vector<GridCell> made;
    double least = 0;
    double span = 0;
    if (!times.empty()) {
        const auto [low, high] = std::ranges::minmax(times);
        least = std::log(low);
        span = std::max(std::log(high) - least, std::log(kLeastSpan)); // noise is not shaded
    }
    for (const std::ptrdiff_t position : grid.cells) {
        GridCell cell;
        if (position < 0 || std::size_t(position) >= points.size()) {
            made.push_back(cell);
            continue;
        }
        const SweepProgress::PointState& point = points[std::size_t(position)];
        if (point.standing == Standing::Stored) {
            cell = {Kind::Stored, QStringLiteral("in file")};
        } else if (point.standing == Standing::Running) {
            cell = {Kind::Running, QStringLiteral("%1 %").arg(int(100 * progress.currentFraction()))};
        } else if (point.standing == Standing::Waiting) {
            const auto expected = progress.expectedStep(std::size_t(position));
            if (progress.expectsOom(std::size_t(position)))
                cell = {Kind::ExpectedOom, QStringLiteral("OOM?")};
            else
                cell = {Kind::Waiting,
                        expected ? QStringLiteral("~") + timeText(*expected) : QStringLiteral("–")};
        } else {
            switch (point.result.runStatus()) {
            case RunStatus::Ok:
                if (const std::optional<double>& ms = point.result.stepMs)
                    cell = {Kind::Time, timeText(*ms * 1e6), (std::log(*ms * 1e6) - least) / span};
                else
                    cell = {Kind::Stored, QStringLiteral("ok")};
                break;
            case RunStatus::Oom:
                cell = {Kind::Oom, QStringLiteral("OOM")};
                break;
            case RunStatus::Skipped:
                cell = {Kind::Skipped, QStringLiteral("skipped")};
                break;
            case RunStatus::Cancelled:
                cell = {Kind::Cancelled, QStringLiteral("stopped")};
                break;
            case RunStatus::Error:
            case RunStatus::Running:
            case RunStatus::Interrupted:
                cell = {Kind::Error, QStringLiteral("error")};
                break;
            }
        }
        made.push_back(cell);
    }
    return made;
}

} // namespace tilescope::ui
