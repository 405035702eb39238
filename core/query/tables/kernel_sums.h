#pragma once

#include "core/store/tracks/totals.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// Adds up kernels, copies and memsets one by one, by name and path: what a file keeps of its traced steps
/// (store::KernelTotal), for files and selections of which it does not.
class KernelSums {
public:
    void add(const DeviceEvent& event)
    {
        const std::uint64_t name = std::uint64_t{event.name.value} << 2 | std::uint64_t(event.kind);
        const auto [entry, isNew] =
            places_.try_emplace(Key{name, event.path.value}, std::uint32_t(sums_.size()));
        if (isNew)
            sums_.push_back({.kind = event.kind, .name = event.name, .path = event.path});
        sums_[entry->second].add((event.end - event.start).count());
    }
    /// In the order of their first events.
    std::vector<store::KernelTotal> list() && { return std::move(sums_); }

private:
    struct Key {
        std::uint64_t name = 0; ///< and kind
        std::uint64_t path = 0;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept
        {
            return (key.name * 0x9E37'79B9'7F4A'7C15ULL) ^ (key.path * 0xC2B2'AE3D'27D4'EB4FULL >> 7);
        }
    };
    std::unordered_map<Key, std::uint32_t, Hash> places_;
    std::vector<store::KernelTotal> sums_;
};

} // namespace tilescope::query
