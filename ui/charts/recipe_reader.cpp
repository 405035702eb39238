#include "ui/charts/recipe_reader.h"

#include "core/base/error.h"

#include <QJsonArray>
#include <QJsonDocument>

#include <utility>

namespace tilescope::ui {

RecipeReader::RecipeReader(const QByteArray& json, QString origin, const char* kind, int version)
    : origin_(std::move(origin))
{
    QJsonParseError error;
    const QJsonDocument document = QJsonDocument::fromJson(json, &error);
    if (error.error != QJsonParseError::NoError || !document.isObject())
        fail(QStringLiteral("not a recipe: %1").arg(error.errorString()), {});
    object_ = document.object();
    if (object_.take(QLatin1String(kind)).toInt(0) != version)
        fail(QStringLiteral("'%1' is not %2").arg(QLatin1String(kind)).arg(version),
             QStringLiteral("save the recipe with this version of Tilescope"));
}

bool RecipeReader::isKind(const QByteArray& json, const char* kind)
{
    return QJsonDocument::fromJson(json).object().contains(QLatin1String(kind));
}

void RecipeReader::fail(const QString& what, const QString& remedy) const
{
    throw Error{.what = what.toStdString(), .where = origin_.toStdString(), .remedy = remedy.toStdString()};
}

QString RecipeReader::text(const char* key, const QString& otherwise)
{
    const QJsonValue value = object_.take(QLatin1String(key));
    if (value.isUndefined())
        return otherwise;
    if (!value.isString())
        fail(QStringLiteral("'%1' is not a text").arg(QLatin1String(key)), {});
    return value.toString();
}

int RecipeReader::word(const char* key, const QStringList& words, int otherwise)
{
    const QString value = text(key, words[otherwise]);
    const auto at = words.indexOf(value);
    if (at < 0)
        fail(QStringLiteral("'%1' cannot be '%2'").arg(QLatin1String(key), value),
             QStringLiteral("allowed: ") + words.join(QStringLiteral(", ")));
    return int(at);
}

QStringList RecipeReader::texts(const char* key)
{
    const QJsonValue value = object_.take(QLatin1String(key));
    QStringList list;
    if (!value.isUndefined() && !value.isArray())
        fail(QStringLiteral("'%1' is not a list").arg(QLatin1String(key)), {});
    for (const QJsonValue item : value.toArray())
        list << item.toString();
    return list;
}

bool RecipeReader::flag(const char* key, bool otherwise)
{
    const QJsonValue value = object_.take(QLatin1String(key));
    if (!value.isUndefined() && !value.isBool())
        fail(QStringLiteral("'%1' is neither true nor false").arg(QLatin1String(key)), {});
    return value.toBool(otherwise);
}

double RecipeReader::between(const char* key, double least, double most, double otherwise)
{
    const QJsonValue value = object_.take(QLatin1String(key));
    if (value.isUndefined())
        return otherwise;
    if (!value.isDouble() || value.toDouble() < least || value.toDouble() > most)
        fail(
            QStringLiteral("'%1' is not a number from %2 to %3").arg(QLatin1String(key)).arg(least).arg(most),
            {});
    return value.toDouble();
}

void RecipeReader::end(const char* known) const
{
    if (!object_.isEmpty())
        fail(QStringLiteral("unknown key '%1'").arg(object_.keys().front()),
             QStringLiteral("known: ") + QLatin1String(known));
}

} // namespace tilescope::ui
