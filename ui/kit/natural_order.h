#pragma once

#include <QCollator>
#include <QLocale>
#include <QStringList>

#include <algorithm>

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

/// Sorts texts in that order.
inline void sortNaturally(QStringList& texts)
{
    const QCollator order = naturalOrder();
    std::sort(texts.begin(), texts.end(),
              [&order](const QString& a, const QString& b) { return order.compare(a, b) < 0; });
}

} // namespace tilescope::ui
