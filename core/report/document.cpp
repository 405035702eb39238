#include "core/report/document.h"

#include "core/base/plural.h"

#include <algorithm>

namespace tilescope::report {

std::string textOf(const Caution& caution)
{
    return caution.runs == 0
               ? caution.text
               : caution.text + " (" + counted(static_cast<std::int64_t>(caution.runs), "run") + ")";
}

const Figure* figureOf(const Section& section, const Finding& finding)
{
    if (section.figures.empty())
        return nullptr;
    const auto named = std::ranges::find(section.figures, finding.figure, &Figure::id);
    return named == section.figures.end() ? &section.figures.front() : &*named;
}

} // namespace tilescope::report
