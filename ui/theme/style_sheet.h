#pragma once

#include <QString>

class QFont;

namespace tilescope::ui {

struct Palette;
class Sizes;

/// The style sheet of the whole application: Fusion's widgets in our colours and sizes.
QString styleSheet(const Palette& palette, const Sizes& sizes, const QFont& small);

} // namespace tilescope::ui
