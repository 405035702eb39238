#pragma once

#include "core/query/memory/oom_report.h"
#include "ui/kit/table_model.h"
#include "ui/overview/overview_figures.h"

#include <memory>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// A part of the memory at the moment of the failed request.
struct LimitPart {
    QString label;
    Swatch swatch;
    double bytes = 0;
};

/// The memory that was in use when a request failed, as parts of a bar from 0.
struct LimitBar {
    std::vector<LimitPart> parts; ///< allocated by category, then reserved but free
    double asked = 0;             ///< the failed request; 0: unknown
    std::optional<double> limit;
    std::optional<double> needed; ///< predicted for the whole step

    double held() const; ///< sum of the parts
};

/// A change that makes the run fit, as a bar on the scale of LimitBar.
struct LimitVariant {
    enum class State { Predicted, Measured, Failed };
    QString words;    ///< change, bytes and step time
    double bytes = 0; ///< peak: measured if there is one, otherwise predicted
    State state = State::Predicted;
    std::size_t suggestion = 0; ///< its index
};

LimitBar limitBar(const query::OomReport& report);

/// A bar per suggestion.
/// \param runs  the last run of each suggestion, null for none; empty: none was run
std::vector<LimitVariant> limitVariants(const query::OomReport& report,
                                        const std::vector<const query::RunSummary*>& runs = {});

/// Cards of a run that was out of memory: where it ended, what was requested, free, held and needed, and the
/// steps before it.
std::vector<KeyFigure> oomFigures(const query::OomReport& report, const query::RunSummary& run);

/// A row a holder of memory; the id is its index.
TableData holderRows(const query::OomReport& report);

/// One row per change that makes the run fit; the id is the index of the suggestion. The last column has room for a
/// button and its text.
/// \param runs      the last run of each suggestion, null for none; what they measured stands beside the prediction
/// \param isQueued  whether each suggestion is queued; empty: none is
TableData fitRows(const query::OomReport& report, const std::vector<const query::RunSummary*>& runs = {},
                  const std::vector<bool>& isQueued = {});

/// `backend flash, precision bf16`.
QString wordsOf(const predict::Suggestion& suggestion);

} // namespace tilescope::ui
