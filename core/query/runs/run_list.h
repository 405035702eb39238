#pragma once

#include "core/config/varying_keys.h"
#include "core/query/runs/run_tables.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// The runs of a file for a list, read page by page: memory use does not depend on the number of runs, and
/// sequential access reads each run once.
///
/// Keeps a reference to the reader. One thread.
class RunList {
public:
    /// The parts of all runs that are read before the first run is shown.
    enum class Survey {
        Whole, ///< varying keys, timed phases, flags and reasons
        None,  ///< reads no varying keys: JSON and CSV do not need them
    };
    /// All runs of the file, or one.
    /// \throws Error  there is no such run; lists the existing ones
    explicit RunList(const store::RunReader& reader, std::optional<RunId> run = {},
                     Survey survey = Survey::Whole);

    std::size_t size() const { return ids_.size(); }
    /// Valid until another page is read.
    /// \throws Error  from the reader
    const RunRow& operator[](std::size_t row) const;

    /// The keys of a run's spec that differ between the runs, except `name` and `workload`, which have their
    /// own columns.
    config::KeyTexts varying(const store::RunRecord& run) const;
    bool anyVarying() const { return anyVarying_; } ///< whether varying() is non-empty for some run
    const std::vector<Phase>& timedPhases() const { return timedPhases_; } ///< in the order of a step
    bool anyFlags() const { return anyFlags_; }

    /// A sentence for each reason of failure, with the runs concerned. If a run has several reasons, the
    /// first counts.
    const std::vector<std::string>& reasons() const { return reasons_; }

    /// The number of pages read; at most size() / kPage + 1 for one sequential pass.
    std::size_t pagesRead() const { return pagesRead_; }
    static constexpr std::size_t kPage = 512; ///< more than a terminal shows by default

private:
    void lookAtAll(std::optional<RunId> run, Survey survey);

    const store::RunReader& reader_;
    std::vector<RunId> ids_;
    config::VaryingKeys varying_;
    bool anyVarying_ = false;
    std::vector<Phase> timedPhases_;
    std::vector<std::string> reasons_;
    bool anyFlags_ = false;
    mutable std::vector<RunRow> page_;
    mutable std::size_t pageFrom_ = 0;
    mutable std::size_t pagesRead_ = 0;
};

} // namespace tilescope::query
