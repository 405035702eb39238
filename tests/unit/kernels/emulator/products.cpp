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

/// The products of one thread.
struct ProductQueue {
    std::vector<Product> issued;
    std::deque<std::vector<Product>> committed;
};

namespace {

std::uint64_t unrounded = 0;

ProductQueue& queueOf(unsigned thread)
{
    std::shared_ptr<ProductQueue>& queue = Machine::here().productsOf(thread);
    if (!queue) {
        queue = std::make_shared<ProductQueue>();
    }
    return *queue;
}

float tf32Value(std::uint32_t bits)
{
    constexpr std::uint32_t kIgnored = 0x1fff;
    unrounded += (bits & kIgnored) != 0;
    return std::bit_cast<float>(bits & ~kIgnored);
}

struct Descriptor {
    std::uint32_t address, panelStride, groupStride;

    explicit Descriptor(std::uint64_t bits)
        : address(field(bits, 0)), panelStride(field(bits, 16)), groupStride(field(bits, 32))
    {
        if (bits >> 62 != 1 || (bits >> 49 & 7) != 0) {
            throw std::runtime_error("a descriptor without the 128-byte swizzle, or with a base offset");
        }
    }
    static std::uint32_t field(std::uint64_t bits, int shift)
    {
        return static_cast<std::uint32_t>(bits >> shift & 0x3fff) << 4;
    }
};

float bf16Value(std::uint32_t half)
{
    return std::bit_cast<float>(half << 16);
}

/// Element (row, depth) of an operand in shared memory.
float elementAt(const Product& product, std::uint64_t bits, bool acrossDepth, int row, int depth)
{
    const Descriptor descriptor(bits);
    const std::uint32_t elementBytes = product.kind == Operands::Tf32 ? 4 : 2;
    // Rows of 128 bytes form groups of eight. An operand whose rows run across the depth has panels of 64
    // rows.
    const auto line = static_cast<std::uint32_t>(acrossDepth ? depth : row);
    const auto within = static_cast<std::uint32_t>(acrossDepth ? row % 64 : depth) * elementBytes;
    const std::uint32_t panel =
        acrossDepth ? static_cast<std::uint32_t>(row / 64) * descriptor.panelStride : 0;
    const std::uint32_t address =
        swizzled(descriptor.address + panel + line / 8 * descriptor.groupStride + line % 8 * 128 + within);
    std::uint32_t value = 0;
    std::memcpy(&value, Machine::here().at(address), elementBytes);
    return product.kind == Operands::Tf32 ? tf32Value(value) : bf16Value(value);
}

/// Element (row, depth) of an operand in registers, which the row's four threads share.
float elementOf(const ProductQueue* const (&quad)[4], std::size_t group, std::size_t index, int row,
                int depth)
{
    const Product& product = quad[0]->committed[group][index];
    const auto registersOf = [&](int lane) { return quad[lane]->committed[group][index].fromRegisters; };
    if (product.kind == Operands::Tf32) {
        return tf32Value(registersOf(depth % 4)[row / 8 % 2 + depth / 4 * 2]);
    }
    const std::uint32_t pair = registersOf(depth % 8 / 2)[row / 8 % 2 + depth / 8 * 2];
    return bf16Value(depth % 2 == 0 ? pair & 0xffff : pair >> 16);
}

/// Computes this thread's part of a product.
void multiply(unsigned thread, const ProductQueue* const (&quad)[4], std::size_t group, std::size_t index)
{
    const Product& product = queueOf(thread).committed[group][index];
    const int firstRow = static_cast<int>(thread % 128 / 32 * 16 + thread % 32 / 4);
    for (int i = 0; i < product.columns / 2; ++i) {
        const int row = firstRow + i / 2 % 2 * 8;
        const int column = i / 4 * 8 + static_cast<int>(thread % 4) * 2 + i % 2;
        float sum = product.accumulate ? product.accumulators[i] : 0;
        for (int depth = 0; depth < (product.kind == Operands::Tf32 ? 8 : 16); ++depth) {
            const float first = product.fromRegisters
                                    ? elementOf(quad, group, index, row, depth)
                                    : elementAt(product, product.first, product.firstAcross, row, depth);
            sum += first * elementAt(product, product.second, product.secondAcross, column, depth);
        }
        product.accumulators[i] = sum;
    }
}

/// Executes the oldest groups of a warp until `pending` remain.
void finish(std::size_t pending)
{
    Machine& here = Machine::here();
    here.exchange(0); // all lanes have issued their products
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
    here.exchange(0); // all lanes have read this lane's registers
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
