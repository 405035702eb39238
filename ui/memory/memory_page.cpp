// The memory page's parts and how they lie; what they show is in memory_loading.cpp and memory_instant.cpp.

#include "ui/memory/memory_page.h"

#include "ui/kit/controls.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/memory/memory_areas.h"
#include "ui/memory/memory_blocks.h"
#include "ui/memory/memory_legend.h"
#include "ui/memory/memory_segments.h"
#include "ui/theme/theme.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QShortcut>
#include <QSlider>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace tilescope::ui {

namespace {

QSplitter* makeSplitter(Qt::Orientation orientation)
{
    auto* splitter = new QSplitter(orientation);
    splitter->setHandleWidth(orientation == Qt::Vertical ? sizes().of(12) : sizes().gap);
    splitter->setChildrenCollapsible(false);
    splitter->setStyleSheet(QStringLiteral("QSplitter::handle { background: transparent; }"));
    return splitter;
}

} // namespace

MemoryPage::MemoryPage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), colourBy_(new Segments({tr("category"), tr("phase"), tr("module")})),
      instantChoice_(new Segments({tr("peak"), tr("chosen"), tr("step end")})), run_(new ComboBox(tr("Run"))),
      summary_(new ElidedLabel), stack_(new QStackedWidget), message_(makeMessage()),
      areas_(new MemoryAreas(axis_)), legend_(new MemoryLegend), blocks_(new MemoryBlocks(axis_)),
      segments_(new MemorySegments), shares_(new TableView),
      filter_(makeFindField(tr("Filter…"), tr("Filter blocks"))), table_(new TableView)
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    stack_->addWidget(message_);
    stack_->addWidget(makePanels());
    layout->addWidget(stack_, 1);
    setFocusProxy(areas_);
    leadOut(*filter_, *table_);
    connect(&Theme::instance(), &Theme::changed, this, &MemoryPage::fillLegend);
    connect(&axis_, &MemoryAxis::cursorChanged, this, &MemoryPage::fillLegend);
    connect(&axis_, &MemoryAxis::spanChanged, this, &MemoryPage::tellSpan);
    for (MemoryChart* chart : {static_cast<MemoryChart*>(areas_), static_cast<MemoryChart*>(blocks_)}) {
        connect(chart, &MemoryChart::hovered, this, &Page::cursorText);
        connect(chart, &MemoryChart::instantClicked, this, &MemoryPage::chooseInstant);
    }
    connect(blocks_, &MemoryBlocks::blockClicked, this, &MemoryPage::chooseBlock);
    connect(segments_, &MemorySegments::blockClicked, this, &MemoryPage::chooseBlock);
    connect(segments_, &MemorySegments::segmentClicked, this, &MemoryPage::chooseSegment);
    connect(segments_, &MemorySegments::hovered, this, &Page::cursorText);
}

QWidget* MemoryPage::makeTools()
{
    auto* tools = new ToolBar;
    tools->addWord(tr("Colour by"));
    colourBy_->setAccessibleName(tr("Colour by"));
    tools->add(colourBy_);
    tools->addGap();
    tools->addWord(tr("Instant"));
    instantChoice_->setAccessibleName(tr("Instant"));
    instantChoice_->setToolTip(tr("The moment that the tables are about; a click on a plot chooses one"));
    tools->add(instantChoice_);
    run_->setMinimumWidth(sizes().of(120));
    run_->setToolTip(tr("The run whose blocks are shown; the others lie over it as outlines"));
    tools->addGap();
    tools->add(run_);
    summary_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    tools->addWide(summary_);
    connect(tools->addButton(tr("Fit"), tr("Show everything (F)")), &QPushButton::clicked, &axis_,
            &MemoryAxis::fit);
    connect(tools->addButton(tr("Export…"), tr("Save what this page shows (Ctrl+E)")), &QPushButton::clicked,
            this, &Page::exportWanted);
    connect(colourBy_, &Segments::changed, this, [this] {
        isColourChosen_ = true;
        group();
    });
    connect(instantChoice_, &Segments::changed, this, [this](int index) {
        instantKind_ = Instant(index);
        placeInstant();
    });
    connect(run_, &QComboBox::activated, this, &MemoryPage::load);
    return tools;
}

Panel* MemoryPage::makeBlocks()
{
    auto* panel = new Panel(tr("Blocks"));
    placement_ = new Segments({tr("by address"), tr("stacked"), tr("segments")});
    placement_->setAccessibleName(tr("Where blocks stand"));
    placement_->setToolTip(
        tr("Over time at their addresses or on each other as they were allocated, or in the segments of the "
           "instant"));
    detail_ = new QSlider(Qt::Horizontal);
    detail_->setRange(1, 1000);
    detail_->setFixedWidth(sizes().of(110));
    detail_->setAccessibleName(tr("Detail: the share of blocks that are drawn, the largest first"));
    panel->addToHeader(placement_);
    detailTools_ = new QWidget;
    QSizePolicy keepsPlace = detailTools_->sizePolicy();
    keepsPlace.setRetainSizeWhenHidden(true); // what stands beside it does not jump
    detailTools_->setSizePolicy(keepsPlace);
    auto* tools = new QHBoxLayout(detailTools_);
    tools->setContentsMargins(0, 0, 0, 0);
    auto* word = new QLabel(tr("Detail"));
    word->setProperty("kind", "dim");
    tools->addWidget(word);
    tools->addWidget(detail_);
    panel->addToHeader(detailTools_);
    placed_ = new QStackedWidget;
    placed_->addWidget(blocks_);
    placed_->addWidget(segments_);
    auto* content = new QVBoxLayout;
    content->setContentsMargins(sizes().of(8), sizes().of(4), sizes().of(4), sizes().of(4));
    content->addWidget(placed_);
    panel->setContent(content);
    connect(placement_, &Segments::changed, this, &MemoryPage::place);
    connect(detail_, &QSlider::valueChanged, this, &MemoryPage::layOut);
    return panel;
}

QWidget* MemoryPage::makePlots()
{
    curvesPanel_ = new Panel(tr("Allocated"));
    auto* content = new QVBoxLayout;
    content->setContentsMargins(sizes().of(8), sizes().of(6), sizes().of(4), sizes().of(4));
    content->setSpacing(0);
    auto* legend = new QHBoxLayout;
    legend->setContentsMargins(sizes().of(8), 0, sizes().of(8), 0);
    legend->addWidget(legend_);
    content->addLayout(legend);
    content->addWidget(areas_, 1);
    curvesPanel_->setContent(content);
    blocksPanel_ = makeBlocks();
    QSplitter* plots = makeSplitter(Qt::Vertical);
    plots->addWidget(curvesPanel_);
    plots->addWidget(blocksPanel_);
    plots->setStretchFactor(0, 4);
    plots->setStretchFactor(1, 5);
    return plots;
}

QWidget* MemoryPage::makeSide()
{
    sharesPanel_ = new Panel(tr("At the peak"));
    sharesBy_ = new Segments({tr("category"), tr("phase"), tr("module"), tr("op")});
    sharesBy_->setAccessibleName(tr("Group what is allocated by"));
    sharesPanel_->addToHeader(sharesBy_);
    shares_->setAccessibleName(tr("Allocated at the instant"));
    shares_->setRowHeight(22);
    sharesPanel_->setContent(shares_);
    connect(sharesBy_, &Segments::changed, this, &MemoryPage::showLists);
    connect(shares_, &TableView::chosen, this, &MemoryPage::chooseShare);

    listPanel_ = new Panel(tr("Blocks alive"));
    listKind_ = new Segments({tr("alive"), tr("ever"), tr("segments")});
    listKind_->setAccessibleName(tr("What the list shows"));
    listKind_->setToolTip(
        tr("Blocks alive at the instant, the largest of all times, or the allocator's segments"));
    table_->setAccessibleName(tr("Blocks of memory"));
    table_->setRowHeight(22);
    table_->sortByColumn(int(BlockColumn::Bytes), Qt::DescendingOrder);
    filter_->setToolTip(tr("Keep rows that have every word (/)"));
    auto* list = new QVBoxLayout;
    list->setContentsMargins(0, 0, 0, 0);
    list->setSpacing(0);
    auto* find = new QHBoxLayout;
    find->setContentsMargins(sizes().of(8), sizes().of(4), sizes().of(8), sizes().of(4));
    find->addWidget(listKind_);
    find->addWidget(filter_, 1);
    list->addLayout(find);
    list->addWidget(table_, 1);
    listPanel_->setContent(list);
    connect(listKind_, &Segments::changed, this, &MemoryPage::showLists);
    connect(table_, &TableView::chosen, this, [this](std::int64_t id) {
        if (List(listKind_->current()) == List::Segments)
            chooseSegment(std::uint64_t(id));
        else
            chooseBlock(id);
    });
    connect(filter_, &QLineEdit::textChanged, this,
            [this](const QString& words) { table_->filter().setWords(words); });

    factsPanel_ = new Panel(tr("No block selected"));
    facts_ = new KeyValueTable;
    facts_->setAccessibleName(tr("What is known of the selected block"));
    auto* scroll = new QScrollArea;
    scroll->setWidgetResizable(true);
    scroll->setAccessibleName(tr("Selected block"));
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidget(facts_);
    for (QWidget* ground : {scroll->viewport(), static_cast<QWidget*>(facts_)}) {
        ground->setAutoFillBackground(false);
        ground->setStyleSheet(QStringLiteral("background: transparent"));
    }
    factsPanel_->setContent(scroll);

    QSplitter* side = makeSplitter(Qt::Vertical);
    side->setMinimumWidth(sizes().of(356)); // whatever the panels' titles are: the plots keep their width
    side->addWidget(sharesPanel_);
    side->addWidget(listPanel_);
    side->addWidget(factsPanel_);
    for (const auto& [index, stretch] : {std::pair(0, 10), std::pair(1, 12), std::pair(2, 8)})
        side->setStretchFactor(index, stretch);
    side->setSizes({sizes().of(345), sizes().of(330), sizes().of(235)});
    return side;
}

QWidget* MemoryPage::makePanels()
{
    QSplitter* both = makeSplitter(Qt::Horizontal);
    both->addWidget(makePlots());
    both->addWidget(makeSide());
    both->setStretchFactor(0, 70);
    both->setStretchFactor(1, 30);
    both->setSizes({sizes().of(830), sizes().of(360)});
    auto* panels = new QWidget;
    auto* layout = new QVBoxLayout(panels);
    const int margin = sizes().of(12);
    layout->setContentsMargins(sizes().margin, margin, sizes().margin, margin);
    layout->addWidget(both);
    return panels;
}

void MemoryPage::startFind()
{
    filter_->setFocus();
    filter_->selectAll();
}

void MemoryPage::showMessage(const QString& text)
{
    isReading_ = false;
    shown_.clear();
    groups_ = {};
    layout_.reset();
    block_.reset();
    segment_.reset();
    areas_->show({}, nullptr);
    blocks_->clear();
    table_->show({});
    shares_->show({});
    legend_->show({});
    summary_->clear();
    run_->setVisible(false);
    message_->setText(text);
    stack_->setCurrentWidget(message_);
}

} // namespace tilescope::ui
