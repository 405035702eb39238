#include "ui/experiment/queue_list.h"

#include "ui/kit/count_text.h"
#include "ui/kit/label_kind.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kRowsShown = 4; // the rest scrolls
enum Column { Number, Name, Place, First, Second, Third };

QPushButton* makeIconButton(Icon icon, const QString& name)
{
    auto* button = new QPushButton;
    button->setIcon(makeIcon(icon, colours().dimText, sizes().of(12)));
    button->setProperty("kind", "icon");
    button->setAccessibleName(name);
    button->setToolTip(name);
    button->setFocusPolicy(Qt::TabFocus);
    return button;
}

QPushButton* makeLink(const QString& text, const QString& name)
{
    auto* link = new QPushButton(text);
    link->setProperty("kind", "link");
    link->setAccessibleName(name);
    link->setFocusPolicy(Qt::TabFocus);
    return link;
}

QLabel* makeDim(const QString& text)
{
    auto* label = new QLabel(text);
    label->setProperty("kind", "dim");
    return label;
}

QString nameOf(const SweepQueue& queue)
{
    return queue.host().isEmpty() ? QueueList::tr("this machine") : queue.host();
}

QLabel* makeName(const SweepJob& job)
{
    const auto points = std::int64_t(job.points->size());
    auto* name = new QLabel(
        QueueList::tr("%1, %2 → %3").arg(job.name, counted(points, "point"), QFileInfo(job.file).fileName()));
    name->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    name->setToolTip(job.file);
    return name;
}

} // namespace

QueueList::QueueList(SweepQueues& queues, QWidget* parent) : QWidget(parent), queues_(queues)
{
    setObjectName(QStringLiteral("queue"));
    setAccessibleName(tr("Queued sweeps"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    for (SweepQueue* queue : queues_.all())
        connect(queue, &SweepQueue::changed, this, &QueueList::refill);
    connect(&queues_, &SweepQueues::added, this,
            [this](SweepQueue* queue) { connect(queue, &SweepQueue::changed, this, &QueueList::refill); });
    connect(&Theme::instance(), &Theme::changed, this, &QueueList::refill);
    refill();
}

void QueueList::setSummary(const JobSummary& summary)
{
    summaries_[summary.host] = summary;
    const auto label = states_.find(summary.host);
    if (label == states_.end())
        return;
    const QString words =
        summary.left.isEmpty() ? summary.words : summary.words + QStringLiteral(", ") + summary.left;
    if (label->second->text() == words)
        return;
    label->second->setText(words);
    setKind(label->second, summary.isLost ? "warning" : "dim");
}

int QueueList::addRunning(QGridLayout& grid, int row, SweepQueue& queue)
{
    const SweepJob& job = *queue.current();
    auto* sign = new QLabel;
    sign->setPixmap(makeIcon(Icon::Running, colours().running, sizes().of(12)).pixmap(sizes().of(12)));
    grid.addWidget(sign, row, Number);
    grid.addWidget(makeName(job), row, Name);
    QLabel* state = states_[queue.host()] = makeDim({});
    grid.addWidget(state, row, Place);
    QPushButton* show = makeLink(tr("Show"), tr("Show the sweep on %1").arg(nameOf(queue)));
    connect(show, &QPushButton::clicked, this, [this, host = queue.host()] { emit placeWanted(host); });
    grid.addWidget(show, row, First, 1, 2);
    QPushButton* cancel =
        makeIconButton(Icon::Close, tr("Cancel the sweep on %1; again: at once").arg(nameOf(queue)));
    connect(cancel, &QPushButton::clicked, &queue, &SweepQueue::cancel);
    grid.addWidget(cancel, row, Third);
    setSummary(summaries_[queue.host()]);
    return row + 1;
}

int QueueList::addWaiting(QGridLayout& grid, int row, SweepQueue& queue, bool namesPlace)
{
    const int first = row;
    const int last = first + int(queue.waiting().size()) - 1;
    for (const SweepJob& job : queue.waiting()) {
        grid.addWidget(makeDim(QString::number(row - first + 1)), row, Number);
        grid.addWidget(makeName(job), row, Name);
        if (namesPlace)
            grid.addWidget(makeDim(tr("queued for %1").arg(nameOf(queue))), row, Place);
        const auto addButton = [&](Column column, Icon icon, const QString& what, bool enabled, auto does) {
            QPushButton* button = makeIconButton(icon, what.arg(job.name));
            button->setEnabled(enabled);
            connect(button, &QPushButton::clicked, &queue, does);
            grid.addWidget(button, row, column);
        };
        addButton(First, Icon::Up, tr("Run %1 earlier"), row > first,
                  [&queue, id = job.id] { queue.move(id, -1); });
        addButton(Second, Icon::Down, tr("Run %1 later"), row < last,
                  [&queue, id = job.id] { queue.move(id, 1); });
        addButton(Third, Icon::Close, tr("Remove %1 from the queue"), true,
                  [&queue, id = job.id] { queue.remove(id); });
        ++row;
    }
    return row;
}

void QueueList::refill()
{
    if (rows_ != nullptr) {
        rows_->hide();
        rows_->deleteLater(); // the pressed button is one of its children
    }
    states_.clear();
    auto* area = new QScrollArea;
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    auto* content = new QWidget;
    content->setProperty("kind", "form");
    auto* grid = new QGridLayout(content);
    grid->setContentsMargins(sizes().padding, 0, sizes().padding, sizes().of(4));
    grid->setHorizontalSpacing(sizes().of(8));
    grid->setVerticalSpacing(sizes().of(2));
    grid->setColumnStretch(Name, 1);
    const bool hasHosts = std::ranges::any_of(queues_.all(), [](const SweepQueue* queue) {
        return !queue->host().isEmpty() && queue->current() != nullptr;
    });
    int row = 0;
    for (SweepQueue* queue : queues_.all()) {
        if (hasHosts && queue->current() != nullptr)
            row = addRunning(*grid, row, *queue);
        row = addWaiting(*grid, row, *queue, hasHosts);
    }
    area->setWidget(content);
    const int height = std::min(row, kRowsShown) * (sizes().field + sizes().of(4)) + sizes().of(6);
    area->setFixedHeight(height);
    rows_ = area;
    layout()->addWidget(rows_);
    setVisible(row > 0);
}

} // namespace tilescope::ui
