#pragma once

#include <QCollator>
#include <QLocale>

namespace tilescope::ui {

/// The order in which people look for texts: 9 before 10, words by the alphabet, capitals beside small
/// letters.
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
