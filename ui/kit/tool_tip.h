#pragma once

#include <QString>
#include <QStringList>

namespace tilescope::ui {

/// A tip of several lines, the first one bold; long lines wrap, and nothing in them is taken for markup.
QString tipOfLines(const QStringList& lines);

} // namespace tilescope::ui
