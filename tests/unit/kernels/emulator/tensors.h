#pragma once

#include "kernels/include/attention.h"
#include "tests/unit/kernels/emulator/copies.h"

#include <cuda_bf16.h>

#include <bit>
#include <limits>
#include <random>
#include <vector>

/// Tensors that kernels read and write in the emulator.
namespace tilescope::kernels {

/// The value of a number in the kernel's products.
inline float multiplied(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<float>((bits + 0xfffU + (bits >> 13 & 1)) & ~0x1fffU);
}
inline float multiplied(__nv_bfloat16 value)
{
    return __bfloat162float(value);
}

/// (batch, rows, heads, columns), the layout of a projection's output.
template <class Element> struct Tensor {
    static constexpr int kBytes = sizeof(Element);
    std::int64_t batch, heads, rows;
    int columns;
    std::vector<Element> values;

    Tensor(std::int64_t theBatch, std::int64_t theHeads, std::int64_t theRows, int theColumns)
        : batch(theBatch), heads(theHeads), rows(theRows), columns(theColumns),
          values(static_cast<std::size_t>(theBatch * theHeads * theRows * theColumns),
                 Element(std::numeric_limits<float>::quiet_NaN()))
    {
    }
    std::int64_t headStride() const { return columns; }
    std::int64_t rowStride() const { return heads * columns; }
    std::int64_t batchStride() const { return rows * rowStride(); }
    void fillNormal(std::mt19937_64& random)
    {
        std::normal_distribution<float> normal;
        for (Element& value : values) {
            value = Element(normal(random));
        }
    }
    View<void*> view() { return {values.data(), batchStride(), headStride(), rowStride()}; }
    std::size_t index(std::int64_t b, std::int64_t head, std::int64_t row, std::int64_t column) const
    {
        return static_cast<std::size_t>(b * batchStride() + row * rowStride() + head * headStride() + column);
    }
    Element& at(std::int64_t b, std::int64_t head, std::int64_t row, std::int64_t column)
    {
        return values[index(b, head, row, column)];
    }
    /// In the order (batch, head, row, column), each number converted by `convert`.
    template <class Convert> std::vector<double> dense(const Convert& convert) const
    {
        std::vector<double> result;
        for (std::int64_t b = 0; b < batch; ++b) {
            for (std::int64_t head = 0; head < heads; ++head) {
                for (std::int64_t row = 0; row < rows; ++row) {
                    for (int column = 0; column < columns; ++column) {
                        result.push_back(double{convert(values[index(b, head, row, column)])});
                    }
                }
            }
        }
        return result;
    }
    std::vector<double> asMultiplied() const
    {
        return dense([](Element value) { return multiplied(value); });
    }
    std::vector<double> asStored() const
    {
        return dense([](Element value) { return static_cast<float>(value); });
    }
    emulator::TensorMap map(int boxRows, int boxHeads, bool roundToTf32)
    {
        return {.data = reinterpret_cast<unsigned char*>(values.data()),
                .sizes = {columns, rows, heads, batch},
                .strides = {kBytes * rowStride(), kBytes * headStride(), kBytes * batchStride()},
                .elementBytes = kBytes,
                .boxRows = boxRows,
                .boxHeads = boxHeads,
                .roundToTf32 = roundToTf32};
    }
};

} // namespace tilescope::kernels
