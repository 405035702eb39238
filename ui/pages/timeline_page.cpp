#include "ui/pages/timeline_page.h"

#include "core/query/kernel_stats.h"
#include "ui/pages/controls.h"
#include "ui/pages/timeline_panel.h"
#include "ui/plots/number_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>

#include <algorithm>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr int kFindAfterMs = 80;
constexpr std::size_t kMostRows = 1000;
constexpr std::size_t kMostRings = 400;
constexpr std::size_t kMostPaths = 60;
constexpr int kPathRole = Qt::UserRole + 1;

// A button that is one of a pair, with an icon.
QPushButton* pairButton(Icon icon, const char* segment, const QString& name, const QString& tip)
{
    auto* button = new QPushButton;
    button->setProperty("kind", "icon");
    button->setProperty("segment", segment);
    button->setAccessibleName(name);
    button->setToolTip(tip);
    button->setFocusPolicy(Qt::TabFocus);
    const auto dress = [button, icon] { button->setIcon(makeIcon(icon, colours().text, sizes().of(14))); };
    dress();
    QObject::connect(&Theme::instance(), &Theme::changed, button, dress);
    return button;
}

QWidget* pairOfButtons(QPushButton* first, QPushButton* second)
{
    auto* pair = new QWidget;
    auto* layout = new QHBoxLayout(pair);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(first);
    layout->addWidget(second);
    return pair;
}

std::vector<std::shared_ptr<const query::Timeline>> timelinesOf(const std::vector<SelectedRun>& runs,
                                                                const query::Cancelled& cancelled)
{
    std::vector<std::shared_ptr<const query::Timeline>> timelines;
    for (const SelectedRun& run : runs)
        if (!cancelled())
            timelines.push_back(run.file->timeline(run.key.run, cancelled));
    return timelines;
}

std::vector<RunKey> keysOf(const std::vector<SelectedRun>& runs)
{
    std::vector<RunKey> keys;
    for (const SelectedRun& run : runs)
        keys.push_back(run.key);
    return keys;
}

bool isBeingWritten(const std::vector<SelectedRun>& runs)
{
    return std::any_of(runs.begin(), runs.end(),
                       [](const SelectedRun& run) { return run.run->result.status == RunStatus::Running; });
}

} // namespace

TimelinePage::TimelinePage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), alignment_(new ComboBox(tr("Align runs at"))),
      scale_(new Segments({tr("same time"), tr("same length")})),
      find_(makeFindField(tr("Find kernel, op or range"), tr("Find on the timeline"))),
      stack_(new QStackedWidget), message_(makeMessage()), view_(new TimelineView),
      splitter_(new QSplitter(Qt::Vertical)), panel_(new TimelinePanel(workspace))
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    splitter_->addWidget(view_);
    splitter_->addWidget(panel_);
    splitter_->setStretchFactor(0, 1);
    splitter_->setHandleWidth(1);
    splitter_->setSizes({sizes().of(600), sizes().of(200)});
    stack_->addWidget(message_);
    stack_->addWidget(splitter_);
    layout->addWidget(stack_, 1);
    setFocusProxy(view_);

    findSoon_.setSingleShot(true);
    connect(&findSoon_, &QTimer::timeout, this, &TimelinePage::find);
    connect(view_, &TimelineView::cursorMoved, this, &Page::cursorText);
    connect(panel_, &TimelinePanel::selectionText, this, &Page::selectionText);
    connect(view_, &TimelineView::selectionChanged, this, [this] { panel_->follow(view_->scene()); });
    connect(view_, &TimelineView::spanChanged, this, [this] { panel_->follow(view_->scene()); });
    connect(panel_, &TimelinePanel::foundChosen, this, &TimelinePage::goToFound);
    connect(view_, &TimelineView::windowChanged, this, [this] {
        back_->setEnabled(view_->canGoBack());
        forward_->setEnabled(view_->canGoForward());
    });
}

QWidget* TimelinePage::makeTools()
{
    auto* tools = new ToolBar;
    tools->addWord(tr("Align"));
    alignment_->setMinimumWidth(sizes().of(120));
    alignment_->setToolTip(tr("What lies at 0 in every run"));
    tools->add(alignment_);
    tools->addGap();
    tools->addWord(tr("Scale"));
    scale_->setToolTip(tr("One time axis, or what runs are aligned at drawn equally long"));
    tools->add(scale_);
    tools->addGap();
    makeFind(*tools);
    tools->addStretch();
    makeZoom(*tools);
    connect(alignment_, &QComboBox::activated, this, &TimelinePage::align);
    connect(scale_, &Segments::changed, this, &TimelinePage::align);
    return tools;
}

void TimelinePage::makeFind(ToolBar& tools)
{
    find_->setMinimumWidth(sizes().of(200));
    find_->setToolTip(tr("Boxes whose name holds this text (/)"));
    tools.add(find_);
    foundCount_ = new QLabel;
    foundCount_->setObjectName(QStringLiteral("found"));
    foundCount_->setProperty("kind", "dim");
    tools.add(foundCount_);
    auto* previous =
        pairButton(Icon::ChevronLeft, "first", tr("Previous found box"), tr("Previous found box (Shift+N)"));
    auto* next = pairButton(Icon::ChevronRight, "last", tr("Next found box"), tr("Next found box (N)"));
    tools.add(pairOfButtons(previous, next));
    connect(previous, &QPushButton::clicked, this, [this] { stepThroughFound(-1); });
    connect(next, &QPushButton::clicked, this, [this] { stepThroughFound(1); });
    connect(find_, &QLineEdit::textChanged, this, [this] { findSoon_.start(kFindAfterMs); });
    connect(find_, &QLineEdit::returnPressed, this, [this] { stepThroughFound(1); });
    for (const auto& [key, by] :
         {std::pair(QKeySequence(Qt::Key_N), 1), std::pair(QKeySequence(Qt::SHIFT | Qt::Key_N), -1)}) {
        auto* shortcut = new QShortcut(key, view_, nullptr, nullptr, Qt::WidgetShortcut);
        connect(shortcut, &QShortcut::activated, this, [this, by = by] { stepThroughFound(by); });
    }
}

void TimelinePage::makeZoom(ToolBar& tools)
{
    tools.addWord(tr("Zoom"));
    back_ = pairButton(Icon::Back, "first", tr("Zoom back"), tr("Back to the window before (Alt+Left)"));
    forward_ = pairButton(Icon::Forward, "last", tr("Zoom forward"), tr("Forward again (Alt+Right)"));
    back_->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Left));
    forward_->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Right));
    tools.add(pairOfButtons(back_, forward_));
    connect(back_, &QPushButton::clicked, view_, &TimelineView::back);
    connect(forward_, &QPushButton::clicked, view_, &TimelineView::forward);
    connect(tools.addButton(tr("Fit"), tr("Show the traced steps (F)")), &QPushButton::clicked, view_,
            &TimelineView::fit);
    connect(tools.addButton(tr("Measure"), tr("Make the selected box the span (M)")), &QPushButton::clicked,
            view_, &TimelineView::measureSelection);
}

void TimelinePage::showMessage(const QString& text)
{
    message_->setText(text);
    stack_->setCurrentWidget(message_);
}

void TimelinePage::showRuns(const std::vector<SelectedRun>& runs)
{
    found_ = {};
    foundCount_->clear();
    if (runs.empty()) {
        loading_.cancel();
        view_->setSections({});
        showMessage(emptyText(tr("A traced run shows its steps, ops, kernels and memory on this page.")));
        return;
    }
    reading_ = true;
    growing_.cancel();
    isGrowing_ = false;
    loading_.start([runs](const query::Cancelled& cancelled) { return timelinesOf(runs, cancelled); },
                   [this, runs](const Timelines& timelines) { loaded(runs, timelines); },
                   [this](const QString& sentence) { showMessage(sentence); });
}

bool TimelinePage::showGrown(const std::vector<SelectedRun>& runs)
{
    // One look at a time: where it takes long, the next one brings what came meanwhile.
    if (isGrowing_)
        return true;
    isGrowing_ = true;
    growing_.start([runs](const query::Cancelled& cancelled) { return timelinesOf(runs, cancelled); },
                   [this, runs](const Timelines& timelines) {
                       isGrowing_ = false;
                       grown(runs, timelines);
                   },
                   [this](const QString& sentence) {
                       isGrowing_ = false;
                       showMessage(sentence);
                   });
    return true;
}

void TimelinePage::grown(const std::vector<SelectedRun>& runs, const Timelines& timelines)
{
    if (shown_ != keysOf(runs)) {
        loading_.cancel();
        return loaded(runs, timelines); // until now there was nothing of them to show
    }
    const std::vector<TimelineSection>& sections = view_->scene().sections;
    const auto isSame = [](const TimelineSection& section, const std::shared_ptr<const query::Timeline>& t) {
        return section.timeline == t;
    };
    if (std::equal(sections.begin(), sections.end(), timelines.begin(), isSame))
        return;
    const std::size_t steps = sections.front().timeline->steps.size();
    view_->growSections(timelines);
    panel_->setRuns(runs);
    if (sections.front().timeline->steps.size() != steps)
        fillAlignments();
}

void TimelinePage::loaded(const std::vector<SelectedRun>& runs, const Timelines& timelines)
{
    reading_ = false;
    std::vector<TimelineSection> sections;
    bool anything = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        TimelineSection section = makeSection(timelines[i]);
        section.title = runs[i].title;
        section.letter = runs[i].letter;
        section.source = runs[i].source();
        anything = anything || !timelines[i]->lanes.empty();
        sections.push_back(std::move(section));
    }
    shown_.clear();
    if (!anything && isBeingWritten(runs)) {
        showMessage(tr("The run is being written. Its timeline appears here as soon as steps are traced."));
        return;
    }
    if (!anything) {
        showMessage(tr("This run was not traced.\nGive it trace: kernels or trace: full, and trace_steps "
                       "above 0, to see its timeline."));
        return;
    }
    shown_ = keysOf(runs);
    panel_->setRuns(runs);
    view_->setSections(std::move(sections));
    fillAlignments();
    scale_->setEnabled(runs.size() > 1);
    stack_->setCurrentWidget(splitter_);
    if (runs.size() > 1)
        align();
    if (!find_->text().isEmpty())
        find();
    reachTarget();
}

void TimelinePage::goTo(const PageTarget& target)
{
    target_ = target;
    if (!reading_)
        reachTarget();
}

// A kernel is selected where it first ran; a range is what runs are aligned at and fill the view with.
void TimelinePage::reachTarget()
{
    const PageTarget target = std::exchange(target_, {});
    const std::vector<TimelineSection>& sections = view_->scene().sections;
    if (target.kind == PageTarget::Kind::Kernel) {
        for (std::size_t run = 0; run < sections.size(); ++run) {
            const query::Timeline& timeline = *sections[run].timeline;
            const auto name = query::findName(timeline, target.text.toStdString());
            const auto instances =
                name ? query::instancesOf(timeline, *name, {}) : std::vector<query::Instance>{};
            if (instances.empty())
                continue;
            const SectionItem item{run, instances.front().item};
            view_->reveal(item);
            view_->select(item);
            return;
        }
    } else if (target.kind == PageTarget::Kind::Range && !sections.empty()) {
        int at = alignment_->findData(target.text, kPathRole);
        if (at < 0) {
            at = alignment_->count();
            const std::vector<query::TimelineStep>& steps = sections.front().timeline->steps;
            alignment_->addItem(target.text.section(QLatin1Char('/'), 1),
                                steps.empty() ? kNoStep : steps.front().step);
            alignment_->setItemData(at, target.text, kPathRole);
        }
        alignment_->setCurrentIndex(at);
        align();
    }
}

void TimelinePage::fillAlignments()
{
    const QVariant chosenStep = alignment_->currentData();
    const QVariant chosenPath = alignment_->currentData(kPathRole);
    alignment_->clear();
    const query::Timeline& first = *view_->scene().sections.front().timeline;
    for (const query::TimelineStep& step : first.steps)
        alignment_->addItem(tr("step %1").arg(step.step), step.step);
    for (const std::string_view path : pathsToAlignAt(first, kMostPaths)) {
        const QString text = QString::fromUtf8(path.data(), qsizetype(path.size()));
        alignment_->addItem(text.section(QLatin1Char('/'), 1),
                            first.steps.empty() ? kNoStep : first.steps.front().step);
        alignment_->setItemData(alignment_->count() - 1, text, kPathRole);
    }
    alignment_->addItem(tr("start of run"), kNoStep);
    for (int i = 0; i < alignment_->count(); ++i)
        if (alignment_->itemData(i) == chosenStep && alignment_->itemData(i, kPathRole) == chosenPath) {
            alignment_->setCurrentIndex(i);
            break;
        }
}

// Runs at the same step, or at the first range of a path within it; shown a little wider than the widest of
// them.
void TimelinePage::align()
{
    const int wanted = alignment_->currentData().toInt();
    const std::string path = alignment_->currentData(kPathRole).toString().toStdString();
    const bool equalLengths = scale_->current() == 1;
    std::vector<TimelineSection> sections = view_->scene().sections;
    std::optional<double> length; // of the first run's
    double longest = 0;
    for (TimelineSection& section : sections) {
        section.alignAt = 0;
        section.stretch = 1;
        section.step.reset();
        std::optional<std::pair<std::int64_t, std::int64_t>> at;
        for (const query::TimelineStep& step : section.timeline->steps) {
            if (step.step != wanted)
                continue;
            section.step = step;
            at = path.empty() ? std::pair(step.start, step.end)
                              : firstOf(*section.timeline, path, step.start, step.end);
        }
        if (!at)
            continue;
        section.alignAt = double(at->first);
        const double own = double(at->second - at->first);
        if (!length)
            length = own;
        if (equalLengths && own > 0)
            section.stretch = *length / own;
        longest = std::max(longest, own * section.stretch);
    }
    view_->setSections(std::move(sections));
    if (longest > 0)
        view_->setWindow({-0.01 * longest, 1.02 * longest});
    else
        view_->fit();
}

void TimelinePage::startFind()
{
    find_->setFocus();
    find_->selectAll();
}

void TimelinePage::find()
{
    const QString words = find_->text().trimmed();
    if (words.isEmpty()) {
        finding_.cancel();
        found_ = {};
        foundCount_->clear();
        view_->setFound({});
        panel_->setShowsFound(false);
        panel_->follow(view_->scene());
        return;
    }
    std::vector<FoundInRun> runs;
    for (const TimelineSection& section : view_->scene().sections)
        runs.push_back({section.letter, section.timeline, {}});
    finding_.start(
        [runs, text = words.toStdString()](const query::Cancelled& cancelled) mutable {
            for (FoundInRun& run : runs)
                run.result = search(*run.timeline, text, cancelled);
            Found found{runs, {}};
            found.boxes = foundBoxes(found.runs, kMostRows);
            return found;
        },
        [this](Found found) { showFound(std::move(found)); },
        [this](const QString& sentence) { foundCount_->setText(sentence); });
}

void TimelinePage::showFound(Found found)
{
    found_ = std::move(found);
    currentFound_ = 0;
    std::int64_t total = 0;
    for (const FoundInRun& run : found_.runs)
        total += run.result.total();
    foundCount_->setText(total == 0 ? tr("none") : wholeNumber(total));
    std::vector<SectionItem> rings;
    for (std::size_t i = 0; i < std::min(kMostRings, found_.boxes.size()); ++i)
        rings.push_back({found_.boxes[i].run, found_.boxes[i].found.item});
    view_->setFound(std::move(rings));
    panel_->showFound(find_->text().trimmed(), found_.runs, found_.boxes);
}

void TimelinePage::goToFound(std::size_t box)
{
    if (box >= found_.boxes.size())
        return;
    currentFound_ = box;
    const SectionItem item{found_.boxes[box].run, found_.boxes[box].found.item};
    view_->reveal(item);
    view_->select(item);
    panel_->setCurrentFound(box);
    std::int64_t total = 0;
    for (const FoundInRun& run : found_.runs)
        total += run.result.total();
    foundCount_->setText(QStringLiteral("%1/%2").arg(wholeNumber(std::int64_t(box) + 1), wholeNumber(total)));
}

void TimelinePage::stepThroughFound(int by)
{
    if (found_.boxes.empty())
        return;
    const auto count = std::ptrdiff_t(found_.boxes.size());
    const bool first = !foundCount_->text().contains(QLatin1Char('/'));
    const std::ptrdiff_t next = first ? 0 : (std::ptrdiff_t(currentFound_) + by + count) % count;
    goToFound(std::size_t(next));
}

} // namespace tilescope::ui
