#include "ui/kit/button_pair.h"

#include "ui/kit/key_actions.h"
#include "ui/kit/layouts.h"
#include "ui/theme/theme.h"

#include <QAction>
#include <QHBoxLayout>
#include <QPushButton>

namespace tilescope::ui {

namespace {

QPushButton* makeHalf(Icon icon, const char* segment, QAction& action)
{
    auto* button = new QPushButton;
    button->setProperty("kind", "icon");
    button->setProperty("segment", segment);
    button->setAccessibleName(action.text());
    bindButton(*button, action);
    button->setFocusPolicy(Qt::TabFocus);
    const auto dress = [button, icon] { button->setIcon(makeIcon(icon, colours().text, sizes().of(14))); };
    dress();
    QObject::connect(&Theme::instance(), &Theme::changed, button, dress);
    return button;
}

} // namespace

QWidget* makeButtonPair(Icon firstIcon, QAction& first, Icon secondIcon, QAction& second)
{
    auto* pair = new QWidget;
    auto* layout = newLayout<QHBoxLayout>(pair, 0, 0);
    layout->addWidget(makeHalf(firstIcon, "first", first));
    layout->addWidget(makeHalf(secondIcon, "last", second));
    return pair;
}

} // namespace tilescope::ui
