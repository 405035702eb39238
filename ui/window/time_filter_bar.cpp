#include "ui/window/time_filter_bar.h"

#include "ui/kit/controls.h"
#include "ui/kit/number_text.h"
#include "ui/kit/page.h"
#include "ui/kit/workspace.h"

#include <QPushButton>

namespace tilescope::ui {

TimeFilterBar::TimeFilterBar(Workspace& workspace, QWidget* parent)
    : MessageStrip(parent), workspace_(workspace)
{
    setAccessibleName(tr("Time filter"));
    words().setObjectName(QStringLiteral("timeFilter"));
    QPushButton* clear = addButton(tr("Clear filter"), [this] { workspace_.setTimeFilter({}); });
    clear->setObjectName(QStringLiteral("clearTimeFilter"));
    clear->setToolTip(tr("Show all of the runs again (Ctrl+Shift+T)"));
    connect(&workspace_, &Workspace::timeFilterChanged, this, &TimeFilterBar::follow);
    connect(&workspace_, &Workspace::selectionChanged, this, &TimeFilterBar::follow);
    follow();
}

void TimeFilterBar::setPage(const Page& page)
{
    page_ = &page;
    follow();
}

void TimeFilterBar::follow()
{
    QStringList spans;
    for (const SelectedRun& run : workspace_.selectedRuns())
        if (run.span)
            spans << (run.letter.isEmpty() ? run.letter : run.letter + QLatin1Char(' ')) +
                         spanText(*run.span);
    words().setText(
        tr("Time filter: %1 after the first event. %2")
            .arg(spans.join(QStringLiteral(", ")), page_ == nullptr ? QString() : page_->timeFilterWords()));
    setVisible(!spans.isEmpty());
}

} // namespace tilescope::ui
