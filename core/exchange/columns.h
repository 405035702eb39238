#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/exchange/table.h"

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

/// `cuda:0`, `cpu`.
inline std::string deviceText(DeviceIndex device)
{
    return device ? "cuda:" + std::to_string(device.value) : "cpu";
}

} // namespace tilescope::exchange
