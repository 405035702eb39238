#pragma once

#include <QKeySequence>
#include <QList>
#include <QString>

#include <functional>

class QAbstractButton;
class QAction;
class QWidget;

namespace tilescope::ui {

/// Adds an action with a shortcut to `owner`. Its tooltip ends with the key, and the list of keys shows it.
/// \param group  under which heading the list shows it; empty: under its page's
/// \param context  Qt::WidgetShortcut: only while the owner has the focus
QAction* addKey(QWidget& owner, const QString& text, const QList<QKeySequence>& keys,
                const std::function<void()>& does, Qt::ShortcutContext context = Qt::WidgetShortcut,
                const QString& group = {});

/// Sets the tool tip to the action's text with its key: "Fit (F)".
/// \param tip  used instead of the action's text; empty: the text
void setKeyTip(QAction& action, const QString& tip = {});

/// Binds a button to an action: it triggers it and takes its enabled state and tooltip.
void bindButton(QAbstractButton& button, QAction& action);

/// The heading under which the list of keys shows an action; empty: its page's.
QString keyGroupOf(const QAction& action);
void setKeyGroup(QAction& action, const QString& group);

/// All keys of an action as text: "W, +".
QString keysText(const QAction& action);

} // namespace tilescope::ui
