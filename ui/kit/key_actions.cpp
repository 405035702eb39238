#include "ui/kit/key_actions.h"

#include <QAbstractButton>
#include <QAction>
#include <QWidget>

namespace tilescope::ui {

namespace {

constexpr const char* kGroup = "keyGroup";

} // namespace

QString keysText(const QAction& action)
{
    QStringList keys;
    for (const QKeySequence& key : action.shortcuts())
        keys << key.toString(QKeySequence::NativeText);
    return keys.join(QStringLiteral(", "));
}

void setKeyTip(QAction& action, const QString& tip)
{
    QString words = tip.isEmpty() ? action.text().remove(QLatin1Char('&')) : tip;
    const QString keys = keysText(action);
    action.setToolTip(keys.isEmpty() ? words : QStringLiteral("%1 (%2)").arg(words, keys));
}

QString keyGroupOf(const QAction& action)
{
    return action.property(kGroup).toString();
}

void setKeyGroup(QAction& action, const QString& group)
{
    action.setProperty(kGroup, group);
}

QAction* addKey(QWidget& owner, const QString& text, const QList<QKeySequence>& keys,
                const std::function<void()>& does, Qt::ShortcutContext context, const QString& group)
{
    auto* action = new QAction(text, &owner);
    action->setShortcuts(keys);
    action->setShortcutContext(context);
    setKeyTip(*action);
    setKeyGroup(*action, group);
    QObject::connect(action, &QAction::triggered, &owner, does);
    owner.addAction(action);
    return action;
}

void bindButton(QAbstractButton& button, QAction& action)
{
    const auto follow = [&button, &action] {
        button.setEnabled(action.isEnabled());
        button.setToolTip(action.toolTip());
        button.setCheckable(action.isCheckable());
        button.setChecked(action.isChecked());
    };
    follow();
    QObject::connect(&action, &QAction::changed, &button, follow);
    QObject::connect(&button, &QAbstractButton::clicked, &action, &QAction::trigger);
}

} // namespace tilescope::ui
