#include "ui/experiment/spec_check.h"

#include "core/base/error.h"

#include <charconv>

namespace tilescope::ui {

namespace {

// The line of `origin:line:column`; 0 if the place is another.
int lineOf(const std::string& where, const std::string& origin)
{
    int line = 0;
    if (where.starts_with(origin + ':'))
        std::from_chars(where.data() + origin.size() + 1, where.data() + where.size(), line);
    return line;
}

} // namespace

SpecVerdict checkSpec(const std::string& yaml, const std::string& origin)
{
    SpecVerdict verdict;
    try {
        verdict.form = SpecForm::fromYaml(yaml, origin);
        verdict.points = std::make_shared<const std::vector<session::SweepPoint>>(
            session::numbered(config::expand(verdict.form->document())));
    } catch (const Error& error) {
        verdict.sentence = QString::fromStdString(error.sentence());
        verdict.line = lineOf(error.where, origin);
        if (verdict.form)
            verdict.problems = config::problemsOf(verdict.form->document());
    }
    return verdict;
}

} // namespace tilescope::ui
