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
const QStringList kAxes{QStringLiteral("linear"), QStringLiteral("log")};

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

    int number(const char* key) { return object_.take(QLatin1String(key)).toInt(0); }

    void end() const
    {
        if (!object_.isEmpty())
            fail(QStringLiteral("unknown key '%1'").arg(object_.keys().front()),
                 QStringLiteral("known: tilescope_chart, title, x, y, series, x_axis, y_axis, centre, bars, "
                                "fit, columns, runs"));
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

QString ChartRecipe::toJson() const
{
    QJsonObject object{{QStringLiteral("tilescope_chart"), kVersion},
                       {QStringLiteral("title"), title},
                       {QStringLiteral("x"), x},
                       {QStringLiteral("y"), y},
                       {QStringLiteral("series"), series},
                       {QStringLiteral("x_axis"), kAxes[logX ? 1 : 0]},
                       {QStringLiteral("y_axis"), kAxes[logY ? 1 : 0]},
                       {QStringLiteral("centre"), kCentres[int(centre)]},
                       {QStringLiteral("bars"), kBars[int(bars)]},
                       {QStringLiteral("fit"), kFits[int(fit)]},
                       {QStringLiteral("columns"), kColumns[oneColumn ? 1 : 0]}};
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
    recipe.logX = reader.word("x_axis", kAxes, 1) == 1;
    recipe.logY = reader.word("y_axis", kAxes, 1) == 1;
    recipe.centre = Centre(reader.word("centre", kCentres, 0));
    recipe.bars = Bars(reader.word("bars", kBars, 1));
    recipe.fit = Fit(reader.word("fit", kFits, 0));
    recipe.oneColumn = reader.word("columns", kColumns, 0) == 1;
    recipe.runs = reader.texts("runs");
    reader.end();
    return recipe;
}

} // namespace tilescope::ui
