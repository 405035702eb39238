#pragma once

namespace tilescope {

/// During its lifetime, an unusable display ends the program with one sentence and exit code 4.
///
/// Qt aborts if its platform cannot start: DISPLAY is missing, the server does not respond, or
/// QT_QPA_PLATFORM is unknown. Construction waits at most five seconds for each address of an X server that
/// DISPLAY names by TCP. Messages that Qt prints before are held back; if the platform starts,
/// release() prints them. One at a time, on the main thread, around the construction of QApplication.
class DisplayGuard {
public:
    DisplayGuard();
    ~DisplayGuard();
    DisplayGuard(const DisplayGuard&) = delete;
    DisplayGuard& operator=(const DisplayGuard&) = delete;

    /// The platform has started: messages go to Qt again.
    void release();
};

} // namespace tilescope
