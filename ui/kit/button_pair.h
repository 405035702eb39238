#pragma once

#include "ui/theme/icons.h"

class QAction;
class QWidget;

namespace tilescope::ui {

/// Two joined buttons with icons, for two actions that are opposites. Their names and tool tips are those of the
/// actions.
QWidget* makeButtonPair(Icon firstIcon, QAction& first, Icon secondIcon, QAction& second);

} // namespace tilescope::ui
