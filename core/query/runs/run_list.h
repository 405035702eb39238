#pragma once

#include "core/model/telling_keys.h"
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
    /// All runs of the file, or one. \throws Error  a run that is not there; names those that are
    explicit RunList(const store::RunReader& reader, std::optional<RunId> run = {});

    std::size_t size() const { return ids_.size(); }
    /// Valid until another page is read. \throws Error  as the reader
    const RunRow& operator[](std::size_t row) const;

    /// The keys of the spec whose values differ between the runs, and what holds of any of them.
    const std::vector<std::string>& varyingKeys() const { return varyingKeys_; }
    /// Of a run the values that tell it from the others; never `name` and `workload`, which stand beside
    /// them.
    KeyTexts telling(const store::RunRecord& run) const;
    bool anyTelling() const { return anyTelling_; } ///< telling() is not empty for every run
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
    std::vector<std::string> varyingKeys_;
    TellingKeys telling_;
    bool anyTelling_ = false;
    std::vector<Phase> timedPhases_;
    std::vector<std::string> reasons_;
    bool anyFlags_ = false;
    mutable std::vector<RunRow> page_;
    mutable std::size_t pageFrom_ = 0;
    mutable std::size_t pagesRead_ = 0;
};

} // namespace tilescope::query
