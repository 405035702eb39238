#include "ui/kernels/inside_view.h"

#include "core/base/shell_word.h"
#include "core/model/metric.h"
#include "ui/kernels/figure_strip.h"
#include "ui/kernels/stall_bar.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/message_stack.h"
#include "ui/kit/number_text.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_command.h"
#include "ui/theme/theme.h"

#include <QLabel>
#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace tilescope::ui {

namespace {

// In design pixels.
constexpr double kUpper = 330;
constexpr double kLower = 220;
constexpr int kMostKernelWord = 60;

enum CodeOf { OfLine, OfKernel };

QSplitter* gapped(Qt::Orientation orientation)
{
    auto* splitter = new QSplitter(orientation);
    splitter->setHandleWidth(sizes().gap);
    splitter->setProperty("kind", "gap");
    splitter->setChildrenCollapsible(false);
    return splitter;
}

QString fileName(const std::string& file)
{
    return QString::fromStdString(file.substr(file.rfind('/') + 1));
}

} // namespace

InsideView::InsideView(QWidget* parent) : QWidget(parent), stack_(new MessageStack)
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    figures_ = new FigureStrip;
    auto* left = gapped(Qt::Vertical);
    left->addWidget(makeSource());
    left->addWidget(makeHot());
    left->setSizes({sizes().of(kUpper), sizes().of(kLower)});
    left->setStretchFactor(0, 2);
    left->setStretchFactor(1, 1);
    auto* right = gapped(Qt::Vertical);
    right->addWidget(makeLimit());
    right->addWidget(makeInstructions());
    right->setSizes({sizes().of(kUpper * 0.85), sizes().of(kLower * 1.2)});
    auto* both = gapped(Qt::Horizontal);
    both->addWidget(left);
    both->addWidget(right);
    both->setSizes({sizes().of(720), sizes().of(420)});
    both->setStretchFactor(0, 1);
    both->setMinimumHeight(sizes().of(kUpper + kLower) * 4 / 5);
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(sizes().margin, sizes().of(12), sizes().margin, sizes().of(12));
    column->setSpacing(sizes().gap);
    column->addWidget(figures_);
    column->addWidget(both, 1);
    auto* area = new QScrollArea;
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setFocusPolicy(Qt::NoFocus);
    area->setWidget(page);
    stack_->addWidget(area);
    layout->addWidget(stack_, 1);
}

QWidget* InsideView::makeTools()
{
    tools_ = new ToolBar(this);
    view_ = new SegmentedControl({tr("List"), tr("Inside")});
    view_->setAccessibleName(tr("View"));
    view_->setCurrent(1);
    connect(view_, &SegmentedControl::changed, this, [this](int index) {
        view_->setCurrent(1);
        if (index == 0)
            emit listWanted();
    });
    tools_->add(view_);
    tools_->addGap();
    kernels_ = new ComboBox(tr("Kernel"));
    kernels_->setToolTip(tr("The sampled kernels, with their share of all samples"));
    files_ = new ComboBox(tr("Source file"));
    files_->setToolTip(tr("Files with lines of this kernel"));
    for (ComboBox* box : {kernels_, files_}) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(box == kernels_ ? 22 : 12);
        box->setMaxVisibleItems(24);
    }
    tools_->add(kernels_);
    count_ = new SegmentedControl({tr("all samples"), tr("no warp issued")});
    count_->setAccessibleName(tr("Which samples count"));
    count_->setToolTip(
        tr("All samples of the warps, or those at which the scheduler issued no instruction of any warp"));
    tools_->add(count_);
    tools_->add(files_);
    tools_->addStretch();
    auto* summary = new QLabel;
    summary->setProperty("kind", "dim");
    summary_ = summary;
    tools_->add(summary);
    tools_->mayGo(summary);
    connect(tools_->addButton(tr("Export…"), tr("Export what the page shows (Ctrl+E)")),
            &QPushButton::clicked, this, &InsideView::exportWanted);
    connect(kernels_, &QComboBox::activated, this,
            [this](int index) { chooseKernel(kernels_->itemData(index).toString().toStdString()); });
    connect(files_, &QComboBox::activated, this, [this](int index) {
        choice_.file = files_->itemData(index).toString().toStdString();
        choice_.unfolded.clear();
        showSource();
    });
    connect(count_, &SegmentedControl::changed, this, [this](int index) {
        choice_.isUnissued = index == 1;
        showAll();
    });
    return tools_;
}

QWidget* InsideView::makeSource()
{
    sourcePanel_ = new Panel(tr("Source"));
    sourceStack_ = new MessageStack;
    source_ = new TableView;
    source_->setAccessibleName(tr("Source with samples"));
    sourceStack_->addWidget(source_);
    sourcePanel_->setContent(sourceStack_);
    sourcePanel_->setMinimumWidth(sizes().of(330));
    connect(source_, &TableView::chosen, this, &InsideView::chooseRow);
    connect(source_, &TableView::activatedRow, this, &InsideView::toggle);
    connect(source_, &QTableView::clicked, this, [this](const QModelIndex& index) {
        if (index.column() == 0 && source_->currentId())
            toggle(*source_->currentId());
    });
    return sourcePanel_;
}

QWidget* InsideView::makeHot()
{
    hotPanel_ = new Panel(tr("Hottest lines"));
    hot_ = new TableView;
    hot_->setAccessibleName(tr("Hottest lines"));
    hotPanel_->setContent(hot_);
    connect(hotPanel_->addLink(tr("Instances")), &QPushButton::clicked, this,
            [this] { emit instancesWanted(QString::fromStdString(choice_.kernel)); });
    connect(hotPanel_->addLink(tr("Show on timeline")), &QPushButton::clicked, this,
            [this] { emit timelineWanted(QString::fromStdString(choice_.kernel)); });
    connect(hot_, &TableView::chosen, this, &InsideView::chooseHot);
    return hotPanel_;
}

QWidget* InsideView::makeLimit()
{
    limitPanel_ = new Panel(tr("What limits it"));
    auto* content = makePlainColumn(nullptr);
    sentence_ = new SentenceLabel;
    sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    sentence_->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(6));
    content->addWidget(sentence_);
    auto* heading = new QLabel(tr("Issue slots: used, then empty ones by the state of the warp"));
    heading->setProperty("kind", "dim");
    heading->setContentsMargins(sizes().padding, 0, sizes().padding, sizes().of(3));
    content->addWidget(heading);
    bar_ = new StallBar;
    auto* row = new QHBoxLayout;
    row->setContentsMargins(sizes().padding, 0, sizes().padding, sizes().of(4));
    row->addWidget(bar_);
    content->addLayout(row);
    states_ = new TableView;
    states_->setAccessibleName(tr("States of the warps"));
    content->addWidget(states_, 1);
    limitPanel_->setContent(content);
    limitPanel_->setMinimumWidth(sizes().of(280));
    return limitPanel_;
}

QWidget* InsideView::makeInstructions()
{
    codePanel_ = new Panel(tr("SASS"));
    codeOf_ = new SegmentedControl({tr("line"), tr("kernel")});
    codeOf_->setAccessibleName(tr("Whose instructions"));
    codeOf_->setToolTip(
        tr("The sampled instructions of the selected line, or of the kernel; equal ones of a line in a row "
           "are one"));
    codePanel_->addToHeader(codeOf_);
    instructions_ = new TableView;
    instructions_->setAccessibleName(tr("Instructions"));
    codePanel_->setContent(instructions_);
    connect(codeOf_, &SegmentedControl::changed, this, &InsideView::showInstructions);
    return codePanel_;
}

void InsideView::showRuns(const SelectedRun& run, const std::optional<SelectedRun>& second)
{
    run_ = second ? *second : run;
    before_ = second ? std::optional(run) : std::nullopt;
    loading_.start([shown = *run_, before = before_](
                       const query::Cancelled& cancelled) { return readInside(shown, before, cancelled); },
                   [this](InsideReadings readings) { loaded(std::move(readings)); },
                   [this](const QString& sentence) {
                       readings_.reset();
                       stack_->showMessage(sentence);
                   });
}

void InsideView::clear()
{
    loading_.cancel();
    readings_.reset();
    run_.reset();
    before_.reset();
}

void InsideView::showKernel(const std::string& kernel)
{
    wanted_ = kernel;
    if (readings_)
        chooseKernel(sampled(std::exchange(wanted_, {})));
}

/// The full name of a sampled kernel by its full or short name, or by that in words; empty: it was not sampled.
std::string InsideView::sampled(const std::string& name) const
{
    for (const query::InsideRow& row : readings_->shown.kernels.rows) {
        std::string spaced = row.name;
        std::ranges::replace(spaced, '_', ' ');
        if (row.kernel == name || row.name == name || spaced == name)
            return row.kernel;
    }
    return {};
}

QString InsideView::command() const
{
    if (!run_)
        return {};
    ViewCommand command(*run_, "inside");
    if (readings_ && readings_->shown.kernels.isSampled && kernels_->count() > 0)
        command.add("--kernel",
                    kernels_->itemData(kernels_->currentIndex(), Qt::UserRole + 1).toString().toStdString());
    command.add(run_->process);
    return command.text();
}

void InsideView::loaded(InsideReadings readings)
{
    readings_ = std::move(readings);
    const query::InsideTable& kernels = readings_->shown.kernels;
    const bool any = !kernels.rows.empty();
    for (QWidget* tool : std::initializer_list<QWidget*>{kernels_, count_, files_})
        tool->setEnabled(any);
    if (!any) {
        QString why = kernels.isSampled
                          ? tr("No samples of this process or device.")
                          : tr("What the warps of kernels wait for was not sampled: record with "
                               "--inside, or run with inside: true.\n"
                               "tilescope record --inside -- python train.py");
        if (!kernels.trouble.empty())
            why += QStringLiteral("\n\n") + QString::fromStdString(kernels.trouble);
        emit selectionText({});
        return stack_->showMessage(why);
    }
    fillKernels();
    stack_->showContent();
    std::string kernel = sampled(std::exchange(wanted_, {}));
    if (kernel.empty())
        kernel = sampled(choice_.kernel);
    chooseKernel(kernel.empty() ? kernels.rows.front().kernel : kernel);
}

void InsideView::fillKernels()
{
    kernels_->clear();
    for (const query::InsideRow& row : readings_->shown.kernels.rows) {
        const QString name = QString::fromStdString(row.name);
        kernels_->addItem(QStringLiteral("%1  %2").arg(name.left(kMostKernelWord), percentText(row.share)),
                          QString::fromStdString(row.kernel));
        kernels_->setItemData(kernels_->count() - 1, name, Qt::UserRole + 1);
        kernels_->setItemData(kernels_->count() - 1, QString::fromStdString(row.kernel), Qt::ToolTipRole);
    }
}

void InsideView::chooseKernel(const std::string& kernel)
{
    const int index = kernels_->findData(QString::fromStdString(kernel));
    if (index < 0 || !readings_)
        return;
    kernels_->setCurrentIndex(index);
    const bool isOther = choice_.kernel != kernel;
    choice_.kernel = kernel;
    if (isOther) {
        choice_.unfolded.clear();
        line_.reset();
    }
    fillFiles();
    showAll();
}

void InsideView::fillFiles()
{
    files_->clear();
    for (const std::string& file : filesOf(readings_->shown, choice_.kernel)) {
        files_->addItem(fileName(file), QString::fromStdString(file));
        files_->setItemData(files_->count() - 1, QString::fromStdString(file), Qt::ToolTipRole);
    }
    const int same = files_->findData(QString::fromStdString(choice_.file));
    files_->setCurrentIndex(std::max(0, same));
    files_->setEnabled(files_->count() > 1);
    choice_.file = files_->currentData().toString().toStdString();
}

double InsideView::whole() const
{
    double samples = 0;
    for (const query::InsideRow& row : readings_->shown.kernels.rows)
        if (row.kernel == choice_.kernel)
            samples += double(choice_.isUnissued ? row.unissued : row.samples);
    return samples;
}

void InsideView::showAll()
{
    if (!readings_)
        return;
    const InsideReading& shown = readings_->shown;
    figures_->show(insideFigures(*readings_, choice_.kernel, before_ ? before_->letter : QString()));
    QString summary = counted(std::int64_t(whole()), "sample");
    if (const auto launches = shown.launches.find(choice_.kernel); launches != shown.launches.end())
        summary = tr("%1 in %2").arg(summary, counted(launches->second.count, "launch", "launches"));
    static_cast<QLabel*>(summary_)->setText(summary);
    summary_->setToolTip(shown.kernels.turns.empty()
                             ? QString()
                             : tr("A part of the run: %1.").arg(QString::fromStdString(shown.kernels.turns)));
    showSource();
    hot_->show(hotRows(shown, choice_));
    hotPanel_->setSubtitle(tr("of %1, with those of libraries").arg(hot_->table().rows.size()));
    showLimit();
    if (!line_ && !hot_->table().rows.empty())
        chooseHot(hot_->table().rows.front().id);
    else
        selectLine(line_);
}

void InsideView::showSource()
{
    rows_ = sourceLinesOf(*readings_, choice_);
    if (rows_.empty()) {
        sourcePanel_->setTitle(tr("Source"));
        sourcePanel_->setSubtitle({});
        return sourceStack_->showMessage(
            tr("This kernel has no line information: its instructions are on the right.\n"
               "Kernels of Triton have lines; CUDA C++ needs nvcc -lineinfo."));
    }
    sourcePanel_->setTitle(fileName(choice_.file));
    const auto source = readings_->shown.sources.find(choice_.file);
    if (source == readings_->shown.sources.end())
        sourcePanel_->setSubtitle(tr("the recording says nothing about this file"));
    else if (source->second.lines.empty())
        sourcePanel_->setSubtitle(QString::fromStdString(source->second.why));
    else {
        std::uint32_t lastLine = 0;
        for (const InsideSourceRow& row : rows_)
            lastLine = row.isInlined ? lastLine : row.line.line;
        sourcePanel_->setSubtitle(joinedWords(tr("lines %1 to %2 of %3")
                                                  .arg(rows_.front().line.line)
                                                  .arg(lastLine)
                                                  .arg(source->second.lines.size()),
                                              !source->second.isRecorded ? tr("the file on disk is as it was")
                                              : source->second.isOnDisk
                                                  ? tr("of the recording, the same as on disk")
                                                  : tr("of the recording")));
    }
    source_->show(sourceRows(rows_, whole(), readings_->difference.has_value()));
    sourceStack_->showContent();
}

void InsideView::showLimit()
{
    const InsideReading& shown = readings_->shown;
    const auto limit = query::insideLimit(shown.reasons, choice_.kernel);
    if (!limit)
        return;
    sentence_->setText(
        QString::fromStdString(query::limitSentence(*limit, shown.metric(choice_.kernel, kTensorActive))));
    QString subtitle = run_ ? run_->letter : QString();
    if (const auto launches = shown.launches.find(choice_.kernel);
        launches != shown.launches.end() && launches->second.mean())
        subtitle = joinedWords(subtitle, tr("%1 a launch").arg(timeText(*launches->second.mean())));
    limitPanel_->setSubtitle(subtitle);
    std::vector<query::InsidePart> parts;
    for (const query::InsideRow& row : shown.reasons.rows)
        if (row.kernel == choice_.kernel)
            parts.push_back({row.reason, row.samples, row.unissued});
    std::ranges::stable_sort(parts, std::greater{}, &query::InsidePart::unissued);
    std::optional<double> before;
    const std::set<std::string> others = readings_->kernelsBefore(choice_.kernel);
    if (readings_->before)
        for (const query::InsideRow& other : readings_->before->kernels.rows)
            if (others.contains(other.kernel) && !before)
                before = other.issuedShare();
    bar_->show(limit->issued, std::move(parts), before);
    states_->show(stateRows(*readings_, choice_));
}

void InsideView::chooseRow(std::int64_t id)
{
    if (id < 0 || id >= std::ssize(rows_))
        return;
    selectLine(rows_[std::size_t(id)].line);
}

void InsideView::chooseHot(std::int64_t id)
{
    const std::vector<query::InsideRow>& lines = readings_->shown.lines.rows;
    if (id < 0 || id >= std::ssize(lines))
        return;
    const query::InsideRow& row = lines[std::size_t(id)];
    if (row.caller.line > 0 && row.caller.file == choice_.file &&
        choice_.unfolded.insert(row.caller.line).second)
        showSource();
    hot_->setCurrentId(id);
    selectLine(row.line.line > 0 ? std::optional(row.line) : std::nullopt);
}

void InsideView::toggle(std::int64_t id)
{
    if (id < 0 || id >= std::ssize(rows_) || rows_[std::size_t(id)].inlined == 0)
        return;
    const SourceLine line = rows_[std::size_t(id)].line;
    if (!choice_.unfolded.erase(line.line))
        choice_.unfolded.insert(line.line);
    showSource();
    selectLine(line);
}

void InsideView::selectLine(const std::optional<SourceLine>& line)
{
    line_ = line;
    const auto row = line ? std::ranges::find(rows_, *line, &InsideSourceRow::line) : rows_.end();
    if (row != rows_.end()) {
        source_->setCurrentId(row - rows_.begin());
        source_->scrollTo(source_->currentIndex());
    } else {
        source_->setCurrentId({});
    }
    codeOf_->setWord(OfLine, line ? tr("line %1").arg(line->line) : tr("line"));
    if (!line)
        codeOf_->setCurrent(OfKernel);
    codeOf_->setEnabled(line.has_value());
    showInstructions();
    double samples = 0;
    for (const query::InsideRow& each : readings_->shown.lines.rows)
        if (each.kernel == choice_.kernel && line && (each.line == *line || each.caller == *line))
            samples += double(choice_.isUnissued ? each.unissued : each.samples);
    const double all = whole();
    codePanel_->setSubtitle(line && all > 0 ? percentText(samples / all) : QString());
    emit selectionText(line ? tr("line %1, %2").arg(line->line).arg(counted(std::int64_t(samples), "sample"))
                            : tr("1 kernel selected, %1").arg(counted(std::int64_t(all), "sample")));
}

void InsideView::showInstructions()
{
    if (!readings_)
        return;
    const InsideReading& shown = readings_->shown;
    instructions_->show(
        instructionRows(*readings_, choice_, codeOf_->current() == OfLine ? line_ : std::nullopt));
    const bool hasTexts = std::ranges::any_of(shown.instructions.rows, [this](const query::InsideRow& row) {
        return row.kernel == choice_.kernel && !row.instruction.empty();
    });
    codePanel_->setTitle(hasTexts ? tr("SASS") : tr("SASS, offsets alone"));
    codePanel_->setToolTip(
        hasTexts ? QString()
                 : tr("Instructions are shown by their offset where nvdisasm is not found: it is part of "
                      "Triton, of the CUDA toolkit and of the wheel nvidia-cuda-nvcc."));
}

} // namespace tilescope::ui
