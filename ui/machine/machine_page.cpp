#include "ui/machine/machine_page.h"

#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/layouts.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/table_view.h"
#include "ui/machine/machine_rows.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>
#include <QSplitter>

#include <algorithm>

namespace tilescope::ui {

namespace {

using machine::Finding;

constexpr std::size_t kMostRuns = 4;
constexpr int kMostLines = 4; // of a fact; longer ones lose their end

std::pair<Icon, QColor> signOf(Finding::Verdict verdict)
{
    const Palette& p = colours();
    switch (verdict) {
    case Finding::Verdict::Ok:
        return {Icon::Check, p.dimText};
    case Finding::Verdict::Note:
        return {Icon::Info, p.accent};
    case Finding::Verdict::Missing:
        return {Icon::Warning, p.warning};
    }
    return {Icon::Info, p.accent};
}

QString wordOf(Finding::Verdict verdict)
{
    return verdict == Finding::Verdict::Missing ? MachinePage::tr("missing")
           : verdict == Finding::Verdict::Note  ? MachinePage::tr("note")
                                                : MachinePage::tr("fine");
}

QLabel* makeText(const std::string& words, const char* kind)
{
    auto* label = new SentenceLabel(QString::fromStdString(words));
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    label->setProperty("kind", kind);
    return label;
}

} // namespace

MachinePage::MachinePage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), facts_(new TableView)
{
    auto* layout = newLayout<QVBoxLayout>(this, 0, 0);
    layout->addWidget(makeTools());
    auto* here = new Panel(tr("This machine"));
    here->setSubtitle(tr("what experiments can use, and how to fix what is missing"));
    auto* scroll = new QScrollArea;
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setAccessibleName(tr("Findings about this machine"));
    findings_ = new QWidget;
    findings_->setLayout(new QGridLayout);
    scroll->setWidget(findings_);
    scroll->viewport()->setAutoFillBackground(false);
    findings_->setAutoFillBackground(false);
    here->setContent(scroll);
    recorded_ = new Panel(tr("Recorded on"));
    facts_->setAccessibleName(tr("Facts about the machines of the selected runs"));
    facts_->setMostLinesOfEach(kMostLines);
    recorded_->setContent(facts_);
    auto* splitter = new QSplitter(Qt::Horizontal);
    splitter->setHandleWidth(sizes().gap);
    splitter->setProperty("kind", "gap");
    splitter->setChildrenCollapsible(false);
    splitter->addWidget(here);
    splitter->addWidget(recorded_);
    splitter->setSizes({sizes().of(540), sizes().of(500)});
    auto* margins = new QVBoxLayout;
    margins->setContentsMargins(sizes().margin, sizes().of(12), sizes().margin, sizes().of(12));
    margins->addWidget(splitter);
    layout->addLayout(margins, 1);
    connect(&Theme::instance(), &Theme::changed, this, [this] { showFindings(shown_); });
}

QWidget* MachinePage::makeTools()
{
    auto* tools = new ToolBar(this);
    connect(tools->addButton(tr("Refresh"), tr("Check this machine again")), &QPushButton::clicked, this,
            &MachinePage::examine);
    connect(tools->addButton(tr("Copy report"), tr("Copy the findings as text")), &QPushButton::clicked, this,
            [this] {
                QString text;
                for (const Finding& finding : shown_)
                    text += QStringLiteral("%1\t%2\t%3\n")
                                .arg(QString::fromStdString(finding.topic),
                                     QString::fromStdString(finding.finding),
                                     QString::fromStdString(finding.remedy));
                QApplication::clipboard()->setText(text);
            });
    tools->addStretch();
    summary_ = new QLabel;
    summary_->setProperty("kind", "dim");
    tools->add(summary_);
    return tools;
}

void MachinePage::showEvent(QShowEvent* event)
{
    Page::showEvent(event);
    if (!asked_)
        examine();
}

void MachinePage::examine()
{
    asked_ = true;
    summary_->setText(tr("examining…"));
    examining_.start([](const query::Cancelled&) { return machine::examine(); },
                     [this](std::vector<Finding> findings) { showFindings(findings); },
                     [this](const QString& sentence) { summary_->setText(sentence); });
}

void MachinePage::showFindings(const std::vector<Finding>& findings)
{
    shown_ = findings;
    delete findings_->layout();
    qDeleteAll(findings_->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly));
    auto* grid = new QGridLayout(findings_);
    grid->setContentsMargins(sizes().padding, sizes().of(10), sizes().padding, sizes().of(10));
    grid->setHorizontalSpacing(sizes().padding);
    grid->setVerticalSpacing(sizes().of(10));
    grid->setColumnStretch(2, 1);
    int row = 0;
    for (const Finding& finding : shown_) {
        auto* sign = new QLabel;
        const auto [icon, colour] = signOf(finding.verdict);
        sign->setPixmap(makeIcon(icon, colour, sizes().of(14)).pixmap(sizes().of(14)));
        sign->setAccessibleName(wordOf(finding.verdict));
        grid->addWidget(sign, row, 0, Qt::AlignTop);
        QLabel* topic = makeText(finding.topic, "title");
        topic->setWordWrap(false);
        grid->addWidget(topic, row, 1);
        grid->addWidget(makeText(finding.finding, ""), row++, 2);
        if (!finding.remedy.empty())
            grid->addWidget(makeText(finding.remedy, "dim"), row++, 2);
    }
    grid->setRowStretch(row, 1);
    const auto missing = std::count_if(shown_.begin(), shown_.end(), [](const Finding& finding) {
        return finding.verdict == Finding::Verdict::Missing;
    });
    summary_->setText(tr("%1, %2 missing").arg(counted(std::ssize(shown_), "finding")).arg(missing));
}

TableData MachinePage::findingsTable() const
{
    using Kind = TableColumn::Kind;
    TableData table;
    table.columns = {makeColumn(tr("Topic"), Kind::Text, 130), makeColumn(tr("Verdict"), Kind::Text, 70),
                     makeColumn(tr("Finding"), Kind::Text, 0), makeColumn(tr("Remedy"), Kind::Text, 260)};
    for (const Finding& finding : shown_) {
        TableRow& row = table.rows.emplace_back();
        row.id = std::int64_t(table.rows.size()) - 1;
        row.cells = {makeWords(QString::fromStdString(finding.topic)), makeWords(wordOf(finding.verdict)),
                     makeWords(QString::fromStdString(finding.finding)),
                     makeWords(QString::fromStdString(finding.remedy))};
    }
    return table;
}

void MachinePage::showRuns(const std::vector<SelectedRun>& runs)
{
    recorded_->setVisible(!runs.empty()); // this machine has the page to itself
    if (runs.empty()) {
        loading_.cancel();
        facts_->show({});
        return;
    }
    const std::vector<SelectedRun> shown(runs.begin(),
                                         runs.begin() + std::ptrdiff_t(std::min(kMostRuns, runs.size())));
    QStringList titles;
    const QString which =
        runs.size() > shown.size()
            ? tr(", the first %1 of %2").arg(shown.size()).arg(counted(std::ssize(runs), "run"))
            : QString();
    for (const SelectedRun& run : shown)
        titles << (run.letter.isEmpty() ? QString() : run.letter + QLatin1Char(' ')) + run.source();
    loading_.start(
        [shown](const query::Cancelled&) {
            std::vector<query::EnvironmentTable> facts;
            for (const SelectedRun& run : shown)
                facts.push_back(query::environment(run.file->borrow()->reader(), run.key.run));
            return facts;
        },
        [this, titles, which](const std::vector<query::EnvironmentTable>& facts) {
            const TableData rows = factRows(facts, titles);
            facts_->show(rows);
            recorded_->setSubtitle(titles.join(QStringLiteral(", ")) + which +
                                   (rows.rows.empty() ? tr(": nothing was recorded about it") : QString()));
        },
        [this](const QString& sentence) { recorded_->setSubtitle(sentence); });
}

} // namespace tilescope::ui
