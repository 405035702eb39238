#include "tests/unit/kernels/emulator/products.h"

#include "tests/unit/kernels/emulator/copies.h"
#include "tests/unit/kernels/emulator/machine.h"

#include <bit>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <utility>

namespace tilescope::kernels::emulator {

/// Of one thread.
struct ProductQueue {
    std::vector<Product> issued;
    std::deque<std::vector<Product>> committed;
};

namespace {

constexpr int kDepth = 8;
std::uint64_t unrounded = 0;

ProductQueue& queueOf(unsigned thread)
{
    std::shared_ptr<ProductQueue>& queue = Machine::here().productsOf(thread);
    if (!queue) {
        queue = std::make_shared<ProductQueue>();
    }
    return *queue;
}

float operandValue(std::uint32_t bits)
{
    constexpr std::uint32_t kIgnored = 0x1fff;
    unrounded += (bits & kIgnored) != 0;
    return std::bit_cast<float>(bits & ~kIgnored);
}

/// Element (row, depth) of an operand in shared memory whose rows run along the depth.
float elementAt(std::uint64_t descriptor, int row, int depth)
{
    const auto field = [descriptor](int shift) {
        return static_cast<std::uint32_t>(descriptor >> shift & 0x3fff) << 4;
    };
    const auto swizzle = descriptor >> 62;
    const auto baseOffset = descriptor >> 49 & 7;
    if (swizzle != 1 || baseOffset != 0) {
        throw std::runtime_error("a descriptor without the 128-byte swizzle, or with a base offset");
    }
    const std::uint32_t groupStride = field(32);
    const std::uint32_t address = field(0) + static_cast<std::uint32_t>(row / 8) * groupStride +
                                  static_cast<std::uint32_t>(row % 8 * 128 + depth * 4);
    std::uint32_t bits = 0;
    std::memcpy(&bits, Machine::here().at(swizzled(address)), sizeof(bits));
    return operandValue(bits);
}

/// Element (row, depth) of an operand in registers: that row's four threads hold two elements each.
float elementOf(const ProductQueue* const (&quad)[4], std::size_t group, std::size_t index, int row,
                int depth)
{
    const std::uint32_t* registers = quad[depth % 4]->committed[group][index].fromRegisters;
    return operandValue(registers[row / 8 % 2 + depth / 4 * 2]);
}

/// What this thread owns of one product.
void multiply(unsigned thread, const ProductQueue* const (&quad)[4], std::size_t group, std::size_t index)
{
    const Product& product = queueOf(thread).committed[group][index];
    const int firstRow = static_cast<int>(thread % 128 / 32 * 16 + thread % 32 / 4);
    for (int i = 0; i < product.columns / 2; ++i) {
        const int row = firstRow + i / 2 % 2 * 8;
        const int column = i / 4 * 8 + static_cast<int>(thread % 4) * 2 + i % 2;
        float sum = product.accumulate ? product.accumulators[i] : 0;
        for (int depth = 0; depth < kDepth; ++depth) {
            const float first = product.fromRegisters ? elementOf(quad, group, index, row, depth)
                                                      : elementAt(product.first, row, depth);
            sum += first * elementAt(product.second, column, depth);
        }
        product.accumulators[i] = sum;
    }
}

/// Does the oldest groups of a warp until `pending` are left.
void finish(std::size_t pending)
{
    Machine& here = Machine::here();
    here.exchange(0); // the others have issued theirs
    const unsigned thread = here.thread();
    ProductQueue& mine = queueOf(thread);
    const std::size_t count = mine.committed.size() > pending ? mine.committed.size() - pending : 0;
    const unsigned first = thread / 4 * 4;
    const ProductQueue* const quad[4] = {&queueOf(first), &queueOf(first + 1), &queueOf(first + 2),
                                         &queueOf(first + 3)};
    for (std::size_t group = 0; group < count; ++group) {
        for (std::size_t index = 0; index < mine.committed[group].size(); ++index) {
            multiply(thread, quad, group, index);
        }
    }
    here.exchange(0); // the others have read my registers
    mine.committed.erase(mine.committed.begin(), mine.committed.begin() + static_cast<std::ptrdiff_t>(count));
}

} // namespace

void issue(const Product& product)
{
    queueOf(Machine::here().thread()).issued.push_back(product);
}

void commit()
{
    ProductQueue& mine = queueOf(Machine::here().thread());
    mine.committed.push_back(std::move(mine.issued));
    mine.issued.clear();
    if (Machine::here().productPace() == Pace::Early) {
        finish(0);
    }
}

void awaitProducts(int pending)
{
    finish(static_cast<std::size_t>(pending));
}

std::uint64_t takeUnroundedOperands()
{
    return std::exchange(unrounded, 0);
}

} // namespace tilescope::kernels::emulator
