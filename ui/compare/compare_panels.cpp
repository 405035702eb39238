#include "ui/compare/compare_page.h"

#include "ui/compare/baseline_panel.h"
#include "ui/compare/distribution_plot.h"
#include "ui/kit/controls.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/message_stack.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <utility>

// The parts of the page, as they are made once.

namespace tilescope::ui {

namespace {

constexpr int kDifferenceColumn = 8;
constexpr double kLeastKernels = 210;
constexpr double kLeastMemory = 160; // of the plot: curves below the labels of their peaks
constexpr int kMemoryRows = 7;       // before the list scrolls

} // namespace

QWidget* ComparePage::makeTools()
{
    auto* tools = new ToolBar(this);
    tools->addWord(QStringLiteral("A"));
    tools->add(a_);
    auto* swap = tools->addButton({}, {});
    swap->setProperty("kind", "icon");
    swap->setAccessibleName(tr("Swap A and B"));
    const auto dress = [swap] { swap->setIcon(makeIcon(Icon::Swap, colours().text, sizes().of(14))); };
    dress();
    connect(&Theme::instance(), &Theme::changed, swap, dress);
    tools->addWord(QStringLiteral("B"));
    tools->add(b_);
    tools->addStretch();
    auto* aligned = tools->addButton(tr("Aligned timeline"), tr("See both runs one above the other"));
    for (ComboBox* box : {a_, b_}) {
        box->setMinimumWidth(sizes().of(160));
        connect(box, &QComboBox::activated, this, [this, box] {
            if (box->currentIndex() < 0)
                return;
            const auto at = box->currentData().value<QPair<int, qint64>>();
            choose(box == a_ ? 0 : 1, {at.first, RunId{at.second}});
        });
    }
    const auto exchange = [this] {
        std::vector<RunKey> keys = this->workspace().selection();
        if (keys.size() < 2)
            return;
        std::swap(keys[0], keys[1]);
        this->workspace().select(std::move(keys));
    };
    swap_ = addKey(*this, tr("Swap A and B"), {Qt::Key_X}, exchange, Qt::WindowShortcut);
    bindButton(*swap, *swap_);
    connect(aligned, &QPushButton::clicked, this,
            [this] { emit this->workspace().pageWanted(QStringLiteral("timeline")); });
    auto* save = tools->addButton(tr("Export…"), tr("Export what the page shows (Ctrl+E)"));
    connect(save, &QPushButton::clicked, this, &Page::exportWanted);
    ofBoth_ = {aligned, save};
    return tools;
}

QWidget* ComparePage::makeVerdict()
{
    auto* frame = new QFrame;
    frame->setProperty("kind", "panel");
    auto* layout = new QHBoxLayout(frame);
    layout->setContentsMargins(sizes().margin, sizes().of(8), sizes().margin, sizes().of(8));
    layout->setSpacing(sizes().of(24));
    verdict_ = new QLabel;
    verdict_->setObjectName(QStringLiteral("verdict"));
    verdict_->setFont(Theme::instance().large());
    sentence_ = new QLabel;
    sentence_->setWordWrap(true);
    sentence_->setObjectName(QStringLiteral("verdictSentence"));
    sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    memoryFact_ = new QLabel;
    kernelFact_ = new QLabel;
    layout->addWidget(verdict_);
    layout->addWidget(sentence_, 1);
    layout->addWidget(memoryFact_);
    layout->addWidget(kernelFact_);
    return frame;
}

Panel* ComparePage::makeSamples()
{
    samplePanel_ = new Panel(tr("Samples"));
    samplePanel_->setSubtitle(tr("ring and bar: median and 95 % interval; right: B over A"));
    samples_ = new DistributionPlot;
    samplePanel_->setContent(samples_);
    return samplePanel_;
}

QWidget* ComparePage::makeFamilies()
{
    familyPanel_ = new Panel(tr("Families"));
    families_ = new TableView;
    families_->setAccessibleName(tr("Families by difference"));
    families_->sortByColumn(4, Qt::DescendingOrder);
    families_->setMinimumWidth(sizes().of(400));
    families_->setToolTip(tr("Enter or double click opens a family's kernels or the aligned timeline"));
    groups_ = new SegmentedControl({tr("causes"), tr("families"), tr("ranges"), tr("lines")});
    familyPanel_->addToHeader(groups_);
    groups_->setCompact(true); // the header also says how the runs are aligned
    connect(groups_, &SegmentedControl::changed, this, &ComparePage::showGroups);
    connect(families_, &TableView::activatedRow, this, &ComparePage::openGroup);
    noGroups_ = makeMessage();
    auto* content = makePlainColumn(nullptr);
    content->addWidget(families_, 1);
    content->addWidget(noGroups_, 1);
    familyPanel_->setContent(content);
    return familyPanel_;
}

QWidget* ComparePage::makeKernels()
{
    kernelPanel_ = new Panel(tr("Kernels"));
    kernelPanel_->setSubtitle(tr("by difference"));
    level_ = new SegmentedControl({tr("kernels"), tr("lines"), tr("states")});
    level_->setAccessibleName(tr("What is compared"));
    level_->setToolTip(
        tr("Whole kernels, or the lines and the states of warps inside those that both runs sampled"));
    kernelPanel_->addToHeader(level_);
    which_ =
        new SegmentedControl({tr("all"), tr("gone"), tr("new"), tr("count"), tr("slower"), tr("faster")});
    kernelPanel_->addToHeader(which_);
    kernels_ = new TableView;
    kernels_->setAccessibleName(tr("Kernels by difference"));
    kernels_->sortByColumn(kDifferenceColumn, Qt::DescendingOrder);
    kernels_->setMinimumHeight(sizes().of(kLeastKernels));
    noKernels_ = makeMessage();
    noKernels_->setMinimumHeight(sizes().of(kLeastKernels));
    auto* content = makePlainColumn(nullptr);
    content->addWidget(kernels_, 1);
    content->addWidget(noKernels_, 1);
    kernelPanel_->setContent(content);
    connect(which_, &SegmentedControl::changed, this, &ComparePage::showKernels);
    connect(level_, &SegmentedControl::changed, this, &ComparePage::showKernels);
    connect(kernels_, &TableView::chosen, this, [this](std::int64_t id) {
        if (const query::InsideDifference* const inside = shownInside())
            workspace().setKernel(QString::fromStdString(inside->rows[std::size_t(id)].kernel));
        else if (shown_.compared.comparison && !shown_.compared.comparison->opsForKernels)
            workspace().setKernel(
                QString::fromStdString(shown_.compared.comparison->kernels[std::size_t(id)].difference.key));
    });
    connect(kernels_, &TableView::activatedRow, this, &ComparePage::openKernel);
    return kernelPanel_;
}

QWidget* ComparePage::makeMemory()
{
    memoryPanel_ = new Panel(tr("Memory"));
    connect(memoryPanel_->addLink(tr("Memory")), &QPushButton::clicked, this,
            [this] { emit workspace().pageWanted(QStringLiteral("memory")); });
    memory_ = new MemoryPlot;
    memory_->setMinimumHeight(sizes().of(kLeastMemory));
    connect(memory_, &MemoryPlot::cursorMoved, this, &Page::cursorText);
    memoryTable_ = new TableView;
    memoryTable_->setAccessibleName(tr("Memory of both runs"));
    memoryTable_->setRowHeight(22);
    memoryTable_->setFixedHeight(sizes().header + kMemoryRows * sizes().of(22) + 2);
    auto* content = new QVBoxLayout;
    content->setContentsMargins(0, 0, 0, 0);
    content->setSpacing(0);
    noMemory_ = makeMessage();
    content->addWidget(memory_, 1);
    content->addWidget(noMemory_, 1);
    content->addWidget(memoryTable_);
    memoryPanel_->setContent(content);
    return memoryPanel_;
}

} // namespace tilescope::ui
