#pragma once

#include "core/model/varying_keys.h"
#include "core/query/runs/run_tables.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// The runs of a file for a list, read a page at a time: memory does not grow with what the runs hold, and
/// going through them in order reads each once.
///
/// Keeps the reader, which must outlive it. One thread.
class RunList {
public:
    /// All runs of the file, or one.
    /// \throws Error  a run that is not there; names those that are
    explicit RunList(const store::RunReader& reader, std::optional<RunId> run = {});

    std::size_t size() const { return ids_.size(); }
    /// Valid until another page is read.
    /// \throws Error  as the reader
    const RunRow& operator[](std::size_t row) const;

    /// The values of a run's spec that differ between the runs; without `name` and `workload`, which have
    /// columns of their own.
    KeyTexts varying(const store::RunRecord& run) const;
    bool anyVarying() const { return anyVarying_; } ///< varying() is not empty for every run
    const std::vector<Phase>& timedPhases() const { return timedPhases_; } ///< in the order of a step
    bool anyFlags() const { return anyFlags_; }

    /// Why runs did not end well: a sentence for each reason, with the runs that it holds for. Of many
    /// reasons the first.
    const std::vector<std::string>& reasons() const { return reasons_; }

    /// How many pages were read: of one pass over the list at most size() / kPage + 1.
    std::size_t pagesRead() const { return pagesRead_; }
    static constexpr std::size_t kPage = 512; ///< more than a terminal shows unless told

private:
    void lookAtAll(std::optional<RunId> run);

    const store::RunReader& reader_;
    std::vector<RunId> ids_;
    VaryingKeys varying_;
    bool anyVarying_ = false;
    std::vector<Phase> timedPhases_;
    std::vector<std::string> reasons_;
    bool anyFlags_ = false;
    mutable std::vector<RunRow> page_;
    mutable std::size_t pageFrom_ = 0;
    mutable std::size_t pagesRead_ = 0;
};

} // namespace tilescope::query
