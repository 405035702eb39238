#include "ui/models/chart_recipe.h"

#include "core/base/error.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include <utility>

namespace tilescope::ui {

namespace {

constexpr int kVersion = 1;

const QStringList kCentres{QStringLiteral("mean"), QStringLiteral("median")};
const QStringList kBars{QStringLiteral("none"), QStringLiteral("deviation"), QStringLiteral("interval")};
const QStringList kFits{QStringLiteral("none"), QStringLiteral("linear"), QStringLiteral("quadratic"),
                        QStringLiteral("power")};
const QStringList kColumns{QStringLiteral("two"), QStringLiteral("one")};
// "log" is what suits the axis: base 2 for x, 10 for y.
const QStringList kAxes{QStringLiteral("linear"), QStringLiteral("log2"), QStringLiteral("log10"),
                        QStringLiteral("log")};
const QStringList kPalettes{QStringLiteral("colour-blind"), QStringLiteral("okabe-ito"),
                            QStringLiteral("grey")};
constexpr double kLeastInches = 1;
constexpr double kMostInches = 40;
constexpr double kLeastPoints = 4;
constexpr double kMostPoints = 72;

// Takes keys out of an object, so that what is left is what nobody knows.
class Reader {
public:
    Reader(QJsonObject object, QString origin) : object_(std::move(object)), origin_(std::move(origin)) {}

    [[noreturn]] void fail(const QString& what, const QString& mend) const
    {
        throw Error{.what = what.toStdString(), .where = origin_.toStdString(), .mend = mend.toStdString()};
    }

    QString text(const char* key, const QString& otherwise)
    {
        const QJsonValue value = object_.take(QLatin1String(key));
        if (value.isUndefined())
            return otherwise;
        if (!value.isString())
            fail(QStringLiteral("'%1' is no text").arg(QLatin1String(key)), {});
        return value.toString();
    }

    int word(const char* key, const QStringList& words, int otherwise)
    {
        const QString value = text(key, words[otherwise]);
        const auto at = words.indexOf(value);
        if (at < 0)
            fail(QStringLiteral("'%1' cannot be '%2'").arg(QLatin1String(key), value),
                 QStringLiteral("allowed: ") + words.join(QStringLiteral(", ")));
        return int(at);
    }

    QStringList texts(const char* key)
    {
        const QJsonValue value = object_.take(QLatin1String(key));
        QStringList list;
        if (!value.isUndefined() && !value.isArray())
            fail(QStringLiteral("'%1' is no list").arg(QLatin1String(key)), {});
        for (const QJsonValue item : value.toArray())
            list << item.toString();
        return list;
    }

    bool flag(const char* key, bool otherwise)
    {
        const QJsonValue value = object_.take(QLatin1String(key));
        if (!value.isUndefined() && !value.isBool())
            fail(QStringLiteral("'%1' is neither true nor false").arg(QLatin1String(key)), {});
        return value.toBool(otherwise);
    }

    double between(const char* key, double least, double most, double otherwise)
    {
        const QJsonValue value = object_.take(QLatin1String(key));
        if (value.isUndefined())
            return otherwise;
        if (!value.isDouble() || value.toDouble() < least || value.toDouble() > most)
            fail(QStringLiteral("'%1' is no number from %2 to %3")
                     .arg(QLatin1String(key))
                     .arg(least)
                     .arg(most),
                 {});
        return value.toDouble();
    }

    ChartRecipe::Axis axis(const char* key, ChartRecipe::Axis otherwise)
    {
        const int at = word(key, kAxes, int(otherwise));
        return at == 3 ? otherwise : ChartRecipe::Axis(at);
    }

    int number(const char* key) { return object_.take(QLatin1String(key)).toInt(0); }

    void end() const
    {
        if (!object_.isEmpty())
            fail(QStringLiteral("unknown key '%1'").arg(object_.keys().front()),
                 QStringLiteral(
                     "known: tilescope_chart, title, x, y, series, facet, filter, x_axis, y_axis, "
                     "centre, bars, fit, formula, oom, grid, columns, width, height, text, palette, "
                     "dashes, runs"));
    }

private:
    QJsonObject object_;
    QString origin_;
};

} // namespace

QStringList ChartRecipe::quantities()
{
    return {QStringLiteral("step, wall"),
            QStringLiteral("forward, wall"),
            QStringLiteral("backward, wall"),
            QStringLiteral("optimizer, wall"),
            QStringLiteral("step, GPU"),
            QStringLiteral("forward, GPU"),
            QStringLiteral("backward, GPU"),
            QStringLiteral("peak memory"),
            QStringLiteral("memory before backward")};
}

const std::vector<std::pair<QString, ChartPaper>>& ChartRecipe::papers()
{
    static const std::vector<std::pair<QString, ChartPaper>> papers{
        {QStringLiteral("two columns"), {6.75, 3.9, 8}},
        {QStringLiteral("one column"), {3.25, 2.35, 8}},
        {QStringLiteral("slide"), {10, 5.4, 14}},
        {QStringLiteral("half a slide"), {4.8, 4.2, 12}}};
    return papers;
}

QString ChartRecipe::toJson() const
{
    QJsonObject object{{QStringLiteral("tilescope_chart"), kVersion},
                       {QStringLiteral("title"), title},
                       {QStringLiteral("x"), x},
                       {QStringLiteral("y"), y},
                       {QStringLiteral("series"), series},
                       {QStringLiteral("facet"), facet},
                       {QStringLiteral("filter"), filter},
                       {QStringLiteral("x_axis"), kAxes[int(xAxis)]},
                       {QStringLiteral("y_axis"), kAxes[int(yAxis)]},
                       {QStringLiteral("centre"), kCentres[int(centre)]},
                       {QStringLiteral("bars"), kBars[int(bars)]},
                       {QStringLiteral("fit"), kFits[int(fit)]},
                       {QStringLiteral("formula"), formula},
                       {QStringLiteral("oom"), outOfMemory},
                       {QStringLiteral("grid"), grid},
                       {QStringLiteral("width"), paper.width},
                       {QStringLiteral("height"), paper.height},
                       {QStringLiteral("text"), paper.text},
                       {QStringLiteral("palette"), kPalettes[int(palette)]},
                       {QStringLiteral("dashes"), dashes}};
    if (!runs.isEmpty())
        object.insert(QStringLiteral("runs"), QJsonArray::fromStringList(runs));
    return QString::fromUtf8(QJsonDocument(object).toJson());
}

ChartRecipe ChartRecipe::fromJson(const QByteArray& json, const QString& origin)
{
    QJsonParseError error;
    const QJsonDocument document = QJsonDocument::fromJson(json, &error);
    Reader reader(document.object(), origin);
    if (error.error != QJsonParseError::NoError || !document.isObject())
        reader.fail(QStringLiteral("this is no chart recipe: %1").arg(error.errorString()), {});
    if (const int version = reader.number("tilescope_chart"); version != kVersion)
        reader.fail(QStringLiteral("'tilescope_chart' is not %1").arg(kVersion),
                    QStringLiteral("save the recipe with this version of Tilescope"));
    ChartRecipe recipe;
    recipe.title = reader.text("title", recipe.title);
    recipe.x = reader.text("x", recipe.x);
    recipe.y = quantities()[reader.word("y", quantities(), 0)];
    recipe.series = reader.text("series", recipe.series);
    recipe.facet = reader.text("facet", recipe.facet);
    recipe.filter = reader.text("filter", recipe.filter);
    recipe.xAxis = reader.axis("x_axis", recipe.xAxis);
    recipe.yAxis = reader.axis("y_axis", recipe.yAxis);
    recipe.centre = Centre(reader.word("centre", kCentres, 0));
    recipe.bars = Bars(reader.word("bars", kBars, 1));
    recipe.fit = Fit(reader.word("fit", kFits, 0));
    recipe.formula = reader.flag("formula", recipe.formula);
    recipe.outOfMemory = reader.flag("oom", recipe.outOfMemory);
    recipe.grid = reader.flag("grid", recipe.grid);
    // The paper by its columns, or in inches.
    const ChartPaper columns = papers()[std::size_t(reader.word("columns", kColumns, 0))].second;
    recipe.paper.width = reader.between("width", kLeastInches, kMostInches, columns.width);
    recipe.paper.height = reader.between("height", kLeastInches, kMostInches, columns.height);
    recipe.paper.text = reader.between("text", kLeastPoints, kMostPoints, columns.text);
    recipe.palette = Palette(reader.word("palette", kPalettes, 0));
    recipe.dashes = reader.flag("dashes", recipe.dashes);
    recipe.runs = reader.texts("runs");
    reader.end();
    return recipe;
}

} // namespace tilescope::ui
