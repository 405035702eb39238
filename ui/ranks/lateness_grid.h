#pragma once

#include "core/query/ranks/rank_tables.h"
#include "ui/kit/table_model.h"

#include <QString>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace tilescope::ui {

/// A grid of how late each rank started each collective: one row per rank, one column per collective.
struct LatenessGrid {
    struct Rank {
        ProcessIndex process = {};
        QString title;
        std::int64_t last = 0;             ///< collectives at which it started last
        double lateness = 0;               ///< sum, ns
        std::optional<double> median = {}; ///< of `late`, ns
    };
    std::vector<Rank> ranks = {};              ///< of more than four, the latest first
    std::vector<std::size_t> collectives = {}; ///< indices into RanksTable::collectives
    std::vector<QString> names = {};           ///< of the collectives: "step 2, all_reduce 7"
    std::vector<QString> numbers = {};         ///< as in the table of collectives; empty: unknown
    /// Nanoseconds after the first rank, row by row; none: not recorded, or its ranks do not overlap in time.
    std::vector<std::optional<double>> late = {};
    double most = 0; ///< largest value of `late`, ns

    bool isEmpty() const { return ranks.empty() || collectives.empty(); }
    const std::optional<double>& at(std::size_t rank, std::size_t column) const
    {
        return late[rank * collectives.size() + column];
    }
    /// "Last to start: rank 1 9 times, rank 2 once, of 11"; empty if no rank was last.
    QString lastWords() const;
    TableData table() const;
};

/// "all_reduce 7", or "all_reduce 7 of group 1" in a run of several groups, which number their collectives apart.
QString collectiveName(const query::RanksTable& table, const query::CollectiveRow& row);

/// The processes of the ranks that a user searches for: by number, title or host. None: all, as nothing is searched for.
std::optional<std::set<ProcessIndex>> foundRanks(const query::RanksTable& table, const QString& text);

/// \param step   none: the collectives of all steps
/// \param found  of foundRanks(): the rows; a value is after the first of all ranks
LatenessGrid latenessGrid(const query::RanksTable& table, std::optional<std::int32_t> step,
                          const std::optional<std::set<ProcessIndex>>& found = {});

} // namespace tilescope::ui
