#pragma once

#include "core/query/file_session.h"

#include <QString>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::ui {

/// Titles of runs shown together: backend, the sequence length of attention experiments, and whatever else
/// differs among them. The runs stay valid as long as it adds more; O(runs).
class RunTitles {
public:
    RunTitles() = default;
    explicit RunTitles(const query::FileSnapshot& runs);
    explicit RunTitles(const std::vector<const query::RunSummary*>& runs);
    void add(const query::RunSummary& run);
    QString of(const query::RunSummary& run, bool withPrecision) const;
    /// The same for narrow places: keys are one or two letters, and those that follow from others are left out:
    /// "flash-torch 4k h2 d64". Runs of a file whose titles differ have different short titles.
    QString shortOf(const query::RunSummary& run, bool withPrecision) const;
    /// The short title without a backend and a sequence length that all runs of the file share.
    QString briefOf(const query::RunSummary& run, bool withPrecision) const;
    /// Only what differs, with whole keys: "naive batch 8", "N 512". The title if nothing differs.
    QString variedOf(const query::RunSummary& run, bool withPrecision) const;

private:
    enum class Length { Long, Short, Brief, Varied };
    struct Group {
        const query::RunSummary* first = nullptr;
        std::set<std::string_view> varying;   ///< keys
        std::set<std::string_view> redundant; ///< of these, the ones that short titles do without
    };
    void findRedundant(const std::vector<const query::RunSummary*>& runs);

    QString titleOf(const query::RunSummary& run, bool withPrecision, Length length) const;

    std::map<std::string, Group> groups_; ///< by workload
};

} // namespace tilescope::ui
