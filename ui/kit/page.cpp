#include "ui/kit/page.h"

#include <QEvent>

#include <algorithm>

namespace tilescope::ui {

Page::Page(Workspace& workspace, QWidget* parent) : QWidget(parent), workspace_(workspace)
{
    connect(&workspace_, &Workspace::selectionChanged, this, [this] {
        stale_ = true;
        if (isVisible())
            catchUp();
    });
    connect(&workspace_, &Workspace::timeFilterChanged, this, [this] {
        if (!followsTime())
            return;
        stale_ = true;
        if (isVisible())
            catchUp();
    });
    connect(&workspace_, &Workspace::processChanged, this, [this] {
        if (!followsProcess())
            return;
        stale_ = true;
        if (isVisible())
            catchUp();
    });
    connect(&workspace_, &Workspace::runsGrew, this, [this] {
        behind_ = true;
        if (isVisible())
            grow();
    });
    // A file that could not be read changes what the empty page says.
    connect(&workspace_, &Workspace::filesChanged, this, [this] {
        stale_ = stale_ || workspace_.selection().empty();
        if (isVisible() && stale_)
            catchUp();
    });
}

QString Page::timeFilterWords() const
{
    return followsTime() ? tr("This page shows only this.") : tr("This page does not depend on it.");
}

QString Page::processSentence() const
{
    return followsProcess() ? tr("What this page shows belongs to this choice.") : QString();
}

void Page::setFocusTarget(QWidget* target)
{
    focusTarget_ = target;
    if (hasFocus()) // a page that is assembled when it is shown
        takeFocus();
}

void Page::takeFocus()
{
    if (focusTarget_ == nullptr)
        return setFocus();
    if (focusTarget_->isVisible())
        return focusTarget_->setFocus();
    // Until then, the stack of pages has the focus, so that no field receives the page's keys.
    focusTarget_->removeEventFilter(this);
    focusTarget_->installEventFilter(this);
    parentWidget()->setFocus();
}

bool Page::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == focusTarget_ && event->type() == QEvent::Show) {
        focusTarget_->removeEventFilter(this);
        if (window()->focusWidget() == parentWidget())
            focusTarget_->setFocus();
    }
    return QWidget::eventFilter(watched, event);
}

QString Page::emptyText(const QString& fills) const
{
    QStringList problems;
    for (const OpenFile& file : workspace_.files())
        if (!file.problem.isEmpty())
            problems << file.problem;
    if (!problems.isEmpty())
        return problems.join(QStringLiteral("\n"));
    if (workspace_.files().empty())
        return tr("Open a .tscope file (Ctrl+O), or drop one here.") + QLatin1Char('\n') + fills;
    const auto isWithoutRuns = [](const OpenFile& file) {
        return file.snapshot && file.snapshot->runs.empty();
    };
    if (std::ranges::all_of(workspace_.files(), isWithoutRuns))
        return (workspace_.files().size() == 1 ? tr("%1 has no runs.").arg(workspace_.files().front().name())
                                               : tr("The open files have no runs.")) +
               QLatin1Char('\n') + fills;
    return tr("Select a run in the list on the right.") + QLatin1Char('\n') + fills;
}

void Page::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    if (behind_)
        grow();
    if (stale_ || behind_)
        catchUp();
}

void Page::catchUp()
{
    stale_ = behind_ = false;
    showRuns(workspace_.selectedRuns());
}

void Page::grow()
{
    if (!stale_ && showGrown(workspace_.selectedRuns()))
        behind_ = false;
}

} // namespace tilescope::ui
