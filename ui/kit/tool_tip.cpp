#include "ui/kit/tool_tip.h"

#include "ui/theme/unbroken_text.h"

namespace tilescope::ui {

QString tipOfLines(const QStringList& lines)
{
    QString tip;
    for (const QString& line : lines) {
        if (line.isEmpty())
            continue;
        const QString text = unbroken(line).toHtmlEscaped();
        // Rich text wraps; plain text does not.
        tip += tip.isEmpty() && lines.size() > 1 ? QStringLiteral("<b>%1</b>").arg(text)
               : tip.isEmpty()                   ? text
                                                 : QStringLiteral("<br>") + text;
    }
    return tip.isEmpty() ? tip : QStringLiteral("<qt>%1</qt>").arg(tip);
}

} // namespace tilescope::ui
