#include "ui/compare/compare_page.h"

#include "ui/compare/baseline_panel.h"
#include "ui/compare/distribution_plot.h"
#include "ui/compare/inside_changes.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/message_stack.h"
#include "ui/kit/missing_trace.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_command.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/waiting/waiting_rows.h"

#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>
#include <QStyle>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace tilescope::ui {

namespace {

// Instances per step: the mean of the traced steps, which is a whole number in most runs.
QString countText(double count)
{
    const double whole = std::round(count);
    return std::abs(count - whole) < 1e-9 ? wholeNumber(std::int64_t(whole)) : threeDigits(count);
}

constexpr double kLeastPhase = 56; // height that two distributions need
constexpr qsizetype kFlagLines = 2;

QString twoLines(const QString& strong, const QString& dim)
{
    return QStringLiteral("<b>%1</b><br><span style='color:%2'>%3</span>")
        .arg(strong.toHtmlEscaped(), colours().dimText.name(), dim.toHtmlEscaped());
}

enum Groups { Causes, Families, Ranges, Lines };
enum Level { OfKernels, OfLines, OfStates };

// Why there are no kernels, ops and ranges to compare.
// \param ended  why a run has no trace though it should, or empty
// \param onCpu  neither used a GPU
QString missingEvents(const std::array<bool, 2>& traced, const std::array<QString, 2>& ended, bool onCpu)
{
    if (traced[0] && traced[1] && onCpu)
        return QObject::tr("Neither run has ops to compare.");
    if (traced[0] && traced[1])
        return QObject::tr(
            "One run was traced on a GPU and the other on a CPU: kernels and ops do not correspond.");
    QStringList lines;
    bool areToTrace = false; // runs that another spec would trace
    for (std::size_t i = 0; i < 2; ++i) {
        if (traced[i])
            continue;
        const QString name(QLatin1Char(i == 0 ? 'A' : 'B'));
        lines << name +
                     (ended[i].isEmpty() ? QObject::tr(" was not traced.") : QStringLiteral(": ") + ended[i]);
        areToTrace = areToTrace || ended[i].isEmpty();
    }
    if (lines.size() == 2 && ended[0].isEmpty() && ended[1].isEmpty())
        lines = {QObject::tr("Neither run was traced.")};
    if (areToTrace)
        lines << QObject::tr(
            "Run with trace: kernels and trace_steps above 0 to compare kernels, ops and ranges.");
    return lines.join(QLatin1Char('\n'));
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
      stack_(new MessageStack)
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    // Builds from the outside in: Qt styles a widget and its children again whenever it gets a new parent.
    layout->addWidget(stack_, 1);
    // Plots and tables stay large enough to be read; where the window is too low the page is scrolled.
    auto* scroll = new QScrollArea;
    stack_->addWidget(scroll);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setAccessibleName(tr("Comparison of the selected runs"));
    auto* content = new QWidget;
    scroll->setWidget(content);
    auto* column = new QVBoxLayout(content);
    const int gap = sizes().of(12);
    column->setContentsMargins(sizes().margin, gap, sizes().margin, gap);
    column->setSpacing(sizes().gap);
    baseline_ = new BaselinePanel;
    column->addWidget(baseline_);
    connect(baseline_, &BaselinePanel::chosen, this, [this](const RunKey& run) { choose(1, run); });
    column->addWidget(makeVerdict());
    pair_ = new QWidget;
    column->addWidget(pair_, 1);
    QVBoxLayout* rows = makePlainColumn(pair_);
    rows->setSpacing(sizes().gap);
    auto* above = row();
    above->addWidget(makeSamples(), 27);
    above->addWidget(makeFamilies(), 22);
    auto* below = row();
    below->addWidget(makeKernels(), 34);
    below->addWidget(makeMemory(), 15);
    rows->addLayout(above, 10);
    rows->addLayout(below, 11);
    connect(&workspace, &Workspace::filesChanged, this, &ComparePage::fillChoices);
    connect(&Theme::instance(), &Theme::changed, this, &ComparePage::showVerdict);
}

QString ComparePage::command() const
{
    const std::vector<SelectedRun> runs = workspace().selectedRuns();
    if (runs.size() < 2)
        return {};
    if (isLimited(runs))
        return compareCommand(runs);
    QStringList lines; // one for each row of the list of runs, B first
    for (std::size_t i = 1; i < runs.size(); ++i)
        lines << compareCommand({runs.front(), runs[i]});
    return lines.join(QLatin1Char('\n'));
}

QString ComparePage::timeFilterWords() const
{
    return tr("Kernels, families, ranges and memory are of this; samples, verdicts on further runs and "
              "causes are of whole steps and hidden.");
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
            const RunTitles& titles = file.groups->titles();
            for (const query::RunSummary& run : file.snapshot->runs) {
                choice->addItem(QStringLiteral("%1 #%2 %3")
                                    .arg(file.import
                                             ? file.name()
                                             : QString::fromStdString(file.file->shown().stem().string()),
                                         QString::number(run.run.value), titles.of(run, true)),
                                QVariant::fromValue(QPair<int, qint64>(file.id, run.run.value)));
                if (box < int(selected.size()) && selected[std::size_t(box)] == RunKey{file.id, run.run})
                    choice->setCurrentIndex(choice->count() - 1);
            }
        }
        if (box >= int(selected.size()))
            choice->setCurrentIndex(-1);
        choice->setEnabled(choice->count() > 0);
        ++box;
    }
}

// Choosing a selected run swaps the two; any other run replaces the one at this place. If more than two are
// selected, the others stay.
void ComparePage::choose(std::size_t which, const RunKey& chosen)
{
    std::vector<RunKey> keys = workspace().selection();
    if (which >= keys.size()) {
        keys.push_back(chosen);
        return workspace().select(std::move(keys));
    }
    if (const auto known = std::find(keys.begin(), keys.end(), chosen); known != keys.end())
        std::iter_swap(known, keys.begin() + std::ptrdiff_t(which));
    else if (keys.size() > 2)
        keys.insert(keys.begin() + std::ptrdiff_t(which), chosen);
    else
        keys[which] = chosen;
    workspace().select(std::move(keys));
    fillChoices(); // if nothing has changed, the box shows its previous choice
}

void ComparePage::showRuns(const std::vector<SelectedRun>& selected)
{
    fillChoices();
    swap_->setEnabled(selected.size() > 1);
    for (QWidget* tool : ofBoth_)
        tool->setEnabled(selected.size() > 1);
    const bool isOtherB = !stack_->isShowingMessage() && baseline_->isAbout(selected);
    baseline_->showRuns(selected);
    // The rest of the page is about the first two.
    std::vector<SelectedRun> runs(selected.begin(),
                                  selected.begin() + std::min<std::ptrdiff_t>(2, std::ssize(selected)));
    if (runs.size() == 2 && runs[0].process != runs[1].process) // only one has it: the means are compared
        for (SelectedRun& run : runs)
            run.process = {.allSteps = run.process.allSteps};
    if (runs.size() < 2) {
        loading_.cancel();
        const QString fills = tr("Two runs side by side: the verdict, their samples, kernels and memory.");
        stack_->showMessage(
            runs.empty()
                ? emptyText(fills)
                : tr("Select two runs: Ctrl+click in the list on the right, or choose A and B above.\n") +
                      fills);
        return;
    }
    if (isOtherB)
        showComparing(runs);
    else
        stack_->showMessage(tr("Comparing…"));
    loading_.start(
        [runs, selected = selected.size()](const query::Cancelled& cancelled) {
            Loaded loaded;
            loaded.selected = selected;
            loaded.process = processWords(runs);
            {
                auto a = runs[0].file->borrow();
                auto b = runs[1].file->borrow();
                loaded.compared = compareRuns(a->reader(), runs[0].key.run, b->reader(), runs[1].key.run,
                                              {runs[0].span, runs[1].span}, runs[0].process);
                const auto linesOf = [](const store::RunReader& reader, const SelectedRun& run) {
                    return query::waiting(reader,
                                          {.run = run.key.run, .topology = run.process, .span = run.span},
                                          query::WaitingGroup::Line);
                };
                loaded.lines = {linesOf(a->reader(), runs[0]), linesOf(b->reader(), runs[1])};
                const auto insideBy = [&](query::InsideGroup group) {
                    return query::insideDifference(
                        a->reader(), {.run = runs[0].key.run, .topology = runs[0].process}, b->reader(),
                        {.run = runs[1].key.run, .topology = runs[1].process, .group = group});
                };
                loaded.insideLines = insideBy(query::InsideGroup::Line);
                if (loaded.insideLines->isSampledA && loaded.insideLines->isSampledB)
                    loaded.insideStates = insideBy(query::InsideGroup::Reason);
                else
                    loaded.insideLines.reset();
            }
            for (std::size_t i = 0; i < runs.size(); ++i) {
                const SelectedRun& run = runs[i];
                loaded.ended[i] = whyTraceIsMissing(*run.run);
                const auto timeline = run.file->timeline(run.key.run, cancelled);
                if (cancelled())
                    break;
                if (!timeline)
                    continue;
                const query::LiveMemoryTable live = run.file->borrow()->liveAtPeak(run.key.run);
                loaded.traced[i] = !timeline->steps.empty();
                if (auto series = MemorySeries::of(timeline, live.history->device)) {
                    if (run.span)
                        loaded.look(TimeWindow{double(run.span->from.count() - series->zero),
                                               double(run.span->to.count() - series->zero)});
                    loaded.held[i] = !series->lane->allocated.empty();
                    series->letter = run.letter;
                    loaded.memory.push_back(std::move(*series));
                }
            }
            return loaded;
        },
        [this](Loaded loaded) { this->loaded(std::move(loaded)); },
        [this](const QString& sentence) { stack_->showMessage(sentence); });
}

// The list of runs stays in its place while another of them becomes B.
void ComparePage::showComparing(const std::vector<SelectedRun>& runs)
{
    pair_->setEnabled(false); // still about the previous B
    verdict_->setProperty("kind", "dim");
    verdict_->style()->unpolish(verdict_);
    verdict_->style()->polish(verdict_);
    verdict_->setText(tr("Comparing…"));
    sentence_->setText(twoLines(tr("A %1, B %2").arg(runs[0].title, runs[1].title), {}));
    memoryFact_->hide();
    kernelFact_->hide();
}

// The hull of both.
void ComparePage::Loaded::look(const TimeWindow& window)
{
    looked =
        looked ? TimeWindow{std::min(looked->from, window.from), std::max(looked->to, window.to)} : window;
}

void ComparePage::loaded(Loaded loaded)
{
    shown_ = std::move(loaded);
    const query::Comparison& comparison = *shown_.compared.comparison;
    samplePanel_->setVisible(!comparison.isLimited());
    samples_->show(shown_.compared.phases);
    samples_->setMinimumHeight(int(shown_.compared.phases.size()) * sizes().of(kLeastPhase));
    missing_ = comparison.isLimited()
                   ? tr("Within the time filter there is nothing that both runs have: kernels or ops.")
                   : missingEvents(shown_.traced, shown_.ended, comparison.opsForKernels);
    if (!comparison.change) {
        leftCauses_ = leftCauses_ || groups_->current() == Causes;
        groups_->setCurrent(comparison.families.empty() && !comparison.ranges.empty() ? Ranges : Families);
    } else if (std::exchange(leftCauses_, false)) {
        groups_->setCurrent(Causes);
    }
    showGroups();
    if (!shown_.insideLines)
        level_->setCurrent(OfKernels);
    else if (comparison.kernels.empty() && level_->current() == OfKernels)
        level_->setCurrent(OfLines);
    const QString words[] = {tr("all"), tr("gone"), tr("new"), tr("count"), tr("slower"), tr("faster")};
    for (int i = 0; i < kKernelChanges; ++i)
        which_->setWord(
            i, i == 0 ? words[i]
                      : QStringLiteral("%1 %2").arg(words[i]).arg(countOf(comparison, KernelChange(i))));
    showKernels();
    showMemory();
    memoryTable_->show(memoryDifferenceRows(shown_.compared));
    memoryTable_->setVisible(!memoryTable_->table().rows.empty());
    showVerdict();
    pair_->setEnabled(true);
    stack_->showContent();
}

void ComparePage::showMemory()
{
    const auto [a, b] = shown_.held;
    memory_->setVisible(a || b);
    noMemory_->setVisible(!a && !b);
    QStringList remedies;
    for (const SelectedRun& run : workspace().selectedRuns())
        remedies << remedyFor(MissingPart::Memory, *run.run);
    remedies.removeDuplicates();
    noMemory_->setText(tr("Memory over time was not recorded.\n") + remedies.join(QLatin1Char('\n')));
    memoryPanel_->setSubtitle(a != b          ? tr("over time of %1 only").arg(QLatin1Char(a ? 'A' : 'B'))
                              : shown_.looked ? tr("peaks within the time filter")
                                              : QString());
    memory_->show(a || b ? shown_.memory : std::vector<MemorySeries>());
    if (shown_.looked)
        memory_->setWindow(*shown_.looked);
}

const query::InsideDifference* ComparePage::shownInside() const
{
    const std::optional<query::InsideDifference>& lines = shown_.insideLines;
    if (level_->current() == OfKernels || !lines)
        return nullptr;
    return level_->current() == OfLines ? &*lines : &*shown_.insideStates;
}

void ComparePage::showKernels()
{
    if (!shown_.compared.comparison)
        return;
    const query::Comparison& comparison = *shown_.compared.comparison;
    level_->setVisible(shown_.insideLines.has_value());
    if (const query::InsideDifference* const inside = shownInside())
        return showInside(*inside);
    const bool any = !comparison.kernels.empty();
    kernels_->setVisible(any);
    noKernels_->setVisible(!any);
    noKernels_->setText(missing_);
    which_->setVisible(any);
    kernelPanel_->setTitle(comparison.opsForKernels ? tr("Ops") : tr("Kernels"));
    kernelPanel_->setSubtitle(any ? joinedWords(tr("by difference"), shown_.process) : QString());
    kernels_->setToolTip(tr("Enter or double click shows it on the aligned timeline"));
    kernels_->show(kernelDifferenceRows(comparison, KernelChange(which_->current())));
}

void ComparePage::showInside(const query::InsideDifference& difference)
{
    which_->hide();
    const bool any = !difference.rows.empty();
    kernels_->setVisible(any);
    noKernels_->setVisible(!any);
    noKernels_->setText(tr("No sampled kernel has the same name in both runs."));
    kernelPanel_->setTitle(difference.group == query::InsideGroup::Line ? tr("Lines of kernels")
                                                                        : tr("States of warps"));
    kernelPanel_->setSubtitle(any ? tr("share of a launch, whole runs") : QString());
    kernels_->setToolTip(tr("Enter or double click shows the inside of the kernel"));
    kernels_->show(insideChangeRows(difference));
}

void ComparePage::openKernel(std::int64_t id)
{
    if (const query::InsideDifference* const inside = shownInside()) {
        const QString kernel = QString::fromStdString(inside->rows.at(std::size_t(id)).kernel);
        emit workspace().targetWanted(QStringLiteral("kernels"),
                                      {.kind = PageTarget::Kind::Kernel, .text = kernel, .isInside = true});
        return;
    }
    const query::Comparison& comparison = *shown_.compared.comparison;
    const QString name = QString::fromStdString(comparison.kernels[std::size_t(id)].difference.key);
    emit workspace().targetWanted(QStringLiteral("timeline"), {PageTarget::Kind::Kernel, name});
}

void ComparePage::showGroups()
{
    if (!shown_.compared.comparison)
        return;
    const query::Comparison& comparison = *shown_.compared.comparison;
    const int which = groups_->current();
    if (which == Lines)
        return showLines();
    const bool any = comparison.change || !comparison.families.empty() || !comparison.ranges.empty();
    const bool isWithoutCauses = which == Causes && comparison.isLimited();
    families_->setVisible(any && !isWithoutCauses);
    noGroups_->setVisible(!any || isWithoutCauses);
    noGroups_->setText(isWithoutCauses ? tr("Causes are of whole steps: clear the time filter to see them.")
                                       : missing_);
    groups_->setVisible(any);
    families_->show(which == Causes   ? causeRows(comparison)
                    : which == Ranges ? rangeDifferenceRows(comparison)
                                      : familyDifferenceRows(comparison));
    familyPanel_->setTitle(which == Causes ? tr("Causes") : which == Ranges ? tr("Ranges") : tr("Families"));
    familyPanel_->setToolTip(which == Causes && comparison.change
                                 ? QString::fromStdString(query::alignmentSentence(*comparison.change))
                                 : QString());
    const QString subtitle = which == Causes            ? alignmentWords(comparison)
                             : comparison.isLimited()   ? tr("time within the time filter")
                             : which == Ranges          ? tr("wall time a traced step")
                             : comparison.opsForKernels ? tr("self time of ops a traced step")
                                                        : tr("GPU time a traced step");
    familyPanel_->setSubtitle(any ? joinedWords(subtitle, shown_.process) : QString());
}

// Which lines of the host gained or lost idle time of the GPU.
void ComparePage::showLines()
{
    const auto& [a, b] = shown_.lines;
    const bool any = !a.rows.empty() && !b.rows.empty();
    familyPanel_->setTitle(tr("Idle time by line"));
    familyPanel_->setToolTip({});
    familyPanel_->setSubtitle(
        any ? joinedWords(a.steps > 0 ? tr("of a mean step") : tr("of the recording"), shown_.process)
            : QString());
    families_->setVisible(any);
    noGroups_->setVisible(!any);
    noGroups_->setText(QString::fromStdString(a.rows.empty() ? a.whyEmpty : b.whyEmpty));
    groups_->setVisible(true);
    if (any)
        families_->show(lineRows(a, &b));
}

void ComparePage::openGroup(std::int64_t id)
{
    if (groups_->current() == Lines) {
        emit workspace().pageWanted(QStringLiteral("waiting"));
        return;
    }
    const query::Comparison& comparison = *shown_.compared.comparison;
    const auto keyOf = [id](const std::vector<query::ComparedGroup>& groups) {
        return QString::fromStdString(groups.at(std::size_t(id)).difference.key);
    };
    if (groups_->current() == Ranges) {
        emit workspace().targetWanted(QStringLiteral("timeline"),
                                      {PageTarget::Kind::Range, keyOf(comparison.ranges)});
    } else if (groups_->current() == Families) {
        emit workspace().targetWanted(QStringLiteral("kernels"),
                                      {PageTarget::Kind::Family, keyOf(comparison.families)});
    } else if (comparison.change && id >= 0 && id < std::ssize(comparison.change->parts)) {
        const query::ChangePart& part = comparison.change->parts[std::size_t(id)];
        if (!part.name.empty() && part.kind != query::ChangeKind::Replaced)
            emit workspace().targetWanted(QStringLiteral("timeline"),
                                          {PageTarget::Kind::Kernel, QString::fromStdString(part.name)});
    }
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
    // Flags qualify the verdict and are displayed beside it.
    QString text = twoLines(verdict.sentence, verdict.conditions);
    for (const QString& flag : verdict.flags.mid(0, kFlagLines))
        text += QStringLiteral("<br><span style='color:%1'>⚠ %2</span>")
                    .arg(colours().warning.name(), flag.toHtmlEscaped());
    if (verdict.flags.size() > kFlagLines)
        text += QStringLiteral("<br>%1").arg(counted(verdict.flags.size() - kFlagLines, "more flag"));
    sentence_->setText(text);
    sentence_->setToolTip(verdict.flags.join(QLatin1Char('\n')).toHtmlEscaped());
    const query::ComparedMemory* peak = comparison.memory.empty() ? nullptr : &comparison.memory.front();
    const bool peaks = peak != nullptr && peak->a && peak->b;
    memoryFact_->setVisible(peaks);
    if (peaks) {
        const double more = double(peak->b->count - peak->a->count);
        const Unit unit = byteUnit(more);
        memoryFact_->setText(
            twoLines(tr("Peak allocated %1")
                         .arg(more == 0 ? QStringLiteral("equal")
                                        : withUnit(signedDigits(more / unit.divisor), unit.suffix)),
                     tr("%1 to %2").arg(byteText(double(peak->a->count)), byteText(double(peak->b->count)))));
    }
    double a = 0;
    double b = 0;
    for (const query::ComparedGroup& group : comparison.kernels) {
        a += group.difference.instancesA;
        b += group.difference.instancesB;
    }
    kernelFact_->setVisible(!comparison.kernels.empty());
    kernelFact_->setText(
        twoLines((comparison.isLimited() ? tr("%1 %2") : tr("%1 %2 a step"))
                     .arg(comparison.opsForKernels ? tr("Ops") : tr("Kernels"),
                          b == a ? QStringLiteral("±0")
                                 : (b < a ? QChar(0x2212) : QLatin1Char('+')) + countText(std::abs(b - a))),
                 tr("%1 to %2, %3 gone, %4 new")
                     .arg(countText(a), countText(b))
                     .arg(countOf(comparison, KernelChange::Gone))
                     .arg(countOf(comparison, KernelChange::New))));
    const auto all = std::int64_t(shown_.selected);
    emit selectionText(all <= 2 ? tr("A against B")
                       : comparison.isLimited()
                           ? tr("A against B, the first two of %1").arg(counted(all, "run"))
                           : tr("A against B, and against each of %1").arg(counted(all - 1, "run")));
}

} // namespace tilescope::ui
