#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace tilescope {

/// A duration. All measurements use whole nanoseconds.
using Nanoseconds = std::chrono::nanoseconds;

/// The clock of a recording: the host's CLOCK_MONOTONIC. Ranges, ops, allocations and, through CUPTI's
/// timestamp callback, device activities use it. On Linux it is the clock of std::chrono::steady_clock.
struct TraceClock {
    using duration = Nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<TraceClock>;
    static constexpr bool is_steady = true;
    static time_point now() noexcept
    {
        return time_point(std::chrono::steady_clock::now().time_since_epoch());
    }
};
using Timestamp = TraceClock::time_point;

/// Converts nanoseconds of the trace clock to a timestamp.
constexpr Timestamp timestampAt(std::int64_t nanoseconds) noexcept
{
    return Timestamp(Nanoseconds(nanoseconds));
}
constexpr std::int64_t nanosecondsOf(Timestamp time) noexcept
{
    return time.time_since_epoch().count();
}

/// An amount of memory. Signed, because differences can be negative.
struct Bytes {
    std::int64_t count = 0;

    constexpr auto operator<=>(const Bytes&) const = default;
    constexpr Bytes& operator+=(Bytes other) noexcept
    {
        count += other.count;
        return *this;
    }
    constexpr Bytes& operator-=(Bytes other) noexcept
    {
        count -= other.count;
        return *this;
    }
    friend constexpr Bytes operator+(Bytes a, Bytes b) noexcept { return {a.count + b.count}; }
    friend constexpr Bytes operator-(Bytes a, Bytes b) noexcept { return {a.count - b.count}; }
};

namespace literals {
constexpr Nanoseconds operator""_ns(unsigned long long value) noexcept
{
    return Nanoseconds(static_cast<std::int64_t>(value));
}
constexpr Bytes operator""_B(unsigned long long value) noexcept
{
    return {static_cast<std::int64_t>(value)};
}
constexpr Bytes operator""_MiB(unsigned long long value) noexcept
{
    return {static_cast<std::int64_t>(value) << 20};
}
} // namespace literals

} // namespace tilescope
