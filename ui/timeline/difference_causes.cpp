#include "ui/timeline/difference_causes.h"

#include "core/query/compare/step_change.h"
#include "core/query/file_session.h"
#include "ui/timeline/timeline_view.h"

#include <QStringList>

namespace tilescope::ui {

namespace {

constexpr std::size_t kMostCauses = 5;

QStringList linesOf(const query::StepChange& change)
{
    QStringList lines;
    for (const std::string& cause : query::causesOf(change, kMostCauses))
        lines << QString::fromStdString(cause);
    return lines;
}

QStringList causesBetween(const SelectedRun& a, const SelectedRun& b)
{
    auto ofA = a.file->borrow();
    auto ofB = b.file->borrow();
    const RunId runsA[] = {a.key.run};
    const RunId runsB[] = {b.key.run};
    const auto change = query::stepChange(ofA->reader(), runsA, ofB->reader(), runsB, {});
    return change ? linesOf(*change) : QStringList();
}

} // namespace

DifferenceCauses::DifferenceCauses(TimelineView& view, QObject* parent) : QObject(parent), view_(view) {}

void DifferenceCauses::setRuns(const std::vector<SelectedRun>& runs)
{
    view_.setCauses({});
    if (runs.size() < 2)
        return reading_.cancel();
    reading_.start(
        [runs](const query::Cancelled& cancelled) {
            std::vector<QStringList> causes;
            for (std::size_t i = 0; i + 1 < runs.size() && !cancelled(); ++i)
                causes.push_back(causesBetween(runs[i], runs[i + 1]));
            return causes;
        },
        [this](std::vector<QStringList> causes) { view_.setCauses(std::move(causes)); },
        [](const QString&) {}); // the timelines of the same files tell that they cannot be read
}

} // namespace tilescope::ui
