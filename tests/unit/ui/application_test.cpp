// tests/environment runs these in a locale whose decimal separator is a comma.

#include <QApplication>
#include <QDoubleSpinBox>
#include <QLocale>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tilescope::ui {
namespace {

TEST(Notation, OfNumbersIsTheSameInEveryLocale)
{
    std::array<char, 20> text{};
    std::snprintf(text.data(), text.size(), "%.1f", 0.5);
    EXPECT_STREQ(text.data(), "0.5");
    EXPECT_EQ(std::strtod("0.5", nullptr), 0.5);
    EXPECT_EQ(QLocale().toString(1234.5), QStringLiteral("1234.5"));
    QDoubleSpinBox box;
    box.setValue(0.5);
    EXPECT_EQ(box.text(), QStringLiteral("0.50"));
}

TEST(Notation, OfSystemErrorsIsEnglish)
{
    EXPECT_STREQ(std::strerror(ENOENT), "No such file or directory");
}

} // namespace
} // namespace tilescope::ui
