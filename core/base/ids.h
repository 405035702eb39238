#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace tilescope {

/// An integer that identifies one kind of object and converts to no other type. The default value is `none`.
template <class Tag, class Rep, Rep None = Rep(-1)> struct Id {
    Rep value = None;

    static constexpr Id none() noexcept { return {}; }
    constexpr explicit operator bool() const noexcept { return value != None; }
    constexpr auto operator<=>(const Id&) const = default;
};

using RunId = Id<struct RunTag, std::int64_t>;        ///< number of a run in its file, from 1
using StringId = Id<struct StringTag, std::uint32_t>; ///< index into the process' StringTable
using RangeId = Id<struct RangeTag, std::uint32_t>;   ///< number of a host range in its run, from 0
using OpId = Id<struct OpTag, std::uint32_t>;         ///< number of an op in its run, from 0
using StreamId = Id<struct StreamTag, std::uint32_t>; ///< CUPTI's stream number
using ThreadId = Id<struct ThreadTag, std::uint32_t>; ///< host thread, by the kernel's thread number (gettid)
using ProcessIndex = Id<struct ProcessTag, std::int32_t>; ///< number of a process in its run, from 0
using DeviceIndex = Id<struct DeviceTag, std::int16_t>;   ///< CUDA device number; none: the CPU
using CorrelationId =
    Id<struct CorrelationTag, std::uint32_t, 0>; ///< CUPTI's number that connects a launch and its
                                                 ///< activity

} // namespace tilescope

template <class Tag, class Rep, Rep None> struct std::hash<tilescope::Id<Tag, Rep, None>> {
    std::size_t operator()(const tilescope::Id<Tag, Rep, None>& id) const noexcept
    {
        return std::hash<Rep>{}(id.value);
    }
};
