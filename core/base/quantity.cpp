#include "core/base/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

namespace tilescope::quantity {

namespace {

struct Step {
    double divisor;
    const char* suffix;
};

constexpr std::array kTimes{Step{1, "ns"}, Step{1e3, "µs"}, Step{1e6, "ms"}, Step{1e9, "s"}};
constexpr std::array kBytes{Step{1, "B"}, Step{1024, "KiB"}, Step{1024.0 * 1024, "MiB"},
                            Step{1024.0 * 1024 * 1024, "GiB"}, Step{1024.0 * 1024 * 1024 * 1024, "TiB"}};

constexpr std::array kOperations{Step{1, ""},     Step{1e3, "K"},  Step{1e6, "M"}, Step{1e9, "G"},
                                 Step{1e12, "T"}, Step{1e15, "P"}, Step{1e18, "E"}};

constexpr std::array kFlops{Step{1, "FLOP"},     Step{1e3, "KFLOP"},  Step{1e6, "MFLOP"}, Step{1e9, "GFLOP"},
                            Step{1e12, "TFLOP"}, Step{1e15, "PFLOP"}, Step{1e18, "EFLOP"}};
constexpr std::array kFlopRates{Step{1, "FLOP/s"},    Step{1e3, "KFLOP/s"},  Step{1e6, "MFLOP/s"},
                                Step{1e9, "GFLOP/s"}, Step{1e12, "TFLOP/s"}, Step{1e15, "PFLOP/s"}};
constexpr std::array kByteRates{Step{1, "B/s"}, Step{1e3, "KB/s"}, Step{1e6, "MB/s"}, Step{1e9, "GB/s"},
                                Step{1e12, "TB/s"}};

constexpr double kSmallest = 1e-4; // smaller values are written with an exponent

Scale fromSteps(std::span<const Step> steps, double largest, double limit)
{
    Scale scale{steps.front().divisor, steps.front().suffix};
    for (const Step& step : steps.subspan(1))
        if (largest / scale.divisor >= limit)
            scale = {step.divisor, step.suffix};
    return scale;
}

/// Uses a decimal point in every locale.
std::string written(double value, std::chars_format format, int digits)
{
    std::array<char, 64> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value, format, digits);
    return {text.data(), end};
}

/// 1234567 as 1,234,567.
std::string grouped(std::int64_t value)
{
    std::string digits = std::to_string(value);
    const std::size_t first = digits.front() == '-' ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3;) {
        at -= 3;
        digits.insert(at, ",");
    }
    return digits;
}

} // namespace

std::string threeDigits(double value)
{
    const double size = std::abs(value);
    if (!std::isfinite(value))
        return "-";
    if (size == 0)
        return "0";
    // The limits include rounding: 9.996 becomes 10.0, with one decimal.
    if (size >= 99.95)
        return grouped(std::llround(value));
    if (size >= 9.995)
        return written(value, std::chars_format::fixed, 1);
    if (size >= 0.9995)
        return written(value, std::chars_format::fixed, 2);
    if (size < kSmallest)
        return written(value, std::chars_format::scientific, 1);
    const int decimals = 2 - static_cast<int>(std::floor(std::log10(size)));
    const bool carries = std::round(size * std::pow(10.0, decimals)) >= 1000;
    return written(value, std::chars_format::fixed, carries ? decimals - 1 : decimals);
}

std::string Scale::text(double value) const
{
    const double scaled = value / divisor;
    const double size = std::abs(scaled);
    // A value with a unit may be small compared with the largest of its column; a plain number is not scaled.
    if (suffix.empty() || size >= 0.1 || size == 0 || !std::isfinite(scaled))
        return threeDigits(scaled);
    if (size < 0.0005)
        return value < 0 ? ">-0.001" : "<0.001";
    return written(scaled, std::chars_format::fixed, 3);
}

std::string Scale::text(std::int64_t value) const
{
    if (hexadecimal) {
        std::array<char, 16> text{};
        const auto [end, error] =
            std::to_chars(text.data(), text.data() + text.size(), static_cast<std::uint64_t>(value), 16);
        return "0x" + std::string(text.data(), end);
    }
    return divisor == 1 ? grouped(value) : text(static_cast<double>(value));
}

Scale scaleFor(Unit unit, double largest)
{
    switch (unit) {
    case Unit::Nanoseconds:
        return fromSteps(kTimes, largest, 999.5);
    case Unit::Milliseconds: {
        Scale scale = fromSteps(kTimes, largest * 1e6, 999.5);
        scale.divisor /= 1e6;
        return scale;
    }
    case Unit::Bytes:
        return fromSteps(kBytes, largest, 1023.5);
    case Unit::Operations:
        return fromSteps(kOperations, largest, 999.5);
    case Unit::Flops:
        return fromSteps(kFlops, largest, 999.5);
    case Unit::FlopsPerSecond:
        return fromSteps(kFlopRates, largest, 999.5);
    case Unit::BytesPerSecond:
        return fromSteps(kByteRates, largest, 999.5);
    case Unit::Percent:
        return {1, "%"};
    case Unit::Address:
        return {1, {}, true};
    case Unit::None:
        break;
    }
    return {};
}

Scale commonScale(Unit unit, std::span<const double> largest)
{
    double most = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const double each : largest)
        if (each > 0) {
            most = std::max(most, each);
            least = std::min(least, each);
        }
    constexpr double kNextUnit = 1000; // units differ by this factor or 1024
    const Scale scale = scaleFor(unit, most);
    return least / scale.divisor < 0.1 ? scaleFor(unit, most / kNextUnit) : scale;
}

std::string withUnit(double value, Unit unit)
{
    const Scale scale = scaleFor(unit, std::abs(value));
    const std::string number = scale.text(value);
    return scale.suffix.empty() ? number : number + " " + scale.suffix;
}

} // namespace tilescope::quantity
