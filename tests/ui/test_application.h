#pragma once

#include "tests/support/temporary_folder.h"
#include "ui/theme/application.h"

#include <QSettings>

namespace tilescope::testing {

/// The application of a test program. It neither reads nor changes the settings of the person who runs the
/// tests.
class TestApplication : public ui::Application {
public:
    TestApplication(int& argc, char** argv) : Application(argc, argv)
    {
        QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope,
                           QString::fromStdString(settings_.path().string()));
    }

private:
    TemporaryFolder settings_;
};

} // namespace tilescope::testing
