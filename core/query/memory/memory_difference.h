#pragma once

#include "core/base/units.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// Whose blocks are compared: those alive when most was allocated, or when the recording ended.
enum class MemoryMoment : std::uint8_t { Peak, End };

/// One run's memory at its moment.
struct HeldSide {
    MemoryMoment moment = MemoryMoment::Peak;
    bool recorded = false; ///< whether the run has allocation events
    Bytes allocated{};
    Bytes reserved{};
};

/// Blocks with the same key in both runs.
struct HeldDifference {
    std::string key = {};
    std::int64_t blocksA = 0;
    std::int64_t blocksB = 0;
    Bytes a{};
    Bytes b{};

    Bytes change() const { return b - a; }
    /// none, new, gone, grown, shrunk, or count: as many bytes in another number of blocks.
    std::string_view verdict() const;
};

/// The memory of run B compared with run A. Each list adds up to what the allocators counted; the largest
/// change is first.
struct MemoryDifference {
    HeldSide a = {};
    HeldSide b = {};
    std::vector<HeldDifference> categories = {};
    std::vector<HeldDifference> ops = {};
    std::vector<HeldDifference> modules = {};
    std::vector<HeldDifference> ranges = {}; ///< of an imported snapshot: stacks
    std::vector<HeldDifference> sizes = {};  ///< of single blocks; the key is their bytes
};

/// \param moment  none: the end of an imported snapshot, the peak of a run
/// \throws Error  no such run
MemoryDifference memoryDifference(const store::RunReader& a, RunId runA, const store::RunReader& b,
                                  RunId runB, std::optional<MemoryMoment> moment = {});

} // namespace tilescope::query
