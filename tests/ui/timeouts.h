#pragma once

namespace tilescope::ui {

/// How long a test waits for what must happen: long, since others may keep the machine's cores busy. What
/// does happen ends the wait at once.
inline constexpr int kTimeoutMs = 90'000;

} // namespace tilescope::ui
