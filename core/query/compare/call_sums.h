#pragma once

#include "core/query/compare/step_side.h"

#include <cstdint>
#include <string>
#include <unordered_map>

namespace tilescope::query {

inline double nsOf(Nanoseconds time)
{
    return static_cast<double>(time.count());
}

/// Adds up calls by the ids of path and name, which is quicker than by text.
class CallSums {
public:
    CallSums(const store::RunReader& reader, CallTimes& calls) : reader_(reader), calls_(calls) {}

    void add(StringId path, StringId name, DeviceEventKind kind, Nanoseconds time)
    {
        constexpr int kHalf = 32;
        const auto [known, isNew] =
            known_.try_emplace(std::uint64_t{path.value} << kHalf | name.value, nullptr);
        if (isNew)
            known->second = &calls_[{.place = path ? alignedModule(reader_.text(path)) : std::string(),
                                     .name = std::string(reader_.text(name)),
                                     .kind = kind}];
        *known->second += nsOf(time);
    }

private:
    const store::RunReader& reader_;
    CallTimes& calls_;
    std::unordered_map<std::uint64_t, double*> known_;
};

} // namespace tilescope::query
