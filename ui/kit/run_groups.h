#pragma once

#include "core/model/run_counts.h"
#include "ui/kit/run_titles.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::ui {

/// The runs of a file, of a study or of a sweep.
struct RunGroup {
    QString name; ///< of the study, of the sweep, or of both: `benchmarking`, `sizes`, `benchmarking: sizes`
    int parent = -1;                 ///< a group before this one; -1: this is the file
    std::vector<std::uint32_t> runs; ///< that are in no subgroup; indices into the snapshot's
    RunCounts counts;                ///< with those of the subgroups
    RunTitles titles;                ///< of `runs`
};

/// The runs of a file, grouped by study and sweep. Runs that were recorded or imported, and runs that share their
/// name with no other, are in no group below the file; if all runs belong to one sweep, that sweep is the file.
///
/// Immutable; any thread. O(runs).
class RunGroups {
public:
    explicit RunGroups(std::shared_ptr<const query::FileSnapshot> snapshot);

    const query::FileSnapshot& snapshot() const { return *snapshot_; }
    /// The first is the file.
    const std::vector<RunGroup>& groups() const { return groups_; }
    /// The group that has a run of its own.
    /// \param run  index into the snapshot's
    const RunGroup& groupOf(std::size_t run) const { return groups_[groupOf_[run]]; }
    /// Titles among all runs of the file.
    const RunTitles& titles() const { return titles_; }

private:
    int groupNamed(const QString& name, int parent);
    void place();

    std::shared_ptr<const query::FileSnapshot> snapshot_;
    std::vector<RunGroup> groups_;
    std::vector<std::uint32_t> groupOf_;
    RunTitles titles_;
};

} // namespace tilescope::ui
