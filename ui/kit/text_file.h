#pragma once

#include <QByteArray>
#include <QString>

namespace tilescope::ui {

/// Reads a file that should be text of at most `most` bytes. A recording is refused unread: a descriptor that this
/// program closes takes with it all locks that it holds on the file, among them those of an open recording.
/// \param what  names what it should be: "spec"
/// \throws Error  it is a recording, too large or cannot be read
QByteArray readTextFile(const QString& path, qint64 most, const QString& what);

} // namespace tilescope::ui
