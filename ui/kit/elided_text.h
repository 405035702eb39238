#pragma once

#include <QFontMetrics>
#include <QString>
#include <QStringList>

namespace tilescope::ui {

/// `text` if it fits into `width` pixels, else with "…" in place of what does not fit. A number with its unit is
/// never cut: it stays whole or goes as a whole, and none touches the "…". Every painted text is elided by this
/// function.
QString elidedText(const QString& text, const QFontMetrics& metrics, Qt::TextElideMode mode, int width);

/// Texts that stand in one chart, each as elidedText() shows it. Where two different ones would look alike, their
/// common part goes instead: "elementwise…_mul", "elementwise…_add". If not even the difference fits, they are
/// numbered. Equal texts stay equal.
QStringList distinctTexts(const QStringList& texts, const QFontMetrics& metrics, Qt::TextElideMode mode,
                          int width);

/// `text` in at most `most` lines, broken at spaces; the last line is elided at its end if the rest does not fit.
QStringList wrappedText(const QString& text, const QFontMetrics& metrics, int width, int most);

} // namespace tilescope::ui
