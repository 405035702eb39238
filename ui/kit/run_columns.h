#pragma once

#include "core/query/file_session.h"
#include "ui/kit/table_cells.h"

#include <QString>

#include <vector>

namespace tilescope::ui {

/// A run of several, by its letter and title.
struct NamedRun {
    QString letter; ///< may be empty
    QString title;
    const query::RunSummary* summary = nullptr;
};

/// The columns that tables of runs share, with units that suit all of their runs.
class RunColumns {
public:
    /// Takes the next of the runs into account; they need not outlive the call.
    void cover(const query::RunSummary& run);

    /// Name with its letter. Takes the remaining width.
    static TableColumn nameColumn();
    static TableCell name(const NamedRun& run);
    /// The reason of a failure is on hover.
    static TableColumn statusColumn();
    static TableCell status(const NamedRun& run);
    TableColumn medianColumn() const;
    /// \param nanoseconds  none: no step was timed
    TableCell median(std::optional<double> nanoseconds) const;
    /// Of the median of the step.
    TableColumn intervalColumn() const;
    TableCell interval(const NamedRun& run) const;
    /// As long as the median.
    TableCell medianBar(const NamedRun& run) const;
    TableColumn peakColumn() const;
    TableCell peak(const NamedRun& run) const;
    TableCell peakBar(const NamedRun& run) const;

    /// A ratio of two values; a dash if one is missing or the second is 0.
    static TableCell ratio(std::optional<double> of, std::optional<double> to);

private:
    Unit time() const { return timeUnit(longest_); }
    Unit bytes() const { return byteUnit(largest_); }

    double longest_ = 0; // ns
    double largest_ = 0; // bytes
};

/// The median timed step in ns; none if no step was timed.
std::optional<double> medianStepOf(const query::RunSummary& run);
std::optional<double> peakAllocatedOf(const query::RunSummary& run);

} // namespace tilescope::ui
