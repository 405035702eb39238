// Quantisation to E4M3 as plain loops: the reference for the CUDA kernels, and their replacement on a CPU.
#include "kernels/include/fp8.h"

#include <algorithm>
#include <stdexcept>

namespace tilescope::kernels {

namespace {

struct Bf16 {
    std::uint16_t bits = 0;
};

float number(Bf16 value)
{
    return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}
float number(float value)
{
    return value;
}

/// Calls work(T{}) for elements of that type.
template <class Work> void dispatch(ElementType type, const Work& work)
{
    if (type == ElementType::BFloat16)
        return work(Bf16{});
    if (type == ElementType::Float32)
        return work(float{});
    throw std::runtime_error("quantisation to E4M3 takes bf16 and fp32");
}

/// NaNs do not count.
template <class T> float largestOf(const T* x, std::int64_t count)
{
    float largest = 0;
    for (std::int64_t i = 0; i < count; ++i)
        largest = std::fmax(largest, std::fabs(number(x[i])));
    return largest;
}

} // namespace

void quantizeRowsCpu(ElementType type, const QuantizeRows& quantize, std::int64_t begin, std::int64_t end)
{
    dispatch(type, [&]<class T>(T) {
        for (std::int64_t row = begin; row < end; ++row) {
            const T* x = static_cast<const T*>(quantize.x) + row * quantize.width;
            const E4m3Scale scale = E4m3Scale::of(largestOf(x, quantize.width));
            quantize.scales[row] = scale.scale;
            for (std::int64_t i = 0; i < quantize.width; ++i)
                quantize.values[row * quantize.width + i] = e4m3Bits(number(x[i]) * scale.reciprocal);
        }
    });
}

void quantizeMatrixCpu(ElementType type, const QuantizeMatrix& quantize)
{
    dispatch(type, [&]<class T>(T) {
        const T* x = static_cast<const T*>(quantize.x);
        *quantize.largest = largestOf(x, quantize.rows * quantize.width);
        const E4m3Scale scale = E4m3Scale::of(*quantize.largest);
        std::fill_n(quantize.scales, std::max(quantize.rows, quantize.width), scale.scale);
        for (std::int64_t row = 0; row < quantize.rows; ++row)
            for (std::int64_t column = 0; column < quantize.width; ++column) {
                const std::uint8_t bits =
                    e4m3Bits(number(x[row * quantize.width + column]) * scale.reciprocal);
                quantize.values[row * quantize.width + column] = bits;
                quantize.transposed[column * quantize.rows + row] = bits;
            }
    });
}

} // namespace tilescope::kernels
