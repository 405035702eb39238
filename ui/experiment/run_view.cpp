#include "ui/experiment/run_view.h"

#include "core/config/schema.h"
#include "core/session/supervisor/sweep_text.h"
#include "ui/experiment/live_plots.h"
#include "ui/experiment/point_grid_view.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/label_kind.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QStyle>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr int kPaintEveryMs = 100;
constexpr int kReadEveryMs = 300;
constexpr int kClockMs = 1000;
constexpr int kLogLines = 2000;
constexpr qsizetype kLinesAtOnce = 500; // at most
constexpr int kSweepBarSteps = 1000;
constexpr double kLeastPoints = 76;      // height for a few points
constexpr double kMostLeastPoints = 190; // that a grid may take before it scrolls
constexpr double kLeastPlot = 140;       // in a low window the page scrolls
constexpr const char* kGridKey = "experiment/grid";

QString clockText(double seconds)
{
    const int whole = int(seconds);
    return QStringLiteral("%1:%2")
        .arg(whole / 60, 2, 10, QLatin1Char('0'))
        .arg(whole % 60, 2, 10, QLatin1Char('0'));
}

} // namespace

RunView::RunView(SweepQueue& queue, QWidget* parent)
    : QWidget(parent), queue_(queue), splitter_(new QSplitter(Qt::Vertical))
{
    splitter_->setObjectName(QStringLiteral("runSplitter"));
    splitter_->setProperty("kind", "gap");
    splitter_->setHandleWidth(sizes().gap);
    splitter_->setChildrenCollapsible(false);
    makePlainColumn(this)->addWidget(splitter_);
    splitter_->addWidget(makePoints());
    splitter_->addWidget(makeLive());
    splitter_->setStretchFactor(0, 3);
    splitter_->setStretchFactor(1, 2);

    paintSoon_.setSingleShot(true);
    readSoon_.setSingleShot(true);
    connect(&paintSoon_, &QTimer::timeout, this, &RunView::paint);
    connect(&readSoon_, &QTimer::timeout, this, [this] { emit recorded(file_); });
    connect(&clock_, &QTimer::timeout, this, [this] { emit summarized(summary()); });
    connect(&queue_, &SweepQueue::began, this, &RunView::begin);
    connect(&queue_, &SweepQueue::passedOver, this, [this](const std::vector<std::int64_t>& indexes) {
        progress_.passOver(indexes);
        log({tr("%1 in the file already").arg(counted(std::ssize(indexes), "point"))});
        paintSoon_.start(kPaintEveryMs);
    });
    connect(&queue_, &SweepQueue::reported, this, &RunView::take);
    connect(&queue_, &SweepQueue::runsArrived, this, [this] { emit recorded(file_); });
    connect(&queue_, &SweepQueue::placeChanged, this, [this] {
        logPlace();
        if (!paintSoon_.isActive())
            paintSoon_.start(kPaintEveryMs);
    });
    connect(&queue_, &SweepQueue::ended, this, &RunView::end);
    connect(&queue_, &SweepQueue::changed, this, &RunView::paint);
    connect(&Theme::instance(), &Theme::changed, this, &RunView::dress);
    dress();
    live_->hide();
    statusRow_->hide();
}

QWidget* RunView::makePoints()
{
    pointsPanel_ = new Panel(tr("Points"));
    status_ = new SentenceLabel;
    status_->setObjectName(QStringLiteral("status"));
    status_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    machine_ = new QPushButton(tr("What this machine has →"));
    machine_->setObjectName(QStringLiteral("machineLink"));
    machine_->setProperty("kind", "link");
    machine_->hide();
    connect(machine_, &QPushButton::clicked, this, &RunView::machineWanted);
    bar_ = new QProgressBar;
    bar_->setObjectName(QStringLiteral("progress"));
    bar_->setRange(0, kSweepBarSteps);
    bar_->setTextVisible(false);
    bar_->setFixedWidth(sizes().of(180));
    bar_->setAccessibleName(tr("Progress of the sweep"));
    counts_ = new QLabel;
    counts_->setObjectName(QStringLiteral("counts"));
    counts_->setProperty("kind", "dim");
    statusRow_ = new QWidget;
    auto* top = new QHBoxLayout(statusRow_);
    top->setContentsMargins(sizes().padding, sizes().of(6), sizes().padding, sizes().of(6));
    top->setSpacing(sizes().of(12));
    top->addWidget(bar_);
    top->addWidget(status_, 1);
    top->addWidget(machine_);
    top->addWidget(counts_);
    table_ = new TableView;
    table_->setAccessibleName(tr("Points"));
    auto* content = new QVBoxLayout;
    content->setContentsMargins(0, 0, 0, 0);
    content->setSpacing(0);
    content->addWidget(statusRow_);
    gridView_ = new PointGridView;
    connect(gridView_, &PointGridView::cellText, this, &RunView::cellText);
    connect(gridView_, &PointGridView::chosen, this, [this](std::size_t at) { choosePoint(at, false); });
    connect(gridView_, &PointGridView::activated, this, [this](std::size_t at) { choosePoint(at, true); });
    connect(table_, &TableView::chosen, this,
            [this](std::int64_t id) { choosePoint(std::size_t(id), false); });
    connect(table_, &TableView::activatedRow, this,
            [this](std::int64_t id) { choosePoint(std::size_t(id), true); });
    views_ = new QStackedWidget;
    views_->addWidget(gridView_);
    views_->addWidget(table_);
    SentenceLabel* nothing = makeMessage();
    nothing->setText(tr("The points of the spec and their results appear here."));
    views_->addWidget(nothing);
    content->addWidget(views_, 1);
    choice_ = new SegmentedControl({tr("Grid"), tr("List")});
    choice_->setObjectName(QStringLiteral("pointsAs"));
    connect(choice_, &SegmentedControl::changed, this, [this](int index) { chooseView(index == 0); });
    pointsPanel_->addToHeader(choice_);
    choice_->hide();
    views_->setCurrentWidget(nothing);
    pointsPanel_->setContent(content);
    return pointsPanel_;
}

QWidget* RunView::makeLive()
{
    auto* row = new QSplitter(Qt::Horizontal);
    row->setObjectName(QStringLiteral("liveSplitter"));
    row->setProperty("kind", "gap");
    row->setHandleWidth(sizes().gap);
    row->setChildrenCollapsible(false);
    stepsPanel_ = new Panel(tr("Steps"));
    steps_ = new StepsPlot;
    steps_->setObjectName(QStringLiteral("steps"));
    memoryPanel_ = new Panel(tr("Memory"));
    memory_ = new HeldMemoryPlot;
    memory_->setObjectName(QStringLiteral("memory"));
    for (const auto& [panel, plot] :
         {std::pair<Panel*, ThemedPlot*>(stepsPanel_, steps_), {memoryPanel_, memory_}}) {
        plot->setMinimumSize(sizes().of(180), sizes().of(kLeastPlot));
        panel->setContent(plot);
        row->addWidget(panel);
    }
    logPanel_ = new Panel(tr("Log"));
    log_ = new QPlainTextEdit;
    log_->setObjectName(QStringLiteral("log"));
    log_->setAccessibleName(tr("Log"));
    log_->setAcceptDrops(false);
    log_->setFrameShape(QFrame::NoFrame);
    log_->setReadOnly(true);
    log_->setMaximumBlockCount(kLogLines);
    log_->setPlaceholderText(tr("The log of the engine appears here."));
    log_->document()->setDocumentMargin(sizes().of(8));
    logPanel_->setContent(log_);
    row->addWidget(logPanel_);
    live_ = row;
    return row;
}

void RunView::dress()
{
    log_->setFont(Theme::instance().mono());
}

void RunView::setPlan(std::shared_ptr<const SweepPlan> plan)
{
    plan_ = std::move(plan);
    if (queue_.current() != nullptr || plan_ == nullptr)
        return;
    // The results of the last sweep stay until the spec describes other points.
    if (!showsPlan_ && plan_->progress.isOf(progress_))
        return;
    showsPlan_ = true;
    statusRow_->hide();
    live_->hide();
    setGrid(plan_->grid);
    paintPoints();
}

void RunView::choosePoint(std::size_t position, bool opens)
{
    if (showsPlan_ || position >= progress_.points().size())
        return; // nothing has run yet
    const SweepProgress::PointState& point = progress_.points()[position];
    if (point.run == 0 && point.standing != SweepProgress::Standing::Stored)
        return;
    // The runs of a host get other numbers here.
    emit runChosen(file_, queue_.host().isEmpty() ? point.run : 0,
                   QString::fromStdString(config::specHash(progress_.specOf(position))), opens);
}

void RunView::setGrid(const std::optional<PointGrid>& grid)
{
    grid_ = grid;
    if (grid_)
        gridView_->setGrid(*grid_);
    choice_->setVisible(grid_.has_value());
    const bool wanted = QSettings().value(QLatin1String(kGridKey), true).toBool();
    choice_->setCurrent(wanted ? 0 : 1);
    views_->setCurrentWidget(grid_ && wanted ? static_cast<QWidget*>(gridView_) : table_);
    // On a small screen the points keep their height before everything else, including a scroll bar.
    const int rows = grid_ ? gridView_->wantedHeight() + sizes().of(14) : sizes().of(kLeastPoints);
    views_->setMinimumHeight(std::clamp(rows, sizes().of(kLeastPoints), sizes().of(kMostLeastPoints)));
}

void RunView::chooseView(bool grid)
{
    QSettings().setValue(QLatin1String(kGridKey), grid);
    views_->setCurrentWidget(grid ? static_cast<QWidget*>(gridView_) : table_);
    paintPoints();
}

void RunView::begin()
{
    const SweepJob& job = *queue_.current();
    const std::shared_ptr<const SweepPlan> plan = job.plan != nullptr ? job.plan : SweepPlan::of(job.points);
    progress_ = plan->progress;
    file_ = job.file;
    showsPlan_ = false;
    setGrid(plan->grid);
    log_->clear();
    statusRow_->show();
    live_->show();
    machine_->hide();
    place_ = PlaceState::Kind::Ready;
    say(queue_.host().isEmpty() ? tr("The engine starts") : tr("The sweep starts on %1").arg(queue_.host()),
        "dim");
    paint();
}

// One line for each change, none for the progress of a copy.
void RunView::logPlace()
{
    const PlaceState& place = queue_.place();
    if (std::exchange(place_, place.kind) == place.kind)
        return;
    if (place.kind == PlaceState::Kind::Installing || place.kind == PlaceState::Kind::Fetching) {
        log({place.kind == PlaceState::Kind::Installing ? tr("Copying Tilescope to %1").arg(queue_.host())
                                                        : tr("Fetching the runs of %1").arg(queue_.host())});
        return;
    }
    log({place.kind == PlaceState::Kind::Ready ? tr("Connected to %1").arg(queue_.host())
                                               : placeSentence(queue_.host(), place)});
}

void RunView::take(const std::vector<session::Event>& events)
{
    QStringList lines;
    for (const session::Event& event : events) {
        if (const QString line = progress_.take(event); !line.isEmpty())
            lines << line;
        // The file exists from its first point on, and each result adds a run to it.
        const bool newRow = std::holds_alternative<session::PointEvent>(event) ||
                            std::holds_alternative<session::ResultEvent>(event);
        if (newRow && queue_.host().isEmpty() && !readSoon_.isActive())
            readSoon_.start(kReadEveryMs);
    }
    log(lines);
    if (!paintSoon_.isActive())
        paintSoon_.start(kPaintEveryMs);
}

void RunView::log(const QStringList& lines)
{
    if (lines.isEmpty())
        return;
    const QString at = clockText(queue_.activeSeconds()) + QStringLiteral("  ");
    QStringList stamped;
    for (qsizetype i = std::max<qsizetype>(0, lines.size() - kLinesAtOnce); i < lines.size(); ++i)
        stamped << at + lines[i];
    log_->appendPlainText(stamped.join(QLatin1Char('\n')));
}

void RunView::end(const SweepEnd& end)
{
    paintSoon_.stop();
    readSoon_.stop();
    clock_.stop();
    paint();
    const QString error = progress_.lastError();
    const QString last = error.isEmpty() ? QString() : tr("; last error: %1").arg(error);
    if (!end.failure.isEmpty()) {
        say(end.failure, "error");
        log({end.failure});
    } else if (end.isLeft) {
        say(tr("The sweep goes on on %1 and is followed when the window starts again").arg(queue_.host()),
            "dim");
    } else if (end.left != nullptr) {
        say(tr("Paused after %1").arg(progress_.words(0)), "dim");
    } else if (end.cancelled) {
        say(tr("Cancelled: %1").arg(progress_.words(0)) + last, "dim");
    } else {
        say(tr("Done: %1").arg(progress_.words(0)) + last, error.isEmpty() ? "dim" : "error");
    }
    if (end.arrived > 0)
        log({tr("%1 of %2 added to %3")
                 .arg(counted(end.arrived, "run"), queue_.host(), QFileInfo(file_).fileName())});
    machine_->setVisible(!end.failure.isEmpty() && queue_.host().isEmpty());
    if (QFileInfo::exists(file_))
        emit recorded(file_);
}

void RunView::sayState()
{
    using State = SweepQueue::State;
    const State state = queue_.state();
    const PlaceState& place = queue_.place();
    if (!queue_.isRunning())
        return; // end() has said how it ended
    if (place.isLost() && state == State::Stopping)
        say(tr("%1 is out of reach: the sweep is cancelled when it can be reached. End now leaves it there.")
                .arg(queue_.host()),
            "warning");
    else if (place.kind != PlaceState::Kind::Ready)
        say(placeSentence(queue_.host(), place), place.isLost() ? "warning" : "dim");
    else if (state == State::Stopping)
        say(tr("Stopping after this step"), "dim");
    else if (progress_.current() != nullptr)
        say((state == State::Pausing ? tr("Pausing after this point: ") : QString()) +
                progress_.words(queue_.activeSeconds()),
            "dim");
}

void RunView::paint()
{
    emit summarized(summary());
    if (queue_.isRunning() && !clock_.isActive())
        clock_.start(kClockMs); // the remaining time counts down between events
    if (showsPlan_)
        return;
    paintPoints();
    const PlaceState& place = queue_.place();
    const bool isCopying =
        place.kind == PlaceState::Kind::Installing || place.kind == PlaceState::Kind::Fetching;
    bar_->setValue(int((isCopying ? place.fraction : progress_.fraction()) * kSweepBarSteps));
    counts_->setText(progress_.counts());
    sayState();
    const SweepProgress::PointState* point = progress_.current();
    const QString nothing = queue_.isRunning() ? tr("No step has ended yet.") : tr("No step has ended.");
    steps_->show(progress_.steps(), progress_.stepsToDo(), nothing);
    stepsPanel_->setSubtitle(steps_->summary() + QStringLiteral("   ") +
                             (point != nullptr ? point->label : QString()));
    memory_->show(progress_.memory(), progress_.stepsToDo(), nothing);
    memoryPanel_->setSubtitle(memory_->summary());
    logPanel_->setSubtitle(QFileInfo(file_).fileName());
}

void RunView::paintPoints()
{
    if (showsPlan_ && plan_ == nullptr)
        return;
    const SweepProgress& shown = showsPlan_ ? plan_->progress : progress_;
    const bool asGrid = views_->currentWidget() == gridView_;
    if (asGrid)
        gridView_->show(shown);
    else
        table_->show(shown.table());
    const SweepJob* job = queue_.current();
    pointsPanel_->setTitle(showsPlan_ || job == nullptr ? tr("Points") : tr("Points of %1").arg(job->name));
    const QString across =
        grid_ ? (QStringList(grid_->rowKey) + grid_->columnKeys).join(QStringLiteral(", ")) : QString();
    pointsPanel_->setSubtitle(asGrid ? tr("step time by %1").arg(across) : shown.shownPart());
}

void RunView::say(const QString& sentence, const char* kind)
{
    status_->setText(sentence);
    setKind(status_, kind);
}

JobSummary RunView::summary() const
{
    using State = SweepQueue::State;
    JobSummary summary;
    const State state = queue_.state();
    const std::size_t waiting = queue_.waiting().size();
    summary.host = queue_.host();
    summary.isLost = queue_.isRunning() && queue_.place().isLost();
    summary.shown = state != State::Idle;
    summary.moving = state == State::Running;
    summary.canCancel = queue_.current() != nullptr;
    summary.cancelWord = state == State::Stopping ? tr("End now") : tr("Cancel");
    const QString word = state == State::Held       ? tr("held")
                         : state == State::Stopping ? tr("stopping")
                         : state == State::Pausing  ? tr("pausing")
                                                    : tr("running");
    const QString placed = queue_.isRunning() ? placeWord(queue_.place()) : QString();
    const QString prefix = queue_.host().isEmpty()
                               ? word
                               : queue_.host() + QLatin1Char(' ') + (placed.isEmpty() ? word : placed);
    if (queue_.current() != nullptr) {
        summary.words =
            QStringLiteral("%1 %2/%3").arg(prefix).arg(progress_.finished()).arg(progress_.points().size());
        summary.fraction = progress_.fraction();
        if (const auto left = progress_.secondsLeft(queue_.activeSeconds());
            left && state == State::Running && !summary.isLost)
            summary.left = tr("ETA %1").arg(QString::fromStdString(session::durationText(*left)));
    } else {
        summary.words = prefix;
    }
    if (waiting > 0)
        summary.words += tr(", %1 queued").arg(waiting);
    return summary;
}

} // namespace tilescope::ui
