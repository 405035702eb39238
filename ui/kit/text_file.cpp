#include "ui/kit/text_file.h"

#include "core/base/error.h"
#include "core/store/file/file_check.h"

#include <QFile>

namespace tilescope::ui {

namespace {

// Through SQLite, which keeps the locks of its other connections.
bool isDatabase(const QString& path)
{
    try {
        return store::readHeader(path.toStdString()).isSqlite;
    } catch (const Error&) { // said below, in Qt's words
        return false;
    }
}

} // namespace

QByteArray readTextFile(const QString& path, qint64 most, const QString& what)
{
    const std::string where = path.toStdString();
    if (isDatabase(path))
        throw Error{.what = "holds a recording or a database, not a " + what.toStdString(), .where = where};
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        throw Error{.what = file.errorString().toStdString(), .where = where};
    QByteArray text = file.read(most + 1);
    if (text.size() > most)
        throw Error{.what = "is too large for a " + what.toStdString(), .where = where};
    return text;
}

} // namespace tilescope::ui
