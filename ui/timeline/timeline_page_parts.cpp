// The tools of the timeline's page, and its search.

#include "ui/kit/controls.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/number_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_actions.h"
#include "ui/timeline/timeline_page.h"
#include "ui/timeline/timeline_panel.h"

#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSettings>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kFindAfterMs = 20;
constexpr const char* kFitsLanes = "timeline/fitsLanes";
constexpr std::size_t kMostRows = 1000;

// A button that is one of a pair, with an icon.
QPushButton* pairButton(Icon icon, const char* segment, QAction& action)
{
    auto* button = new QPushButton;
    button->setProperty("kind", "icon");
    button->setProperty("segment", segment);
    button->setAccessibleName(action.text());
    bindButton(*button, action);
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

} // namespace

QWidget* TimelinePage::makeTools()
{
    auto* tools = new ToolBar;
    tools->addWord(tr("Align"));
    alignment_->setMinimumWidth(sizes().of(120));
    alignment_->setMaximumWidth(sizes().of(200));
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
    makeMenus(*tools);
    connect(alignment_, &QComboBox::activated, this, &TimelinePage::align);
    connect(scale_, &Segments::changed, this, &TimelinePage::align);
    return tools;
}

void TimelinePage::makeFind(ToolBar& tools)
{
    find_->setMinimumWidth(sizes().of(150));
    find_->setToolTip(tr("Boxes whose name holds this text (/)"));
    find_->setMaximumWidth(sizes().of(220));
    tools.addWide(find_);
    leadOut(*find_, *view_);
    foundCount_ = new QLabel;
    foundCount_->setObjectName(QStringLiteral("found"));
    foundCount_->setProperty("kind", "dim");
    tools.add(foundCount_);
    QAction* previous = addKey(
        *view_, tr("Previous found box"), {Qt::SHIFT | Qt::Key_N}, [this] { stepThroughFound(-1); },
        Qt::WidgetShortcut, tr("Timeline"));
    QAction* next = addKey(
        *view_, tr("Next found box"), {Qt::Key_N}, [this] { stepThroughFound(1); }, Qt::WidgetShortcut,
        tr("Timeline"));
    tools.add(pairOfButtons(pairButton(Icon::ChevronLeft, "first", *previous),
                            pairButton(Icon::ChevronRight, "last", *next)));
    connect(find_, &QLineEdit::textChanged, this, [this] { findSoon_.start(kFindAfterMs); });
    connect(find_, &QLineEdit::returnPressed, this, [this] { stepThroughFound(1); });
}

void TimelinePage::makeZoom(ToolBar& tools)
{
    tools.addWord(tr("Zoom"));
    back_ = addKey(
        *this, tr("Zoom back to the window before"), {Qt::ALT | Qt::Key_Left}, [this] { view_->back(); },
        Qt::WidgetWithChildrenShortcut);
    forward_ = addKey(
        *this, tr("Zoom forward again"), {Qt::ALT | Qt::Key_Right}, [this] { view_->forward(); },
        Qt::WidgetWithChildrenShortcut);
    tools.add(
        pairOfButtons(pairButton(Icon::Back, "first", *back_), pairButton(Icon::Forward, "last", *forward_)));
    bindButton(*tools.addButton(tr("Fit"), {}), *actions_->fit());
    QPushButton* measure = tools.addButton(tr("Measure"), {});
    bindButton(*measure, *actions_->measure());
    tools.mayGo(measure);
}

void TimelinePage::makeMenus(ToolBar& tools)
{
    auto* lanes = new MenuButton(tr("Lanes"));
    lanes->setToolTip(tr("Which lanes are shown, in which order and height (H hides, Shift+H shows all)"));
    auto* menu = new QMenu(lanes);
    menu->setToolTipsVisible(true);
    lanes->setMenu(menu);
    connect(menu, &QMenu::aboutToShow, this, [this, menu] { actions_->fillLanes(*menu); });
    tools.add(lanes);
    QPushButton* fit = tools.addButton(tr("Fit lanes"), {});
    bindButton(*fit, *actions_->fitLanes());
    tools.mayGo(fit);
    setKeyTip(*actions_->fitLanes(), tr("All lanes on the screen at once, however low"));
    connect(view_, &TimelineView::fitsLanesChanged, this,
            [](bool fits) { QSettings().setValue(QLatin1String(kFitsLanes), fits); });
    view_->setFitsLanes(QSettings().value(QLatin1String(kFitsLanes), false).toBool());
    QPushButton* notes = tools.addButton(tr("Notes"), {});
    bindButton(*notes, *actions_->listNotes());
    tools.mayGo(notes);
    setKeyTip(*actions_->listNotes(), tr("Bookmarks and notes of the shown runs; B makes one"));
    connect(tools.addButton(tr("Export"), tr("Export as PDF, SVG, PNG or CSV (Ctrl+E)")),
            &QPushButton::clicked, this, &Page::exportWanted);
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
        panel_->showSpan();
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
            Found found{runs, {}, {}};
            found.boxes = foundBoxes(found.runs, kMostRows);
            std::vector<SectionItem> rings;
            for (std::size_t s = 0; s < found.runs.size(); ++s)
                for (const query::FoundItem& item : found.runs[s].result.items)
                    rings.push_back({s, item.item});
            found.rings = std::make_shared<const BoxSet>(rings);
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
    view_->setFound(found_.rings);
    panel_->showFound(find_->text().trimmed(), found_.runs, found_.boxes);
}

void TimelinePage::goToFound(std::size_t box)
{
    if (box >= found_.boxes.size())
        return;
    currentFound_ = box;
    const SectionItem item{found_.boxes[box].run, found_.boxes[box].found.item};
    panel_->keep(true);
    view_->reveal(item);
    view_->select(item);
    panel_->keep(false);
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
