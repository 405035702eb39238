#include "ui/pages/compare_page.h"

#include "ui/pages/controls.h"
#include "ui/pages/panel.h"
#include "ui/plots/distribution_plot.h"
#include "ui/plots/key_actions.h"
#include "ui/plots/number_text.h"
#include "ui/plots/table_view.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>
#include <QStackedWidget>
#include <QStyle>
#include <QVBoxLayout>

namespace tilescope::ui {

namespace {

// How often something runs in a step: a whole number in most runs, a mean of the traced steps in some.
QString countText(double count)
{
    const double whole = std::round(count);
    return std::abs(count - whole) < 1e-9 ? wholeNumber(std::int64_t(whole)) : threeDigits(count);
}

constexpr int kDifferenceColumn = 8;
constexpr double kLeastPhase = 56; // height in which two distributions can be told apart
constexpr double kLeastKernels = 210;
constexpr int kMemoryRows = 7; // before the list scrolls

QString twoLines(const QString& strong, const QString& dim)
{
    return QStringLiteral("<b>%1</b><br><span style='color:%2'>%3</span>")
        .arg(strong.toHtmlEscaped(), colours().dimText.name(), dim.toHtmlEscaped());
}

// Widgets of one row share a stretch of the page.
QHBoxLayout* row()
{
    auto* layout = new QHBoxLayout;
    layout->setSpacing(sizes().gap);
    return layout;
}

} // namespace

ComparePage::ComparePage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), a_(new ComboBox(tr("Run A"))), b_(new ComboBox(tr("Run B"))),
      stack_(new QStackedWidget), message_(makeMessage())
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    const int gap = sizes().of(12);
    column->setContentsMargins(sizes().margin, gap, sizes().margin, gap);
    column->setSpacing(sizes().gap);
    column->addWidget(makeVerdict());
    auto* above = row();
    above->addWidget(makeSamples(), 27);
    above->addWidget(makeFamilies(), 22);
    auto* below = row();
    below->addWidget(makeKernels(), 34);
    below->addWidget(makeMemory(), 15);
    column->addLayout(above, 10);
    column->addLayout(below, 11);
    // Plots and tables stay large enough to be read; where the window is too low the page is scrolled.
    auto* scroll = new QScrollArea;
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setAccessibleName(tr("Comparison of the selected runs"));
    scroll->setWidget(content);
    stack_->addWidget(message_);
    stack_->addWidget(scroll);
    layout->addWidget(stack_, 1);
    connect(&workspace, &Workspace::filesChanged, this, &ComparePage::fillChoices);
    connect(&Theme::instance(), &Theme::changed, this, &ComparePage::showVerdict);
}

QWidget* ComparePage::makeTools()
{
    auto* tools = new ToolBar;
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
        connect(box, &QComboBox::activated, this, &ComparePage::choose);
    }
    const auto exchange = [this] {
        std::vector<RunKey> keys = this->workspace().selection();
        if (keys.size() == 2)
            this->workspace().select({keys[1], keys[0]});
    };
    bindButton(*swap, *addKey(*this, tr("Swap A and B"), {Qt::Key_X}, exchange, Qt::WindowShortcut));
    connect(aligned, &QPushButton::clicked, this,
            [this] { emit this->workspace().pageWanted(QStringLiteral("timeline")); });
    connect(tools->addButton(tr("Export…"), tr("Export what the page shows (Ctrl+E)")), &QPushButton::clicked,
            this, &Page::exportWanted);
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
    sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    memoryFact_ = new QLabel;
    kernelFact_ = new QLabel;
    layout->addWidget(verdict_);
    layout->addWidget(sentence_, 1);
    layout->addWidget(memoryFact_);
    layout->addWidget(kernelFact_);
    return frame;
}

QWidget* ComparePage::makeSamples()
{
    auto* panel = new Panel(tr("Samples"));
    panel->setSubtitle(tr("wall time by phase; ring and bar: median and 95 % interval; right: B over A"));
    samples_ = new DistributionPlot;
    panel->setContent(samples_);
    return panel;
}

QWidget* ComparePage::makeFamilies()
{
    familyPanel_ = new Panel(tr("Families"));
    families_ = new TableView;
    families_->setAccessibleName(tr("Families by difference"));
    families_->sortByColumn(4, Qt::DescendingOrder);
    families_->setMinimumWidth(sizes().of(400));
    families_->setToolTip(
        tr("Enter or a double click leads on: to a family's kernels, or to the aligned timeline"));
    groups_ = new Segments({tr("families"), tr("ranges")});
    familyPanel_->addToHeader(groups_);
    connect(groups_, &Segments::changed, this, &ComparePage::showGroups);
    connect(families_, &TableView::activatedRow, this, &ComparePage::openGroup);
    familyPanel_->setContent(families_);
    return familyPanel_;
}

QWidget* ComparePage::makeKernels()
{
    kernelPanel_ = new Panel(tr("Kernels"));
    kernelPanel_->setSubtitle(tr("by difference"));
    which_ = new Segments({tr("all"), tr("gone"), tr("new"), tr("count"), tr("slower"), tr("faster")});
    kernelPanel_->addToHeader(which_);
    kernels_ = new TableView;
    kernels_->setAccessibleName(tr("Kernels by difference"));
    kernels_->sortByColumn(kDifferenceColumn, Qt::DescendingOrder);
    kernels_->setMinimumHeight(sizes().of(kLeastKernels));
    kernelPanel_->setContent(kernels_);
    connect(which_, &Segments::changed, this, &ComparePage::showKernels);
    connect(kernels_, &TableView::chosen, this, [this](std::int64_t id) {
        if (shown_.compared.comparison && !shown_.compared.comparison->opsForKernels)
            workspace().setKernel(
                QString::fromStdString(shown_.compared.comparison->kernels[std::size_t(id)].difference.key));
    });
    kernels_->setToolTip(tr("Enter or a double click shows it on the aligned timeline"));
    connect(kernels_, &TableView::activatedRow, this, [this](std::int64_t id) {
        const query::Comparison& comparison = *shown_.compared.comparison;
        const QString name = QString::fromStdString(comparison.kernels[std::size_t(id)].difference.key);
        emit workspace().targetWanted(
            QStringLiteral("timeline"),
            {comparison.opsForKernels ? PageTarget::Kind::None : PageTarget::Kind::Kernel, name});
    });
    return kernelPanel_;
}

QWidget* ComparePage::makeMemory()
{
    auto* panel = new Panel(tr("Memory"));
    connect(panel->addLink(tr("Memory")), &QPushButton::clicked, this,
            [this] { emit workspace().pageWanted(QStringLiteral("memory")); });
    memory_ = new MemoryPlot;
    connect(memory_, &MemoryPlot::cursorMoved, this, &Page::cursorText);
    memoryTable_ = new TableView;
    memoryTable_->setAccessibleName(tr("Memory of both runs"));
    memoryTable_->setRowHeight(22);
    memoryTable_->setFixedHeight(sizes().header + kMemoryRows * sizes().of(22) + 2);
    auto* content = new QVBoxLayout;
    content->setContentsMargins(0, 0, 0, 0);
    content->setSpacing(0);
    content->addWidget(memory_, 1);
    content->addWidget(memoryTable_);
    panel->setContent(content);
    return panel;
}

void ComparePage::fillChoices()
{
    const std::vector<RunKey>& selected = workspace().selection();
    int box = 0;
    for (ComboBox* choice : {a_, b_}) {
        choice->clear();
        for (const OpenFile& file : workspace().files()) {
            if (!file.snapshot)
                continue;
            const RunTitles titles(*file.snapshot);
            for (const query::RunSummary& run : file.snapshot->runs) {
                choice->addItem(QStringLiteral("%1 #%2 %3")
                                    .arg(QString::fromStdString(file.file->path().stem().string()))
                                    .arg(run.run.value)
                                    .arg(titles.of(run, true)),
                                QVariant::fromValue(QPair<int, qint64>(file.id, run.run.value)));
                if (box < int(selected.size()) && selected[std::size_t(box)] == RunKey{file.id, run.run})
                    choice->setCurrentIndex(choice->count() - 1);
            }
        }
        if (box >= int(selected.size()))
            choice->setCurrentIndex(-1);
        ++box;
    }
}

void ComparePage::choose()
{
    std::vector<RunKey> keys;
    for (const ComboBox* choice : {a_, b_}) {
        if (choice->currentIndex() < 0)
            return;
        const auto key = choice->currentData().value<QPair<int, qint64>>();
        keys.push_back({key.first, RunId{key.second}});
    }
    workspace().select(std::move(keys));
}

void ComparePage::showMessage(const QString& text)
{
    message_->setText(text);
    stack_->setCurrentWidget(message_);
}

void ComparePage::showRuns(const std::vector<SelectedRun>& runs)
{
    fillChoices();
    if (runs.size() != 2) {
        loading_.cancel();
        const QString fills = tr("Two runs side by side: the verdict, their samples, kernels and memory.");
        showMessage(
            runs.empty()
                ? emptyText(fills)
                : tr("Select two runs: Ctrl+click in the list on the right, or choose A and B above.\n") +
                      fills);
        return;
    }
    showMessage(tr("Comparing…"));
    loading_.start(
        [runs](const query::Cancelled& cancelled) {
            Loaded loaded;
            {
                auto a = runs[0].file->borrow();
                auto b = runs[1].file->borrow();
                loaded.compared = compareRuns(a->reader(), runs[0].key.run, b->reader(), runs[1].key.run);
            }
            for (const SelectedRun& run : runs) {
                const auto timeline = run.file->timeline(run.key.run, cancelled);
                if (!timeline || cancelled())
                    break;
                const query::LiveMemoryTable live = run.file->borrow()->liveAtPeak(run.key.run);
                if (auto series = MemorySeries::of(timeline, live.device)) {
                    series->letter = run.letter;
                    loaded.memory.push_back(std::move(*series));
                }
            }
            return loaded;
        },
        [this](Loaded loaded) { this->loaded(std::move(loaded)); },
        [this](const QString& sentence) { showMessage(sentence); });
}

void ComparePage::loaded(Loaded loaded)
{
    shown_ = std::move(loaded);
    const query::Comparison& comparison = *shown_.compared.comparison;
    samples_->show(shown_.compared.phases);
    samples_->setMinimumHeight(int(shown_.compared.phases.size()) * sizes().of(kLeastPhase));
    if (comparison.families.empty())
        groups_->setCurrent(1);
    showGroups();
    kernelPanel_->setTitle(comparison.opsForKernels ? tr("Ops") : tr("Kernels"));
    const QString words[] = {tr("all"), tr("gone"), tr("new"), tr("count"), tr("slower"), tr("faster")};
    for (int i = 0; i < kKernelChanges; ++i)
        which_->setWord(
            i, i == 0 ? words[i]
                      : QStringLiteral("%1 %2").arg(words[i]).arg(countOf(comparison, KernelChange(i))));
    showKernels();
    memory_->show(shown_.memory);
    memoryTable_->show(memoryDifferenceRows(shown_.compared));
    showVerdict();
    stack_->setCurrentIndex(1);
}

void ComparePage::showKernels()
{
    if (shown_.compared.comparison)
        kernels_->show(kernelDifferenceRows(*shown_.compared.comparison, KernelChange(which_->current())));
}

void ComparePage::showGroups()
{
    if (!shown_.compared.comparison)
        return;
    const query::Comparison& comparison = *shown_.compared.comparison;
    const bool ranges = groups_->current() == 1;
    families_->show(ranges ? rangeDifferenceRows(comparison) : familyDifferenceRows(comparison));
    familyPanel_->setTitle(ranges ? tr("Ranges") : tr("Families"));
    familyPanel_->setSubtitle(ranges                        ? tr("wall time a traced step")
                              : comparison.families.empty() ? tr("no kernels: not traced on a GPU")
                                                            : tr("GPU time a traced step"));
}

void ComparePage::openGroup(std::int64_t id)
{
    const query::Comparison& comparison = *shown_.compared.comparison;
    const bool ranges = groups_->current() == 1;
    const auto& groups = ranges ? comparison.ranges : comparison.families;
    const QString key = QString::fromStdString(groups[std::size_t(id)].difference.key);
    if (ranges)
        emit workspace().targetWanted(QStringLiteral("timeline"), {PageTarget::Kind::Range, key});
    else
        emit workspace().targetWanted(QStringLiteral("kernels"), {PageTarget::Kind::Family, key});
}

void ComparePage::showVerdict()
{
    if (!shown_.compared.comparison)
        return;
    const query::Comparison& comparison = *shown_.compared.comparison;
    const ComparisonVerdict verdict = verdictOf(comparison);
    verdict_->setProperty("kind", verdict.tone == Tone::Better  ? "better"
                                  : verdict.tone == Tone::Worse ? "warning"
                                                                : "dim");
    verdict_->style()->unpolish(verdict_);
    verdict_->style()->polish(verdict_);
    const QString sign = verdict.tone == Tone::Better  ? QStringLiteral("▼ ")
                         : verdict.tone == Tone::Worse ? QStringLiteral("▲ ")
                                                       : QString();
    verdict_->setText(sign + verdict.words);
    sentence_->setText(twoLines(verdict.sentence, verdict.conditions));
    const query::ComparedMemory* peak = comparison.memory.empty() ? nullptr : &comparison.memory.front();
    const bool peaks = peak != nullptr && peak->a && peak->b;
    memoryFact_->setVisible(peaks);
    if (peaks) {
        const double more = double(peak->b->count - peak->a->count);
        const Unit unit = byteUnit(more);
        memoryFact_->setText(
            twoLines(tr("Peak memory %1")
                         .arg(more == 0 ? QStringLiteral("equal")
                                        : withUnit(signedDigits(more / unit.size), unit.word)),
                     tr("%1 to %2").arg(byteText(double(peak->a->count)), byteText(double(peak->b->count)))));
    }
    double a = 0;
    double b = 0;
    for (const query::ComparedGroup& group : comparison.kernels) {
        a += group.difference.instancesA;
        b += group.difference.instancesB;
    }
    kernelFact_->setText(
        twoLines(tr("%1 %2 a step")
                     .arg(comparison.opsForKernels ? tr("Ops") : tr("Kernels"),
                          b == a ? QStringLiteral("±0")
                                 : (b < a ? QChar(0x2212) : QLatin1Char('+')) + countText(std::abs(b - a))),
                 tr("%1 to %2, %3 gone, %4 new")
                     .arg(countText(a), countText(b))
                     .arg(countOf(comparison, KernelChange::Gone))
                     .arg(countOf(comparison, KernelChange::New))));
    emit selectionText(tr("A against B"));
}

} // namespace tilescope::ui
