#pragma once

#include <QCollator>
#include <QLocale>

namespace tilescope::ui {

/// Natural order of texts: 9 before 10, letters regardless of case.
///
/// Qt's collator orders numbers in texts for a language only; in the C locale it compares characters.
inline QCollator naturalOrder()
{
    QCollator order{QLocale(QLocale::English)};
    order.setNumericMode(true);
    order.setCaseSensitivity(Qt::CaseInsensitive);
    return order;
}

} // namespace tilescope::ui
