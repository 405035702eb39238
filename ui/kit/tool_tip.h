#pragma once

#include <QString>
#include <QStringList>

namespace tilescope::ui {

/// A tooltip of several lines, the first one bold. Long lines wrap; markup is escaped.
QString tipOfLines(const QStringList& lines);

} // namespace tilescope::ui
