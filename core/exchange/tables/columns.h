#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/exchange/tables/table.h"

#include <optional>
#include <string_view>

namespace tilescope::exchange {

// Converts values of snapshots to cells.

inline Cell cellOf(std::string_view text)
{
    return std::string(text);
}

/// The text, or null if it is empty.
inline Cell cellOrNull(std::string_view text)
{
    return text.empty() ? Cell() : Cell(std::string(text));
}

inline Cell cellOf(Nanoseconds time)
{
    return std::int64_t{time.count()};
}

inline Cell cellOf(Bytes bytes)
{
    return bytes.count;
}

template <class T> Cell cellOf(const std::optional<T>& value)
{
    if (!value)
        return {};
    if constexpr (std::is_same_v<T, Nanoseconds> || std::is_same_v<T, Bytes>)
        return cellOf(*value);
    else
        return Cell(*value);
}

template <class T> inline constexpr bool isOptional = false;
template <class T> inline constexpr bool isOptional<std::optional<T>> = true;

/// A value of any type that rows have; null if it is missing.
template <class T> Cell toCell(const T& value)
{
    if constexpr (isOptional<T>)
        return value ? toCell(*value) : Cell();
    else if constexpr (std::is_same_v<T, Nanoseconds> || std::is_same_v<T, Bytes>)
        return cellOf(value);
    else if constexpr (std::is_convertible_v<T, std::string_view>)
        return cellOf(std::string_view(value));
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        return static_cast<std::int64_t>(value);
    else
        return value;
}

/// The unit that a type of values implies.
template <class T> constexpr Unit unitOf()
{
    if constexpr (std::is_same_v<T, Nanoseconds> || std::is_same_v<T, std::optional<Nanoseconds>>)
        return Unit::Nanoseconds;
    else if constexpr (std::is_same_v<T, Bytes> || std::is_same_v<T, std::optional<Bytes>>)
        return Unit::Bytes;
    else
        return Unit::None;
}

/// `cuda:0`, `cpu`.
inline std::string deviceText(DeviceIndex device)
{
    return device ? "cuda:" + std::to_string(device.value) : "cpu";
}

} // namespace tilescope::exchange
