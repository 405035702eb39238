#pragma once

namespace tilescope {

/// While it lives, a display that cannot be used ends the program with one sentence and exit 4.
///
/// Qt aborts where its platform cannot start: no DISPLAY, a server that does not answer, a QT_QPA_PLATFORM
/// that it does not know. Its own words before that are kept back; if the platform does start, they are
/// printed by release(). One at a time, on the main thread, around the making of QApplication.
class DisplayGuard {
public:
    DisplayGuard();
    ~DisplayGuard();
    DisplayGuard(const DisplayGuard&) = delete;
    DisplayGuard& operator=(const DisplayGuard&) = delete;

    /// The platform has started: messages are Qt's again.
    void release();
};

} // namespace tilescope
