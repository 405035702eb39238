#include "ui/charts/chart_recipe.h"

#include "ui/charts/recipe_reader.h"

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

constexpr const char* kKnown =
    "tilescope_chart, title, x, y, series, facet, label, filter, x_axis, y_axis, centre, bars, fit, "
    "formula, oom, grid, columns, width, height, text, palette, dashes, runs";

ChartRecipe::Axis axisOf(RecipeReader& reader, const char* key, ChartRecipe::Axis otherwise)
{
    const int at = reader.word(key, kAxes, int(otherwise));
    return at == 3 ? otherwise : ChartRecipe::Axis(at);
}

} // namespace

QStringList ChartRecipe::quantities()
{
    return {QStringLiteral("step, wall"),     QStringLiteral("forward, wall"),
            QStringLiteral("backward, wall"), QStringLiteral("optimizer, wall"),
            QStringLiteral("prefill, wall"),  QStringLiteral("decode, wall"),
            QStringLiteral("sample, wall"),   QStringLiteral("step, GPU"),
            QStringLiteral("forward, GPU"),   QStringLiteral("backward, GPU"),
            QStringLiteral("peak memory"),    QStringLiteral("memory before backward")};
}

QString ChartRecipe::position()
{
    return QStringLiteral("position");
}

QString ChartRecipe::stepNumber()
{
    return QStringLiteral("step");
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

namespace {

QJsonObject objectOf(const ChartRecipe& recipe)
{
    const auto& [width, height, text] = recipe.paper;
    QJsonObject object{{QStringLiteral("tilescope_chart"), kVersion},
                       {QStringLiteral("title"), recipe.title},
                       {QStringLiteral("x"), recipe.x},
                       {QStringLiteral("y"), recipe.y},
                       {QStringLiteral("series"), recipe.series},
                       {QStringLiteral("facet"), recipe.facet},
                       {QStringLiteral("label"), recipe.label},
                       {QStringLiteral("filter"), recipe.filter},
                       {QStringLiteral("x_axis"), kAxes[int(recipe.xAxis)]},
                       {QStringLiteral("y_axis"), kAxes[int(recipe.yAxis)]},
                       {QStringLiteral("centre"), kCentres[int(recipe.centre)]},
                       {QStringLiteral("bars"), kBars[int(recipe.bars)]},
                       {QStringLiteral("fit"), kFits[int(recipe.fit)]},
                       {QStringLiteral("formula"), recipe.formula},
                       {QStringLiteral("oom"), recipe.outOfMemory},
                       {QStringLiteral("grid"), recipe.grid},
                       {QStringLiteral("width"), width},
                       {QStringLiteral("height"), height},
                       {QStringLiteral("text"), text},
                       {QStringLiteral("palette"), kPalettes[int(recipe.palette)]},
                       {QStringLiteral("dashes"), recipe.dashes}};
    if (!recipe.runs.isEmpty())
        object.insert(QStringLiteral("runs"), QJsonArray::fromStringList(recipe.runs));
    return object;
}

} // namespace

QString ChartRecipe::toJson() const
{
    return QString::fromUtf8(QJsonDocument(objectOf(*this)).toJson());
}

QString ChartRecipe::toLine() const
{
    QJsonObject object = objectOf(*this);
    const QJsonObject defaults = objectOf({});
    for (const QString& key : defaults.keys())
        if (key != QLatin1String("tilescope_chart") && object.value(key) == defaults.value(key))
            object.remove(key);
    return QString::fromUtf8(QJsonDocument(object).toJson(QJsonDocument::Compact));
}

ChartRecipe ChartRecipe::fromJson(const QByteArray& json, const QString& origin)
{
    RecipeReader reader(json, origin, "tilescope_chart", kVersion);
    ChartRecipe recipe;
    recipe.title = reader.text("title", recipe.title);
    recipe.x = reader.text("x", recipe.x);
    recipe.y = quantities()[reader.word("y", quantities(), 0)];
    recipe.series = reader.text("series", recipe.series);
    recipe.facet = reader.text("facet", recipe.facet);
    recipe.label = reader.text("label", recipe.label);
    recipe.filter = reader.text("filter", recipe.filter);
    recipe.xAxis = axisOf(reader, "x_axis", recipe.xAxis);
    recipe.yAxis = axisOf(reader, "y_axis", recipe.yAxis);
    recipe.centre = Centre(reader.word("centre", kCentres, 1));
    recipe.bars = Bars(reader.word("bars", kBars, 2));
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
    reader.end(kKnown);
    return recipe;
}

} // namespace tilescope::ui
