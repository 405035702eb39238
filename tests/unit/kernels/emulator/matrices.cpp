// The warp's matrix instructions ldmatrix, stmatrix and mma.sync m16n8k16, after PTX ISA 9.0, 9.7.14.5.
#include "kernels/cuda/common/ptx.h"
#include "kernels/cuda/hopper/common/ptx.h"

#include <bit>
#include <cstring>
#include <stdexcept>

namespace tilescope::kernels {

namespace {

constexpr unsigned kMatrices = 4;

/// Lane l / 8 of each eight gives the address of row l % 8 of a matrix; this lane's word is l % 4 of row l
/// / 4.
std::uint32_t wordOfMatrix(const std::array<std::uint64_t, emulator::kWarpSize>& addresses, unsigned matrix)
{
    const unsigned lane = emulator::Machine::here().lane();
    return static_cast<std::uint32_t>(addresses[matrix * 8 + lane / 4]) + lane % 4 * 4;
}

float half(std::uint64_t pair, int which)
{
    return std::bit_cast<float>(static_cast<std::uint32_t>(which == 0 ? pair << 16 : pair & 0xffff0000U));
}

} // namespace

namespace hopper {

std::uint32_t loadWord(const void* from)
{
    std::uint32_t word = 0;
    std::memcpy(&word, from, sizeof(word));
    return word;
}

void storeMatrices(std::uint32_t address, std::uint32_t first, std::uint32_t second, std::uint32_t third,
                   std::uint32_t fourth)
{
    Machine& here = Machine::here();
    const std::uint32_t words[kMatrices] = {first, second, third, fourth};
    const auto addresses = here.exchange(address);
    for (unsigned matrix = 0; matrix < kMatrices; ++matrix) {
        std::memcpy(here.at(wordOfMatrix(addresses, matrix)), &words[matrix], sizeof(words[matrix]));
    }
    here.exchange(0);
}

} // namespace hopper

namespace ptx {

void loadMatrices(std::uint32_t (&to)[4], std::uint32_t rowAddress)
{
    emulator::Machine& here = emulator::Machine::here();
    const auto addresses = here.exchange(rowAddress);
    for (unsigned matrix = 0; matrix < kMatrices; ++matrix) {
        std::memcpy(&to[matrix], here.at(wordOfMatrix(addresses, matrix)), sizeof(to[matrix]));
    }
}

void loadMatricesTransposed(std::uint32_t (&to)[4], std::uint32_t rowAddress)
{
    emulator::Machine& here = emulator::Machine::here();
    const auto addresses = here.exchange(rowAddress);
    const std::uint32_t column = here.lane() / 4 * 2;
    for (unsigned matrix = 0; matrix < kMatrices; ++matrix) {
        for (unsigned i = 0; i < 2; ++i) {
            const std::uint64_t row = addresses[matrix * 8 + here.lane() % 4 * 2 + i];
            std::memcpy(reinterpret_cast<char*>(&to[matrix]) + i * 2,
                        here.at(static_cast<std::uint32_t>(row) + column), 2);
        }
    }
}

void multiplyBf16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2])
{
    emulator::Machine& here = emulator::Machine::here();
    std::array<std::array<std::uint64_t, emulator::kWarpSize>, 4> left;
    std::array<std::array<std::uint64_t, emulator::kWarpSize>, 2> right;
    for (std::size_t i = 0; i < left.size(); ++i) {
        left[i] = here.exchange(a[i]);
    }
    for (std::size_t i = 0; i < right.size(); ++i) {
        right[i] = here.exchange(b[i]);
    }
    const unsigned group = here.lane() / 4;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned column = here.lane() % 4 * 2 + i % 2;
        for (unsigned depth = 0; depth < 16; ++depth) {
            const unsigned from = depth % 8 / 2;
            c[i] += half(left[i / 2 + depth / 8 * 2][group * 4 + from], depth % 2) *
                    half(right[depth / 8][column * 4 + from], depth % 2);
        }
    }
}

} // namespace ptx

} // namespace tilescope::kernels
