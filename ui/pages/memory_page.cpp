#include "ui/pages/memory_page.h"

#include "ui/models/memory_rows.h"
#include "ui/pages/controls.h"
#include "ui/pages/panel.h"
#include "ui/plots/number_text.h"
#include "ui/plots/table_view.h"
#include "ui/theme/theme.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

namespace {

constexpr std::size_t kMostRows = 1000;

} // namespace

MemoryPage::MemoryPage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), run_(new ComboBox(tr("Run"))),
      filter_(makeFindField(tr("Filter by range, op, category…"), tr("Filter blocks"))), summary_(new QLabel),
      stack_(new QStackedWidget), message_(makeMessage()), plot_(new MemoryPlot), legend_(new QLabel),
      blocks_(new Panel(tr("Alive at the peak"))), table_(new TableView)
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    stack_->addWidget(message_);
    stack_->addWidget(makePanels());
    layout->addWidget(stack_, 1);
    setFocusProxy(plot_);
    table_->setAccessibleName(tr("Blocks alive at the peak"));
    table_->sortByColumn(int(MemoryColumn::Bytes), Qt::DescendingOrder);
    connect(table_, &TableView::chosen, this, &MemoryPage::chooseBlock);
    connect(plot_, &MemoryPlot::cursorMoved, this, &Page::cursorText);
    connect(&Theme::instance(), &Theme::changed, this, &MemoryPage::fillLegend);
}

QWidget* MemoryPage::makeTools()
{
    auto* tools = new ToolBar;
    filter_->setMinimumWidth(sizes().of(220));
    filter_->setToolTip(tr("Keep blocks that have every word (/)"));
    tools->add(filter_);
    run_->setMinimumWidth(sizes().of(120));
    run_->setToolTip(tr("The run whose blocks the table lists"));
    tools->add(run_);
    tools->addStretch();
    summary_->setProperty("kind", "dim");
    tools->add(summary_);
    connect(tools->addButton(tr("Fit"), tr("Show everything (F)")), &QPushButton::clicked, plot_,
            &MemoryPlot::fit);
    connect(run_, &QComboBox::activated, this, &MemoryPage::showBlocks);
    connect(filter_, &QLineEdit::textChanged, this,
            [this](const QString& words) { table_->filter().setWords(words); });
    return tools;
}

QWidget* MemoryPage::makePanels()
{
    auto* curves = new Panel(tr("Memory over time"));
    legend_->setTextFormat(Qt::RichText);
    curves->addToHeader(legend_);
    auto* content = new QVBoxLayout;
    content->setContentsMargins(sizes().of(8), sizes().of(4), sizes().of(8), sizes().of(8));
    content->addWidget(plot_);
    curves->setContent(content);
    blocks_->setContent(table_);
    auto* splitter = new QSplitter(Qt::Vertical);
    splitter->addWidget(curves);
    splitter->addWidget(blocks_);
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    splitter->setHandleWidth(sizes().of(12));
    splitter->setChildrenCollapsible(false);
    splitter->setStyleSheet(QStringLiteral("QSplitter::handle { background: transparent; }"));
    auto* panels = new QWidget;
    auto* layout = new QVBoxLayout(panels);
    const int margin = sizes().of(12);
    layout->setContentsMargins(sizes().margin, margin, sizes().margin, margin);
    layout->addWidget(splitter);
    return panels;
}

void MemoryPage::startFind()
{
    filter_->setFocus();
    filter_->selectAll();
}

void MemoryPage::showMessage(const QString& text)
{
    shown_.clear();
    plot_->show({});
    table_->show({});
    summary_->clear();
    run_->setVisible(false);
    message_->setText(text);
    stack_->setCurrentWidget(message_);
}

void MemoryPage::showRuns(const std::vector<SelectedRun>& runs)
{
    if (runs.empty()) {
        loading_.cancel();
        showMessage(emptyText(tr("A traced run shows what it allocated over time on this page, and what was "
                                 "alive at the peak.")));
        return;
    }
    loading_.start(
        [runs](const query::Cancelled& cancelled) {
            std::vector<Loaded> loaded;
            for (const SelectedRun& run : runs) {
                const auto timeline = run.file->timeline(run.key.run, cancelled);
                if (!timeline || cancelled())
                    break;
                auto live = run.file->borrow()->liveAtPeak(run.key.run);
                if (auto series = MemorySeries::of(timeline, live.device)) {
                    series->letter = run.letter;
                    loaded.push_back({run, std::move(*series),
                                      std::make_shared<const query::LiveMemoryTable>(std::move(live))});
                }
            }
            return loaded;
        },
        [this](std::vector<Loaded> loaded) { this->loaded(std::move(loaded)); },
        [this](const QString& sentence) { showMessage(sentence); });
}

void MemoryPage::loaded(std::vector<Loaded> loaded)
{
    if (loaded.empty()) {
        showMessage(tr("No allocations were recorded.\nGive the run trace: kernels or trace: full, and "
                       "trace_steps above 0, to see its memory."));
        return;
    }
    shown_ = std::move(loaded);
    std::vector<MemorySeries> series;
    run_->clear();
    for (const Loaded& one : shown_) {
        series.push_back(one.series);
        run_->addItem(one.run.letter.isEmpty() ? one.run.title
                                               : one.run.letter + QLatin1Char(' ') + one.run.title);
    }
    run_->setVisible(shown_.size() > 1);
    plot_->show(std::move(series));
    fillLegend();
    showBlocks();
    stack_->setCurrentIndex(1);
}

const MemoryPage::Loaded* MemoryPage::current() const
{
    const int at = std::max(0, run_->currentIndex());
    return std::size_t(at) < shown_.size() ? &shown_[std::size_t(at)] : nullptr;
}

void MemoryPage::showBlocks()
{
    const Loaded* one = current();
    if (one == nullptr)
        return;
    plot_->mark({});
    const query::LiveMemoryTable& live = *one->live;
    table_->show(memoryRows(live, kMostRows));
    const auto blocks = std::int64_t(live.blocks.size());
    blocks_->setSubtitle(
        live.blocks.size() > kMostRows
            ? tr("the largest %1 of %2 blocks").arg(wholeNumber(kMostRows), wholeNumber(blocks))
            : tr("%1 blocks").arg(wholeNumber(blocks)));
    const query::Lane& lane = *one->series.lane;
    QString words = tr("allocated %1 at the peak").arg(byteText(double(live.allocated.count)));
    if (one->series.hasReserved())
        words += tr(", reserved up to %1").arg(byteText(double(lane.reserved.value(lane.reserved.peak()))));
    summary_->setText(words);
    emit selectionText({});
}

void MemoryPage::chooseBlock(std::int64_t id)
{
    const Loaded* one = current();
    if (one == nullptr || id < 0 || std::size_t(id) >= one->live->blocks.size())
        return;
    const analysis::LiveBlock& block = one->live->blocks[std::size_t(id)];
    const AllocEvent& event = one->live->from.events[block.event];
    const double at = double((event.time - one->series.timeline->origin).count()) - double(one->series.zero);
    plot_->mark(at);
    emit selectionText(
        tr("1 block selected, %1, allocated at %2").arg(byteText(double(block.bytes.count)), timeText(at)));
}

void MemoryPage::fillLegend()
{
    QStringList words;
    const auto entry = [&words](const QColor& colour, const QString& word) {
        words
            << QStringLiteral("<span style='color:%1'>■</span> %2").arg(colour.name(), word.toHtmlEscaped());
    };
    for (std::size_t i = 0; i < shown_.size(); ++i)
        entry(MemoryPlot::colourOf(i, shown_.size()),
              shown_.size() == 1 ? tr("allocated")
                                 : shown_[i].run.letter + QLatin1Char(' ') + shown_[i].run.title);
    const bool outlined =
        std::any_of(shown_.begin(), shown_.end(), [](const Loaded& one) { return one.series.hasReserved(); });
    if (outlined)
        words << (shown_.size() == 1 ? tr("outline: reserved") : tr("filled: allocated, outline: reserved"));
    legend_->setText(words.join(QStringLiteral("&nbsp;&nbsp;&nbsp;")));
}

} // namespace tilescope::ui
