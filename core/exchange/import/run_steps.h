#pragma once

#include "core/analysis/time/step_walls.h"
#include "core/exchange/import/foreign_rows.h"
#include "core/exchange/import/launch_index.h"
#include "core/exchange/import/rows_by_process.h"
#include "core/exchange/import/step_finder.h"
#include "core/model/run.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::exchange {

/// The steps of each process of a foreign trace.
class RunSteps {
public:
    /// Finds the steps. Changes the trace: afterwards, rows of kind Step are exactly the steps; rows of
    /// computed steps follow the other rows; the environment states how the steps were found.
    /// Periods of the kernels that are parts of one replayed graph, or of one call of a module, are layers and no steps.
    /// \param trace   numbered, on one time axis; must outlive the object
    /// \param chosen  name of the ranges that are steps, with or without the number at its end; empty: found by the rules
    /// \throws Error  the trace has no range of this name
    explicit RunSteps(ForeignTrace& trace, std::string_view chosen = {});

    /// The number of the step of a process at that time; kNoStep outside its steps.
    std::int32_t at(ProcessIndex process, std::int64_t time) const;
    /// The step that device work belongs to: the step of its launch. If the launch is unknown or the steps
    /// are times of the device, the step at the time of the work.
    /// \param launch  null: unknown
    std::int32_t ofWork(ProcessIndex process, const Launch* launch, std::int64_t start) const;
    /// Adds device work with its step. It may extend the time of the step.
    void addWork(ProcessIndex process, const DeviceEvent& work);
    /// Notes that the times of device work in this interval are doubtful.
    void doubt(ProcessIndex process, std::int64_t start, std::int64_t end);
    /// Notes a launch on the host.
    void noteLaunch(ProcessIndex process, std::int64_t time, bool hasActivity);
    /// The numbers of the steps that cannot be judged: `3-5, 9`. Empty if there are none.
    std::string unjudged() const;
    /// The times (analysis::StepWalls) of the steps of the lowest rank; ranks take part in the same steps.
    std::vector<Sample> samples() const;

private:
    struct Launches {
        std::int64_t all = 0;
        std::int64_t missing = 0; ///< without activities in the recording
    };

    void keepSteps(std::vector<FoundSteps>&& all);
    std::uint32_t addThreadOfSteps(ProcessIndex process);
    std::vector<std::vector<KernelInstant>> kernelsOfBusiestStreams(const std::vector<bool>& isWanted) const;
    bool areLayers(const TraceByProcess& rows, ProcessIndex process, const FoundSteps& periods) const;
    [[noreturn]] void refuse(std::string_view chosen) const;

    ForeignTrace& trace_;
    struct OfProcess {
        std::vector<FoundStep> steps;
        analysis::StepWalls walls;
        std::vector<Launches> launches;                              ///< by step
        std::vector<std::pair<std::int64_t, std::int64_t>> doubtful; ///< intervals
        bool areOnDevice = false;
    };
    std::vector<OfProcess> processes_;
};

} // namespace tilescope::exchange
