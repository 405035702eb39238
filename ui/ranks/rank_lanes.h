#pragma once

#include "core/query/ranks/rank_tables.h"
#include "core/query/timeline/timeline.h"
#include "ui/kit/table_model.h"

#include <QString>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace tilescope::ui {

/// The ranks of a step one above the other on one clock: their work, and the collectives at which they wait for each
/// other. Times are nanoseconds after `begin`.
struct RankLanes {
    static constexpr std::size_t kMost = 16; ///< ranks shown; of more, the latest

    /// One rank's share of a collective: it waits from `start`, and transfers from `ready`.
    struct Part {
        std::size_t collective = 0; ///< index into `collectives`
        double start = 0;
        double ready = 0;
        double end = 0;
        DeviceIndex device = {};
        StreamId stream = {};
        Timestamp at{}; ///< its start
    };
    struct Collective {
        std::size_t index = 0; ///< into RanksTable::collectives
        QString name;          ///< all_reduce 7
        QString number;        ///< as in the table of collectives; empty: unknown
        QString last;          ///< title of the rank that the others wait for; empty: none
        double first = 0;      ///< start of its first rank
        double afterFirst = 0; ///< how much later `last` starts
        double end = 0;        ///< of its last rank
        double wait = 0;       ///< of all ranks
    };
    /// Rows of a timeline's lane.
    struct Rows {
        std::size_t lane = 0;
        std::vector<std::size_t> rows;
    };
    struct Rank {
        ProcessIndex process = {};
        QString title;
        std::vector<Part> parts = {};  ///< by collective
        std::vector<Rows> work = {};   ///< the busiest last
        std::optional<Rows> idle = {}; ///< why its device is idle
    };

    std::optional<std::int32_t> step; ///< none: the whole recording
    Timestamp begin{};
    double length = 0;
    std::size_t omitted = 0; ///< ranks that are not shown
    std::vector<Rank> ranks;
    std::vector<Collective> collectives;
    std::shared_ptr<const query::Timeline> timeline = {}; ///< null until its work is read

    bool isEmpty() const { return ranks.empty() || length <= 0; }
    /// Takes the work of the ranks from the timeline of the run.
    void setWork(std::shared_ptr<const query::Timeline> run);
    /// The part of a rank in a collective; null if it has none.
    const Part* partOf(std::size_t rank, std::size_t collective) const;
    /// "all_reduce 7: rank 0 waits 2.01 ms for rank 1".
    QString words(std::size_t rank, const Part& part) const;
    TableData table() const;
};

/// \param step   none: the first typical step, or the whole recording if it has no steps
/// \param found  only these processes; none: all
RankLanes rankLanes(const query::RanksTable& table, std::optional<std::int32_t> step,
                    const std::optional<std::set<ProcessIndex>>& found = {});

} // namespace tilescope::ui
