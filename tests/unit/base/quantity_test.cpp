#include "core/base/quantity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tilescope::quantity {

namespace {

constexpr double kMiB = 1024.0 * 1024;
constexpr double kGiB = 1024 * kMiB;

/// The number at the beginning of a text; NaN if there is none.
double numberIn(std::string text)
{
    std::erase(text, ',');
    try {
        return std::stod(text);
    } catch (const std::exception&) {
        return std::nan("");
    }
}

} // namespace

TEST(Quantity, HasTheUnitOfItsSize)
{
    EXPECT_EQ(withUnit(0, Unit::Bytes), "0 B");
    EXPECT_EQ(withUnit(1023, Unit::Bytes), "1,023 B");
    EXPECT_EQ(withUnit(1024, Unit::Bytes), "1.00 KiB");
    EXPECT_EQ(withUnit(9 * kMiB, Unit::Bytes), "9.00 MiB");
    EXPECT_EQ(withUnit(1023.4 * kMiB, Unit::Bytes), "1,023 MiB");
    EXPECT_EQ(withUnit(1023.6 * kMiB, Unit::Bytes), "1.00 GiB");
    EXPECT_EQ(withUnit(5 * kGiB, Unit::Bytes), "5.00 GiB");
    EXPECT_EQ(withUnit(1500 * kGiB, Unit::Bytes), "1.46 TiB");
    EXPECT_EQ(withUnit(999.4, Unit::Nanoseconds), "999 ns");
    EXPECT_EQ(withUnit(999.6, Unit::Nanoseconds), "1.00 µs");
    EXPECT_EQ(withUnit(12.345, Unit::Milliseconds), "12.3 ms");
    EXPECT_EQ(withUnit(0.5, Unit::Milliseconds), "500 µs");
    EXPECT_EQ(withUnit(-2048, Unit::Bytes), "-2.00 KiB");
    EXPECT_EQ(withUnit(std::nan(""), Unit::Percent), "- %");
}

TEST(Quantity, OfAColumnSharesTheUnitOfTheLargest)
{
    const Scale scale = scaleFor(Unit::Bytes, 5 * kGiB);
    EXPECT_EQ(scale.suffix, "GiB");
    EXPECT_EQ(scale.text(5 * kGiB), "5.00");
    EXPECT_EQ(scale.text(300 * kMiB), "0.293");
    EXPECT_EQ(scale.text(9 * kMiB), "0.009");
    EXPECT_EQ(scale.text(std::int64_t{512}), "<0.001");
    EXPECT_EQ(scale.text(-512.0), ">-0.001");
    EXPECT_EQ(scale.text(std::int64_t{0}), "0");
}

TEST(Quantity, WithoutAUnitHasNoLowerLimit)
{
    EXPECT_EQ(Scale{}.text(0.0171), "0.0171");
    EXPECT_EQ(Scale{}.text(0.09996), "0.100");
    EXPECT_EQ(Scale{}.text(1.25e-7), "1.2e-07");
    EXPECT_EQ(threeDigits(9.996), "10.0");
    EXPECT_EQ(threeDigits(99.96), "100");
    EXPECT_EQ(threeDigits(0.9996), "1.00");
    EXPECT_EQ(threeDigits(1234567.8), "1,234,568");
    EXPECT_EQ(threeDigits(0), "0");
}

TEST(Quantity, IsExactToItsLastDigitAndNotLongerThanNecessary)
{
    const unsigned seed = 7;
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> exponent(-3, 15);
    for (int i = 0; i < 20'000; ++i) {
        const double largest = std::pow(10.0, exponent(random));
        const double value = largest * std::pow(10.0, -std::abs(exponent(random)) / 2);
        for (const Unit unit : {Unit::Nanoseconds, Unit::Bytes, Unit::Operations}) {
            const Scale scale = scaleFor(unit, largest);
            const std::string text = scale.text(value);
            const double scaled = value / scale.divisor;
            if (text == "<0.001") {
                EXPECT_LT(scaled, 0.0005);
                continue;
            }
            EXPECT_NEAR(numberIn(text), scaled, std::max(0.0005, 0.00501 * scaled)) << text << ' ' << value;
            // A plain number has three digits, even if it is very small.
            if (!scale.suffix.empty()) {
                const std::size_t point = std::min(text.find('.'), text.size() - 1);
                EXPECT_LE(text.size() - point - 1, 3u) << text;
                EXPECT_EQ(text.find('e'), std::string::npos) << text;
            }
            // The largest value is at least 1 unless its unit is the smallest.
            if (largest >= 1) {
                EXPECT_GE(numberIn(scale.text(largest)), 0.9) << largest;
            }
        }
    }
}

} // namespace tilescope::quantity
