#pragma once

#include "core/query/kernels/group_sums.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/run_kernels.h"
#include "core/query/steps/typical_steps.h"
#include "core/store/run_reader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilescope::query {

/// Sums the kernels, families and ranges of each traced step of a run with a GPU, event by event. Each process has
/// steps of its own.
///
/// Ranges come first, then ops, then device events, each kind nearly in start order. Memory grows with the number of
/// distinct kernels and paths of each step. Only steps whose events do not arrive in order, or that have none of a device,
/// are read again. One thread.
class StepGroups {
public:
    /// \param reader  must outlive this object
    /// \param topology  only the steps of this process; empty: of all
    StepGroups(const store::RunReader& reader, RunId run, const ProcessQuery& topology)
        : reader_(reader), run_(run), filter_(reader, run, topology),
          choice_(stepChoice(reader, run, topology)), runKernels_(reader, run)
    {
    }

    void add(const Range& range);
    void add(const Op& op);
    /// Adds all ops from the totals of their calls.
    /// \return  false if the file has no such totals, or not their steps: then add the ops
    bool addStoredOps();
    void add(const DeviceEvent& event);
    /// Returns the groups of the steps that have ranges. Call it last.
    RunGroups take();

private:
    /// The work below a path, on the host or on one device.
    struct PathSum {
        std::uint32_t path = 0; ///< number
        std::int64_t ranges = 0;
        bool hasWork = false; ///< an op or an activity
        Nanoseconds busy{0};  ///< of the device; each instant counts once
        Timestamp until = Timestamp::min();
    };
    struct StepKernel {
        StringId name = {};
        Nanoseconds time{0};
        std::int64_t instances = 0;
    };
    struct Step {
        std::map<DeviceIndex, std::vector<PathSum>> paths; ///< none: of the host
        std::vector<StepKernel> kernels;
        Timestamp from = Timestamp::max();
        Timestamp to = Timestamp::min();
        Timestamp lastStart = Timestamp::min(); ///< of device events
        bool hasRanges = false;
        bool hasDevice = false;
        bool isInOrder = true;

        void cover(Timestamp start, Timestamp end)
        {
            from = std::min(from, start);
            // An event of length 0 overlaps a window that continues after it.
            to = std::max(to, std::max(start, end) + Nanoseconds(1));
        }
    };
    /// The positions of sums in a list, by number of path or kernel.
    class Places {
    public:
        /// Switches to the positions of another list.
        template <class Sum, class NumberOf> void use(const std::vector<Sum>& list, NumberOf&& numberOf)
        {
            ++edition_;
            for (std::size_t i = 0; i < list.size(); ++i)
                note(numberOf(list[i]), i);
        }
        /// kUnknown: not in the list.
        std::size_t of(std::uint32_t number) const
        {
            return number < places_.size() && places_[number].first == edition_ ? places_[number].second
                                                                                : kUnknown;
        }
        void note(std::uint32_t number, std::size_t place)
        {
            if (number >= places_.size())
                places_.resize(std::size_t{number} + 1);
            places_[number] = {edition_, place};
        }
        static constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();

    private:
        std::vector<std::pair<std::uint64_t, std::size_t>> places_;
        std::uint64_t edition_ = 0;
    };
    /// Of a path in one step.
    struct Total {
        bool isKnown = false; ///< it or a path below has ranges or work
        bool hasWork = false;
        std::int64_t ranges = 0;
        Nanoseconds busy{0};
    };
    struct Path {
        std::string text;
        std::uint32_t parent = 0; ///< kNone: it is `step`
    };
    struct Kernel {
        std::uint32_t number = 0;
        DeviceEventKind kind = DeviceEventKind::Kernel;
        std::string_view family = {};
    };
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    /// The number of a step of a process.
    struct StepOf {
        ProcessIndex process = {};
        std::int32_t number = kNoStep;
        auto operator<=>(const StepOf&) const = default;
    };

    Step& stepAt(const StepOf& number);
    void useDevice(DeviceIndex device);
    PathSum& sumOf(std::uint32_t path);
    std::uint32_t pathOf(StringId id);
    std::uint32_t pathNamed(std::string_view text);
    void addKernel(const DeviceEvent& event);
    std::string_view familyOf(StringId name);
    void addRanges(const StepOf& number, const Step& step, GroupSums& ranges);
    /// Of a path in the step that is summed up, like analysis::rangeTotals().
    std::int64_t instancesOf(std::uint32_t path) const;

    const store::RunReader& reader_;
    const RunId run_;
    const ProcessFilter filter_;
    const StepChoice choice_;
    RunKernels runKernels_;
    std::map<StepOf, Step> steps_;
    std::vector<Path> paths_;
    std::unordered_map<StringId, std::uint32_t> pathsById_;
    std::map<std::string, std::uint32_t, std::less<>> pathsByText_;
    std::unordered_map<StringId, Kernel> kernels_;
    std::vector<Total> totals_; ///< by number of path; empty but while a step is summed up
    /// Of the last event of a process: its next is likely to have the same. Events of several processes alternate.
    struct Last {
        StepOf number = {};
        Step* step = nullptr;
        DeviceIndex device{};
        std::vector<PathSum>* sums = nullptr; ///< of the step and device
        Places pathPlaces;                    ///< in `sums`
        Places kernelPlaces;                  ///< in the kernels of the step
    };
    std::unordered_map<ProcessIndex, Last> ofProcesses_;
    Last* last_ = nullptr; ///< of the process of the last event
};

} // namespace tilescope::query
