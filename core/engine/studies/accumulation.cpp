#include "core/engine/common/device.h"
#include "core/engine/common/inspection.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace tilescope::engine {
namespace {

constexpr int kTimes = 1000;
constexpr double kAddend = 0.01;

struct Way {
    const char* name;
    at::ScalarType addend;
    at::ScalarType sum;
    bool cast; ///< the addend is first cast to the sum's type
};

constexpr std::array kWays{Way{"fp32_into_fp32", at::kFloat, at::kFloat, false},
                           Way{"fp16_into_fp16", at::kHalf, at::kHalf, false},
                           Way{"fp16_into_fp32", at::kHalf, at::kFloat, false},
                           Way{"fp16_cast_into_fp32", at::kHalf, at::kFloat, true}};

double onDevice(const Way& way, const Device& device)
{
    const auto options = at::device(device.torch());
    at::Tensor sum = at::zeros({}, options.dtype(way.sum));
    for (int i = 0; i < kTimes; ++i) {
        const at::Tensor addend = at::scalar_tensor(kAddend, options.dtype(way.addend));
        sum.add_(way.cast ? addend.to(way.sum) : addend);
    }
    return sum.to(at::kDouble).item<double>();
}

double rounded(double value, at::ScalarType type)
{
    return type == at::kHalf ? roundedTo(value, 11, -14, 15) : roundedTo(value, 24, -126, 127);
}

// A sum of two numbers of either format is exact in fp64, so rounding it once gives the same as hardware.
double byArithmetic(const Way& way)
{
    const double addend = rounded(kAddend, way.addend);
    double sum = 0;
    for (int i = 0; i < kTimes; ++i)
        sum = rounded(sum + addend, way.sum);
    return sum;
}

std::string exactText(double value)
{
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.9g", value);
    return text.data();
}

} // namespace

double roundedTo(double value, int significand, int smallest, int largest)
{
    if (value == 0 || !std::isfinite(value))
        return value;
    int exponent = 0;
    std::frexp(value, &exponent); // value = f 2^exponent with f in [0.5, 1)
    const int unit = std::max(exponent, smallest + 1) - significand;
    const double result = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
    const double most = std::ldexp(2 - std::ldexp(1, 1 - significand), largest);
    return std::abs(result) > most ? std::copysign(std::numeric_limits<double>::infinity(), value) : result;
}

std::vector<EnvironmentEntry> inspectAccumulation(const Device& device)
{
    std::vector<EnvironmentEntry> facts;
    for (const Way& way : kWays) {
        const std::string key = c10::str("result.", way.name);
        facts.push_back({key, exactText(onDevice(way, device))});
        facts.push_back({key + ".arithmetic", exactText(byArithmetic(way))});
    }
    facts.push_back({"result.exact", exactText(kTimes * kAddend)});
    return facts;
}

} // namespace tilescope::engine
