#pragma once

#include <cstdint>
#include <string>

namespace tilescope::record {

/// A profiler in the program that needs CUPTI for itself.
enum class Profiler : std::uint8_t { Torch, Proton };

/// Which part of a process is recorded: what the options of `tilescope record` ask for. Plain decisions; the
/// recorder acts on them.
struct Window {
    /// The options, from the environment variables that `tilescope record` sets.
    static Window ofThisProcess();

    static constexpr std::int64_t kNoLimit = -1;

    std::int64_t firstStep = 0;       ///< counted from 0
    std::int64_t lastStep = kNoLimit; ///< recorded to its end
    std::int64_t delay = 0;           ///< ns from the start of the process
    std::int64_t length = kNoLimit;   ///< ns from the start of the recording
    std::string range;                ///< the first range with this name starts it; empty: none is waited for
    bool calibrates = false;          ///< recorded and bare blocks of steps alternate, see Calibration
    bool yields = false;              ///< leaves the device to torch.profiler
    bool isFull = false;              ///< also records CUDA calls other than launches
    bool wholeGraphs = false;         ///< a replay of a CUDA graph is one activity
    bool byProfilerApi = false;       ///< cudaProfilerStart starts it and cudaProfilerStop stops it

    /// Whether the process is recorded from its start.
    bool isOpenAtStart() const { return firstStep == 0 && delay == 0 && range.empty() && !byProfilerApi; }
    /// Describes what is recorded; empty: everything.
    std::string text() const;
    bool hasSteps() const { return lastStep != kNoLimit; }
    /// The change at the end of a step.
    enum class Change { None, Start, Stop };
    /// \param ended  the step's number
    Change afterStep(std::int64_t ended) const
    {
        if (ended == lastStep)
            return Change::Stop;
        return ended + 1 == firstStep ? Change::Start : Change::None;
    }
};

} // namespace tilescope::record
