#include "ui/theme/application.h"

#include <QLocale>

#include <clocale>

namespace tilescope::ui {

Application::Application(int& argc, char** argv) : QApplication(argc, argv)
{
    std::setlocale(LC_NUMERIC, "C");
    // The system's messages become parts of our sentences, which are English.
    std::setlocale(LC_MESSAGES, "C");
    QLocale::setDefault(QLocale::c());
}

} // namespace tilescope::ui
