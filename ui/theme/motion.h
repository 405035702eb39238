#pragma once

namespace tilescope::ui {

/// Whether the user has switched animations off, in the settings of KDE (AnimationDurationFactor) or GTK
/// (gtk-enable-animations). False if neither file has a setting.
bool prefersReducedMotion();

} // namespace tilescope::ui
