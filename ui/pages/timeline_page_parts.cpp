// The tools of the timeline's page, and its search.

#include "ui/pages/controls.h"
#include "ui/pages/timeline_actions.h"
#include "ui/pages/timeline_page.h"
#include "ui/pages/timeline_panel.h"
#include "ui/plots/number_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QShortcut>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr int kFindAfterMs = 20;
constexpr std::size_t kMostRows = 1000;

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

} // namespace

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
    makeMenus(*tools);
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
    tools.add(pairOfButtons(back_, forward_));
    connect(back_, &QPushButton::clicked, view_, &TimelineView::back);
    connect(forward_, &QPushButton::clicked, view_, &TimelineView::forward);
    // A button's own shortcut would press it for a tenth of a second first.
    const auto shortcut = [this](Qt::Key key, void (TimelineView::*does)()) {
        auto* made = new QShortcut(QKeySequence(Qt::ALT | key), this, nullptr, nullptr,
                                   Qt::WidgetWithChildrenShortcut);
        connect(made, &QShortcut::activated, view_, does);
    };
    shortcut(Qt::Key_Left, &TimelineView::back);
    shortcut(Qt::Key_Right, &TimelineView::forward);
    connect(tools.addButton(tr("Fit"), tr("Show the traced steps (F)")), &QPushButton::clicked, view_,
            &TimelineView::fit);
    connect(tools.addButton(tr("Measure"), tr("Make the selected box the span (M)")), &QPushButton::clicked,
            view_, &TimelineView::measureSelection);
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
    connect(tools.addButton(tr("Notes"), tr("Bookmarks and notes of the shown runs (Shift+B); B makes one")),
            &QPushButton::clicked, this, [this] { emit actions_->notesWanted(); });
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
