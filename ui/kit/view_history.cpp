#include "ui/kit/view_history.h"

#include <QHeaderView>
#include <QLineEdit>

#include <memory>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr std::size_t kMostChanges = 200;
constexpr qint64 kAtOnceMs = 600; // between turns of the wheel, or letters of a filter

} // namespace

ViewHistory* ViewHistory::of(const QWidget& view)
{
    return view.window()->findChild<ViewHistory*>();
}

void ViewHistory::note(QWidget& view, Change change)
{
    ViewHistory* history = of(view);
    if (history == nullptr)
        return;
    change.where = &view;
    history->add(std::move(change));
}

void ViewHistory::add(Change change)
{
    if (isMoving_)
        return;
    const bool isAtOnce = sinceLast_.isValid() && sinceLast_.elapsed() < kAtOnceMs;
    const bool follows = isAtOnce && !past_.empty() && !past_.back().isGone() && future_.empty() &&
                         !change.series.isEmpty() && past_.back().change.series == change.series &&
                         past_.back().change.where == change.where;
    sinceLast_.start();
    future_.clear();
    if (follows) {
        past_.back().change.redo = std::move(change.redo);
    } else {
        Step step;
        step.isOfView = !change.where.isNull();
        step.isOfThing = change.of != nullptr;
        step.of = change.of;
        change.of.reset();
        step.change = std::move(change);
        past_.push_back(std::move(step));
        if (past_.size() > kMostChanges)
            past_.erase(past_.begin());
    }
    emit changed();
}

void ViewHistory::move(std::vector<Step>& from, std::vector<Step>& to, std::function<void()> Change::*does)
{
    while (!from.empty() && from.back().isGone())
        from.pop_back();
    if (from.empty())
        return emit changed();
    Step step = std::move(from.back());
    from.pop_back();
    isMoving_ = true;
    if (step.isOfView)
        emit concerns(step.change.where);
    (step.change.*does)();
    isMoving_ = false;
    sinceLast_.invalidate();
    to.push_back(std::move(step));
    emit changed();
}

void ViewHistory::undo()
{
    move(past_, future_, &Change::undo);
}

void ViewHistory::redo()
{
    move(future_, past_, &Change::redo);
}

QString ViewHistory::nameOf(const std::vector<Step>& steps)
{
    for (auto step = steps.rbegin(); step != steps.rend(); ++step)
        if (!step->isGone())
            return step->change.name;
    return {};
}

QString ViewHistory::undoName() const
{
    return nameOf(past_);
}

QString ViewHistory::redoName() const
{
    return nameOf(future_);
}

void noteFilter(QLineEdit& field)
{
    QObject::connect(&field, &QLineEdit::textChanged, &field,
                     [&field, last = field.text()](const QString& now) mutable {
                         const QString before = std::exchange(last, now);
                         ViewHistory::note(field, {.name = QObject::tr("filter"),
                                                   .undo = [&field, before] { field.setText(before); },
                                                   .redo = [&field, now] { field.setText(now); },
                                                   .series = QStringLiteral("filter")});
                     });
}

void noteSorting(QWidget& view, QHeaderView& header)
{
    using Sorting = std::pair<int, Qt::SortOrder>;
    const auto now = std::make_shared<Sorting>(header.sortIndicatorSection(), header.sortIndicatorOrder());
    const auto before = std::make_shared<Sorting>(*now);
    QObject::connect(&header, &QHeaderView::sortIndicatorChanged, &view,
                     [now, before](int column, Qt::SortOrder order) {
                         *before = std::exchange(*now, Sorting{column, order});
                     });
    // The header turns its indicator before it says that it was clicked.
    QObject::connect(&header, &QHeaderView::sectionClicked, &view, [&view, &header, now, before] {
        const auto sortBy = [&header](const Sorting& by) { header.setSortIndicator(by.first, by.second); };
        ViewHistory::note(view, {.name = QObject::tr("sorting"),
                                 .undo = [sortBy, by = *before] { sortBy(by); },
                                 .redo = [sortBy, by = *now] { sortBy(by); }});
    });
}

} // namespace tilescope::ui
