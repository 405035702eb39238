#pragma once

#include "core/store/tracks/totals.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tilescope::store {

/// An index into CallTotals::ops: none.
inline constexpr std::uint32_t kNoOpCall = std::numeric_limits<std::uint32_t>::max();

/// Numbers of steps.
struct StepBits {
    std::int32_t first = kNoStep; ///< kNoStep: none
    /// One bit per step from the first on, lowest bit of a byte first. Empty: unknown, or none.
    std::string bits = {};

    static constexpr std::int64_t kMost = 1 << 16; ///< from the first to the last

    /// \return  false if steps do not come in order or lie too far apart: they must be given up
    bool add(std::int32_t step)
    {
        if (first == kNoStep)
            first = step;
        const std::int64_t place = std::int64_t{step} - first;
        if (place < 0 || place >= kMost)
            return false;
        const auto byte = static_cast<std::size_t>(place / kBits);
        if (byte >= bits.size())
            bits.resize(byte + 1);
        bits[byte] = static_cast<char>(static_cast<unsigned char>(bits[byte]) | 1U << (place % kBits));
        return true;
    }
    template <class Take> void each(Take&& take) const
    {
        for (std::size_t i = 0; i < bits.size() * std::size_t{kBits}; ++i)
            if ((static_cast<unsigned char>(bits[i / kBits]) >> (i % kBits) & 1U) != 0)
                take(static_cast<std::int32_t>(first + static_cast<std::int64_t>(i)));
    }

private:
    static constexpr std::int64_t kBits = 8;
};

/// A group of equal calls of ops: same name, arguments, place, process and caller.
struct OpCallTotal {
    std::uint32_t caller = kNoOpCall; ///< stands before it; none: called by no op
    StringId name = {};
    StringId shapes = {};
    StringId path = {};
    ProcessIndex process = {}; ///< none: the only one of the run
    bool isTraced = false;     ///< in a traced step
    OpId first = {};           ///< of those that launched; none: none did
    std::int64_t calls = 0;
    std::int64_t launching = 0; ///< calls within which an activity of a device was launched
    std::int64_t total = 0;     ///< ns
    std::int64_t self = 0;      ///< ns that no op inside it took
    StepBits steps = {};        ///< in which there were calls; without bits of traced ones: unknown

    bool knowsSteps() const { return !isTraced || !steps.bits.empty(); }
};

/// Kernels, copies or memsets of one name that such calls launched.
struct ActivityTotal : KernelTotal {
    ProcessIndex process = {};
    std::uint32_t op = kNoOpCall; ///< the op that launched them
    bool isTraced = false;
    bool isLaunched = false; ///< the launch was recorded
    bool isReplayed = false; ///< of a CUDA graph
    StepBits steps = {};     ///< in which they ran; without bits of traced ones: unknown

    bool knowsSteps() const { return !isTraced || !steps.bits.empty(); }
};

/// Blocks of one category that such calls allocated, freed or not.
struct AllocationTotal {
    StringId path = {};
    StringId category = {};
    ProcessIndex process = {};
    std::uint32_t op = kNoOpCall;
    bool isTraced = false;
    bool isOnGpu = false;
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
};

/// The totals of the calls of a whole recording, by caller, in the order of their first events.
struct CallTotals {
    std::vector<OpCallTotal> ops = {};
    std::vector<ActivityTotal> activities = {};
    std::vector<AllocationTotal> allocations = {};
    /// Whether each launching call of one step has its own entry, so that work can be counted from the totals.
    bool countsWork = false;
};

} // namespace tilescope::store
