#pragma once

#include <QWidget>

#include <functional>

namespace tilescope::ui {

/// Calls `then` once, from the event loop, when `window` has been painted and the window system has its
/// picture.
/// \pre  not yet shown
void whenPainted(QWidget& window, std::function<void()> then);

} // namespace tilescope::ui
