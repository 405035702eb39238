#pragma once

namespace tilescope::ui {

/// Whether the user has switched animations off, in the settings of KDE (AnimationDurationFactor) or GTK
/// (gtk-enable-animations). False where neither file says so.
bool prefersReducedMotion();

} // namespace tilescope::ui
