// Widgets need an application. Pictures are drawn without a display, even if the tests are only listed.

#include "tests/ui/test_application.h"

#include <gtest/gtest.h>

int main(int argc, char** argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    qputenv("QT_QPA_PLATFORM", "offscreen");
    const tilescope::testing::TestApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("tilescope-test"));
    QApplication::setOrganizationName(QStringLiteral("tilescope-test"));
    return RUN_ALL_TESTS();
}
