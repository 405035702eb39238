#pragma once

#include <QFontMetrics>
#include <QString>

namespace tilescope::ui {

/// `text` if it fits into `width` pixels, else with "…" in place of what does not fit. A number with its unit is
/// never cut: it stays whole or goes as a whole, and none touches the "…". Every painted text is elided by this
/// function.
QString elidedText(const QString& text, const QFontMetrics& metrics, Qt::TextElideMode mode, int width);

} // namespace tilescope::ui
