#pragma once

#include "core/store/rows/read_count.h"
#include "core/store/run_reader.h"

#include <cstddef>
#include <future>
#include <optional>
#include <utility>

namespace tilescope::query {

/// Does `work(reader, side)` for both sides of a comparison at the same time, that of B on another thread.
///
/// \param a, b  may be the same file; B then gets its own reader
/// \return      the results for A and B; they must not refer to a reader
/// \throws      what the work throws; for A if both do
template <class Work> auto onBothSides(const store::RunReader& a, const store::RunReader& b, const Work& work)
{
    std::optional<store::RunReader> another;
    if (&a == &b)
        another.emplace(b.file());
    const store::RunReader& second = another ? *another : b;
    auto right = std::async(std::launch::async, [&, counter = store::ReadCount::ofThisThread()] {
        const store::ReadCount count(counter);
        return work(second, std::size_t{1});
    });
    auto left = work(a, std::size_t{0});
    return std::pair(std::move(left), right.get());
}

} // namespace tilescope::query
