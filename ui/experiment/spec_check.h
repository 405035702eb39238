#pragma once

#include "core/session/supervisor/supervisor.h"
#include "ui/experiment/spec_form.h"

#include <QString>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::ui {

/// The result of checking a spec: its form and points, or the problems.
struct SpecVerdict {
    QString sentence;                          ///< the problem, with line and column; empty if there is none
    int line = 0;                              ///< line of the problem, from 1; 0 if it has none
    std::optional<SpecForm> form;              ///< null if the text is not a spec
    std::vector<config::SpecProblem> problems; ///< of single keys, for the form
    std::shared_ptr<const std::vector<session::SweepPoint>> points; ///< null if there is a problem

    bool good() const { return points != nullptr; }
};

/// Reads and expands a spec. The cost grows with the sweep: for a worker thread.
/// \param origin  the name of the text in the sentence
SpecVerdict checkSpec(const std::string& yaml, const std::string& origin);

} // namespace tilescope::ui
