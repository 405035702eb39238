#include "ui/experiment/queue_list.h"

#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
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

} // namespace

QueueList::QueueList(SweepQueue& queue, QWidget* parent) : QWidget(parent), queue_(queue)
{
    setObjectName(QStringLiteral("queue"));
    setAccessibleName(tr("Queued sweeps"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    connect(&queue_, &SweepQueue::changed, this, &QueueList::refill);
    connect(&Theme::instance(), &Theme::changed, this, &QueueList::refill);
    refill();
}

void QueueList::refill()
{
    if (rows_ != nullptr) {
        rows_->hide();
        rows_->deleteLater(); // the pressed button is one of its children
    }
    auto* area = new QScrollArea;
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    auto* content = new QWidget;
    content->setProperty("kind", "form");
    auto* grid = new QGridLayout(content);
    grid->setContentsMargins(sizes().padding, 0, sizes().padding, sizes().of(4));
    grid->setHorizontalSpacing(sizes().of(8));
    grid->setVerticalSpacing(sizes().of(2));
    grid->setColumnStretch(1, 1);
    int row = 0;
    const int last = int(queue_.waiting().size()) - 1;
    for (const SweepJob& job : queue_.waiting()) {
        auto* number = new QLabel(QString::number(row + 1));
        number->setProperty("kind", "dim");
        const auto points = std::int64_t(job.points->size());
        auto* name = new QLabel(
            tr("%1, %2 → %3").arg(job.name, counted(points, "point"), QFileInfo(job.file).fileName()));
        name->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
        name->setToolTip(job.file);
        grid->addWidget(number, row, 0);
        grid->addWidget(name, row, 1);
        const auto addButton = [&](int column, Icon icon, const QString& what, bool enabled, auto does) {
            QPushButton* button = makeIconButton(icon, what.arg(job.name));
            button->setEnabled(enabled);
            connect(button, &QPushButton::clicked, this, does);
            grid->addWidget(button, row, column);
        };
        addButton(2, Icon::Up, tr("Run %1 earlier"), row > 0, [this, id = job.id] { queue_.move(id, -1); });
        addButton(3, Icon::Down, tr("Run %1 later"), row < last, [this, id = job.id] { queue_.move(id, 1); });
        addButton(4, Icon::Close, tr("Remove %1 from the queue"), true,
                  [this, id = job.id] { queue_.remove(id); });
        ++row;
    }
    area->setWidget(content);
    const int height = std::min(row, kRowsShown) * (sizes().field + sizes().of(4)) + sizes().of(6);
    area->setFixedHeight(height);
    rows_ = area;
    layout()->addWidget(rows_);
    setVisible(row > 0);
}

} // namespace tilescope::ui
