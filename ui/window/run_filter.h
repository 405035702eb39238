#pragma once

#include "core/query/file_session.h"

#include <QString>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::ui {

/// The filter of the run list: words, each of which a run must match, regardless of case.
///
/// `key:text`: the value of the key begins with the text. `key=value`: it is the value. Both may have several, with
/// commas between them, one of which suffices. Any other word: a value, a name or the note contains it. Quotes hold
/// spaces. Keys are those of a spec, and status, study, sweep, workload, device, flags, tag and note; `#12` is a
/// number.
class RunFilter {
public:
    RunFilter() = default;
    explicit RunFilter(const QString& words);

    bool isEmpty() const { return terms_.empty(); }
    /// O(keys of the run), without allocations.
    bool matches(const query::RunSummary& run) const;

    /// Whether `words` ask for this value of a key.
    static bool has(const QString& words, const QString& key, const QString& value);
    /// `words` with `key=value`, or without it if they have it.
    static QString toggled(const QString& words, const QString& key, const QString& value);

private:
    struct Term {
        std::string key;                 ///< empty: any
        std::vector<std::string> values; ///< in small letters
        bool isWhole = false;            ///< the whole value

        bool operator==(const Term&) const = default;
    };
    static std::vector<Term> parse(const QString& words);
    static QString text(const std::vector<Term>& terms);
    static bool matches(const query::RunSummary& run, const Term& term);

    std::vector<Term> terms_;
};

/// A key with several values among the runs of a list.
struct RunFacet {
    QString key;
    std::vector<std::pair<QString, std::size_t>> values; ///< in natural order, with the number of runs
};

/// The keys by which a click can filter the runs of these files: keys with at least two but only a few values.
std::vector<RunFacet> facetsOf(const std::vector<const query::FileSnapshot*>& files);

/// The keys that facetsOf() looks at, with the values of one run; without those that it lacks.
std::vector<std::pair<QString, QString>> facetValues(const query::RunSummary& run);

} // namespace tilescope::ui
