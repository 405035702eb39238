#pragma once

#include <QJsonObject>
#include <QString>
#include <QStringList>

namespace tilescope::ui {

/// Takes the keys of a recipe file out of its object; the keys that remain are unknown. A value that does
/// not fit is an Error that names the key and the file.
class RecipeReader {
public:
    /// \param kind  the key that identifies the kind of file and contains its version
    RecipeReader(const QByteArray& json, QString origin, const char* kind, int version);

    /// Whether the text is a recipe of that kind, of whatever version.
    static bool isKind(const QByteArray& json, const char* kind);

    QString text(const char* key, const QString& otherwise);
    /// The place of a key's word among `words`; `otherwise` is one of them.
    int word(const char* key, const QStringList& words, int otherwise);
    QStringList texts(const char* key);
    bool flag(const char* key, bool otherwise);
    double between(const char* key, double least, double most, double otherwise);
    /// \throws Error  a key is left over.
    /// \param known   all keys, in words
    void end(const char* known) const;

private:
    [[noreturn]] void fail(const QString& what, const QString& remedy) const;

    QJsonObject object_;
    QString origin_;
};

} // namespace tilescope::ui
