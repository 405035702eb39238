#pragma once

#include "core/session/supervisor/supervisor.h"
#include "ui/experiment/spec_form.h"

#include <QString>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::ui {

/// What a spec's text comes to: its form and its points, or why it has none.
struct SpecVerdict {
    QString sentence;             ///< what is wrong, with line and column; empty where nothing is
    int line = 0;                 ///< of what is wrong, from 1; 0 where no line is to blame
    std::optional<SpecForm> form; ///< none where the text has not the form of a spec
    std::vector<config::SpecProblem> problems; ///< of single keys, for a form that marks them
    std::shared_ptr<const std::vector<session::SweepPoint>> points; ///< null where something is wrong

    bool good() const { return points != nullptr; }
};

/// Reads and expands a spec. As costly as its sweep is long: for a worker's thread.
/// \param origin  stands where the file's name would in the sentence
SpecVerdict checkSpec(const std::string& yaml, const std::string& origin);

} // namespace tilescope::ui
