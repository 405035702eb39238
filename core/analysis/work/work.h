#pragma once

#include "core/base/units.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilescope::analysis {

/// An amount of arithmetic: floating-point operations. A multiplication and the addition of its product count
/// two.
struct Flops {
    std::int64_t count = 0;

    constexpr auto operator<=>(const Flops&) const = default;
    constexpr Flops& operator+=(Flops other) noexcept
    {
        count += other.count;
        return *this;
    }
    friend constexpr Flops operator+(Flops a, Flops b) noexcept { return {a.count + b.count}; }
    friend constexpr Flops operator*(Flops a, std::int64_t times) noexcept { return {a.count * times}; }
};

/// What a computation needs at least: its arithmetic, and the bytes that cross between memory and processor
/// if every operand is read once and every result is written once.
struct Work {
    Flops flops{};
    Bytes bytes{};

    constexpr bool operator==(const Work&) const = default;
    constexpr Work& operator+=(Work other) noexcept
    {
        flops += other.flops;
        bytes += other.bytes;
        return *this;
    }
};

} // namespace tilescope::analysis
