#pragma once

#include <QApplication>

namespace tilescope::ui {

/// The application object of every program with a window.
///
/// QApplication adopts the locale of the environment, which changes how C functions and widgets write
/// numbers. This class restores the notation of the command line, so that a number reads the same in both:
/// "0.5" everywhere.
class Application : public QApplication {
public:
    Application(int& argc, char** argv);
};

} // namespace tilescope::ui
