#include "ui/overview/advice_panel.h"

#include "core/exchange/advice/advice_columns.h"
#include "core/exchange/advice/advice_section.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

using analysis::AdviceRule;
using query::Advice;

constexpr double kFindingHeight = 22;
constexpr int kMostFindings = 7; // before the list scrolls
constexpr int kMostLines = 6;    // of a finding; a longer one loses its end

/// The page that shows what a finding is about.
QString pageOf(AdviceRule rule, bool hasHostStacks)
{
    switch (rule) {
    case AdviceRule::LaunchBound:
    case AdviceRule::Synchronization:
    case AdviceRule::DataLoading:
    case AdviceRule::GarbageCollection:
    case AdviceRule::HostOptimizer:
    case AdviceRule::Logging:
    case AdviceRule::StartUp:
    case AdviceRule::EagerSteps:
    case AdviceRule::HostBoundDecode:
        return hasHostStacks ? QStringLiteral("waiting") : QStringLiteral("timeline");
    case AdviceRule::PageableCopy:
    case AdviceRule::ExposedCopy:
    case AdviceRule::HostCopies:
        return QStringLiteral("timeline");
    case AdviceRule::ExposedCommunication:
    case AdviceRule::LateRank:
    case AdviceRule::LateGather:
    case AdviceRule::SmallCollectives:
    case AdviceRule::UnevenRanks:
        return QStringLiteral("ranks");
    case AdviceRule::Recomputation:
        return QStringLiteral("flame");
    case AdviceRule::Fragmentation:
        return QStringLiteral("memory");
    default:
        return QStringLiteral("kernels");
    }
}

QString words(const std::string& text)
{
    return QString::fromStdString(text);
}

/// The costliest item of the evidence that pages can show by name.
PageTarget targetOf(const Advice& finding)
{
    if (finding.evidence.empty())
        return {};
    const query::AdviceEvidence& first = finding.evidence.front();
    if (first.kind == "kernel")
        return {.kind = PageTarget::Kind::Kernel,
                .text = words(first.name),
                .isInside = finding.command.find(" inside ") != std::string::npos};
    if (first.kind != "module")
        return {};
    // A line of evidence may represent several equal modules; uses the first.
    QString path = words(first.name);
    path.replace(QStringLiteral(".*"), QStringLiteral(".0"));
    return {PageTarget::Kind::Range, QStringLiteral("step/") + path};
}

/// The finding, its remedy and the rows behind it, for hovering and copying.
QString wholeText(const query::AdviceTable& table, const Advice& finding)
{
    QStringList lines{words(finding.sentence), words(finding.remedy)};
    constexpr std::size_t kRows = 8;
    for (std::size_t i = 0; i < std::min(kRows, finding.evidence.size()); ++i) {
        const query::AdviceEvidence& row = finding.evidence[i];
        QString line =
            exactTime(std::llround(table.perStep(row.atStake))) + QStringLiteral("  ") + words(row.name);
        if (!row.place.empty())
            line += QStringLiteral(", ") + words(row.place);
        if (!row.note.empty())
            line += QStringLiteral(", ") + words(row.note);
        lines << line;
    }
    return lines.join(QLatin1Char('\n'));
}

} // namespace

TableData adviceRows(const query::AdviceTable& advice)
{
    using Kind = TableColumn::Kind;
    const exchange::AdviceColumns of(advice);
    TableMaker<Advice> maker(advice.rows);
    maker.add(of.rule, 180);
    maker.add(of.atStake, 84);
    maker.add(makeColumnOf(of.percent.about, Kind::Bar, 90),
              [&](const Advice& row) { return makeBar(advice.percent(row.atStake), 100); });
    maker.add(of.sentence, 0,
              [&](TableCell& cell, const Advice& row) { cell.exact = wholeText(advice, row); });
    TableData table = maker.table(advice.rows, [](const Advice&) { return Swatch{}; });
    table.columns.back().sentence = true;
    return table;
}

AdvicePanel::AdvicePanel(QWidget* parent)
    : Panel(tr("Advice"), parent), table_(new TableView), message_(makeMessage()), notes_(new SentenceLabel)
{
    table_->setAccessibleName(tr("Advice"));
    table_->setRowHeight(kFindingHeight);
    table_->setMostLinesOfEach(kMostLines);
    connect(table_, &TableView::rowHeightChanged, this, &AdvicePanel::fitRows);
    table_->setToolTip(tr("Enter or double click opens the page that shows what costs most"));
    message_->setContentsMargins(sizes().padding, sizes().gap, sizes().padding, sizes().gap);
    notes_->setAccessibleName(tr("Rules that were not judged"));
    notes_->setProperty("kind", "dim");
    notes_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    notes_->setContentsMargins(sizes().padding, sizes().of(6), sizes().padding, sizes().of(8));
    connect(table_, &TableView::activatedRow, this, [this](std::int64_t id) {
        if (advice_ && id >= 0 && id < std::ssize(advice_->rows))
            emit targetWanted(pageOf(advice_->rows[std::size_t(id)].rule, advice_->hasHostStacks),
                              targetOf(advice_->rows[std::size_t(id)]));
    });
    QVBoxLayout* content = makePlainColumn(nullptr);
    content->addWidget(table_);
    content->addWidget(message_);
    content->addWidget(notes_);
    setContent(content);
    say({});
}

void AdvicePanel::expect()
{
    loading_.cancel();
    advice_.reset();
    setSubtitle(tr("reading the trace…"));
    say(tr("Reading the trace…"));
}

void AdvicePanel::showRuns(const std::vector<SelectedRun>& runs)
{
    expect();
    if (runs.empty())
        return;
    loading_.start(
        [run = runs.front()](const query::Cancelled& cancelled) {
            auto session = run.file->borrow();
            return std::make_shared<const query::AdviceTable>(
                query::advice(session->reader(), run.key.run, run.process, cancelled));
        },
        [this, letter = runs.front().letter](std::shared_ptr<const query::AdviceTable> advice) {
            show(std::move(advice), letter);
        },
        [this](const QString& sentence) {
            setSubtitle({});
            say(sentence);
        });
}

void AdvicePanel::show(std::shared_ptr<const query::AdviceTable> advice, const QString& letter)
{
    advice_ = std::move(advice);
    if (advice_->steps == 0) {
        setSubtitle({});
        say(tr("The run has no traced events."));
        return;
    }
    const QString of = letter.isEmpty() ? QString() : tr("of %1: ").arg(letter);
    setSubtitle(of + joinedWords(advice_->isWhole
                                     ? tr("time at stake in the whole recording, an upper bound")
                                     : tr("time at stake in the mean traced step, an upper bound"),
                                 words(advice_->process)));
    QStringList notes;
    for (const std::string& note : exchange::closingNotes(*advice_))
        notes << words(note);
    if (advice_->rows.empty())
        say(tr("The rules that could be judged found nothing."));
    notes_->setText(notes.join(QLatin1Char('\n')));
    notes_->setVisible(!notes.isEmpty());
    if (advice_->rows.empty())
        return;
    table_->show(adviceRows(*advice_));
    fitRows();
    table_->setVisible(true);
    message_->setVisible(false);
}

void AdvicePanel::fitRows()
{
    int height = sizes().header + 2;
    for (int row = 0; row < std::min(kMostFindings, table_->model()->rowCount()); ++row)
        height += table_->rowHeight(row);
    table_->setFixedHeight(height);
}

void AdvicePanel::say(const QString& text)
{
    message_->setText(text);
    message_->setVisible(true);
    table_->setVisible(false);
    notes_->setVisible(false);
}

} // namespace tilescope::ui
