// Whether the user has switched animations off.

#include "tests/support/temporary_folder.h"
#include "ui/theme/motion.h"

#include <QByteArray>

#include <gtest/gtest.h>

#include <fstream>

namespace tilescope::ui {
namespace {

class MotionTest : public ::testing::Test {
protected:
    void SetUp() override { qputenv("XDG_CONFIG_HOME", QByteArray::fromStdString(folder_.path().string())); }
    void TearDown() override
    {
        if (before_.isNull())
            qunsetenv("XDG_CONFIG_HOME");
        else
            qputenv("XDG_CONFIG_HOME", before_);
    }

    void write(const char* file, const char* text) const
    {
        const std::filesystem::path path = folder_ / file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }

    QByteArray before_ = qgetenv("XDG_CONFIG_HOME");
    testing::TemporaryFolder folder_;
};

TEST_F(MotionTest, IsNotReducedWhereNothingSaysSo)
{
    EXPECT_FALSE(prefersReducedMotion());
    write("kdeglobals", "[KDE]\nAnimationDurationFactor=0.5\n");
    write("gtk-3.0/settings.ini", "[Settings]\ngtk-enable-animations=true\n");
    EXPECT_FALSE(prefersReducedMotion());
}

TEST_F(MotionTest, IsReducedWhereKdeHasNoAnimations)
{
    write("kdeglobals", "[KDE]\nAnimationDurationFactor=0\n");
    EXPECT_TRUE(prefersReducedMotion());
}

TEST_F(MotionTest, IsReducedWhereGtkHasNoAnimations)
{
    write("gtk-3.0/settings.ini", "[Settings]\ngtk-enable-animations=0\n");
    EXPECT_TRUE(prefersReducedMotion());
}

} // namespace
} // namespace tilescope::ui
