#pragma once

#include "core/exchange/import/foreign_rows.h"
#include "core/exchange/import/step_finder.h"
#include "core/model/run.h"

#include <cstdint>
#include <vector>

namespace tilescope::exchange {

/// The steps of each process of a foreign trace.
class RunSteps {
public:
    /// Finds the steps. Changes the trace: rows of kind Step are then exactly the steps, a computed step becomes
    /// a row behind the others, and the environment says what the steps were found by.
    /// \param trace  numbered, on one time axis; must outlive the object
    explicit RunSteps(ForeignTrace& trace);

    /// The number of the step of a process at that time; kNoStep outside its steps.
    std::int32_t at(ProcessIndex process, std::int64_t time) const;
    /// The steps of the lowest rank; ranks take part in the same steps.
    std::vector<Sample> samples() const;

private:
    void keepSteps(std::size_t process, FoundSteps&& found);
    std::uint32_t mainThreadOf(ProcessIndex process);
    std::vector<KernelInstant> kernelsOfBusiestStream(ProcessIndex process) const;

    ForeignTrace& trace_;
    std::vector<std::vector<FoundStep>> steps_; ///< by process
};

} // namespace tilescope::exchange
