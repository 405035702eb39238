#include "ui/query/query_page.h"

#include "core/base/shell_word.h"
#include "core/exchange/runs/sql_section.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/query/result_plot.h"
#include "ui/query/result_rows.h"
#include "ui/theme/theme.h"

#include <QFileInfo>
#include <QMenu>
#include <QPlainTextEdit>
#include <QSplitter>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>
#include <vector>

namespace tilescope::ui {

namespace {

/// Rows that the table shows; `tilescope sql` prints more.
constexpr std::size_t kMostRows = 10'000;

QSplitter* makeSplitter(Qt::Orientation orientation, QWidget* first, QWidget* second, int a, int b)
{
    auto* splitter = new QSplitter(orientation);
    splitter->setHandleWidth(sizes().gap);
    splitter->setProperty("kind", "gap");
    splitter->setChildrenCollapsible(false);
    splitter->addWidget(first);
    splitter->addWidget(second);
    splitter->setSizes({sizes().of(a), sizes().of(b)});
    return splitter;
}

} // namespace

QueryPage::QueryPage(Workspace& workspace, QWidget* parent) : Page(workspace, parent)
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    auto* above = makeSplitter(Qt::Horizontal, makeEditor(), makeSources(), 640, 300);
    auto* below = makeSplitter(Qt::Horizontal, makeResult(), makeChart(), 560, 380);
    auto* margins = new QVBoxLayout;
    margins->setContentsMargins(sizes().margin, sizes().of(12), sizes().margin, sizes().of(12));
    margins->addWidget(makeSplitter(Qt::Vertical, above, below, 230, 400));
    content_ = new QWidget;
    content_->setLayout(margins);
    message_ = makeMessage();
    layout->addWidget(content_, 1);
    layout->addWidget(message_, 1);
    message_->hide();
    runIt_ = addKey(
        *this, tr("Run the statement"),
        {QKeySequence(Qt::CTRL | Qt::Key_R), QKeySequence(Qt::CTRL | Qt::Key_Return)}, [this] { run(); },
        Qt::WidgetWithChildrenShortcut);
    setKeyTip(*runIt_);
    bindButton(*runButton_, *runIt_);
    setRunning(false);
}

QueryPage::~QueryPage()
{
    if (stop_)
        stop_->request_stop();
}

QWidget* QueryPage::makeTools()
{
    auto* tools = new ToolBar(this);
    runButton_ = tools->addButton(tr("Run"), tr("Run the statement"));
    stopButton_ = tools->addButton(tr("Stop"), tr("Stop the statement"));
    connect(stopButton_, &QPushButton::clicked, this, &QueryPage::stop);
    examples_ = new MenuButton(tr("Examples"));
    auto* menu = new QMenu(examples_);
    for (const ExampleStatement& example : exampleStatements())
        menu->addAction(QCoreApplication::translate("QueryPage", example.title), this, [this, &example] {
            setStatement(statementOf(example, run_));
            run();
        });
    examples_->setMenu(menu);
    tools->add(examples_);
    tools->addStretch();
    fileName_ = new QLabel;
    fileName_->setProperty("kind", "dim");
    tools->add(fileName_);
    return tools;
}

QWidget* QueryPage::makeEditor()
{
    auto* panel = new Panel(tr("Statement"));
    panel->setSubtitle(tr("one SELECT; the file is read-only"));
    auto* content = new QWidget;
    auto* column = makePlainColumn(content);
    editor_ = new QPlainTextEdit;
    editor_->setFont(Theme::instance().mono());
    editor_->setFrameShape(QFrame::NoFrame);
    editor_->document()->setDocumentMargin(sizes().of(10));
    editor_->setTabChangesFocus(true);
    editor_->setAccessibleName(tr("SQL statement"));
    connect(&Theme::instance(), &Theme::changed, this,
            [this] { editor_->setFont(Theme::instance().mono()); });
    failure_ = new SentenceLabel;
    failure_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    failure_->setContentsMargins(sizes().padding, sizes().of(6), sizes().padding, sizes().of(8));
    failure_->setProperty("kind", "error");
    failure_->hide();
    column->addWidget(editor_, 1);
    column->addWidget(failure_);
    panel->setContent(content);
    return panel;
}

QWidget* QueryPage::makeSources()
{
    auto* panel = new Panel(tr("Views and tables"));
    panel->setSubtitle(tr("double-click to insert"));
    sources_ = new QTreeWidget;
    sources_->setHeaderHidden(true);
    sources_->setFrameShape(QFrame::NoFrame);
    sources_->setUniformRowHeights(true);
    sources_->setAccessibleName(tr("Views and tables of the file"));
    sources_->setExpandsOnDoubleClick(false);
    connect(sources_, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) {
        editor_->insertPlainText(item->text(0));
        editor_->setFocus();
    });
    panel->setContent(sources_);
    return panel;
}

QWidget* QueryPage::makeResult()
{
    resultPanel_ = new Panel(tr("Result"));
    rows_ = new TableView;
    rows_->setAccessibleName(tr("Rows of the statement"));
    resultPanel_->setContent(rows_);
    return resultPanel_;
}

QWidget* QueryPage::makeChart()
{
    chartPanel_ = new Panel(tr("Chart"));
    values_ = new ComboBox(tr("Values of the chart"));
    keys_ = new ComboBox(tr("Horizontal axis of the chart"));
    auto* by = new QLabel(tr("by"));
    by->setProperty("kind", "dim");
    for (QWidget* widget : std::initializer_list<QWidget*>{values_, by, keys_})
        chartPanel_->addToHeader(widget);
    for (ComboBox* box : {values_, keys_})
        connect(box, &QComboBox::activated, this, &QueryPage::showChart);
    plot_ = new ResultPlot;
    plot_->setAccessibleName(tr("Chart of the result"));
    chartPanel_->setContent(plot_);
    return chartPanel_;
}

void QueryPage::setStatement(const QString& sql)
{
    // Keeps the undo history.
    QTextCursor cursor(editor_->document());
    cursor.select(QTextCursor::Document);
    cursor.insertText(sql);
}

bool QueryPage::startFind()
{
    editor_->setFocus();
    return true;
}

void QueryPage::setRunning(bool running)
{
    runIt_->setEnabled(!running && file_ != nullptr);
    stopButton_->setEnabled(running);
    examples_->setEnabled(file_ != nullptr);
    examples_->setToolTip(file_ ? tr("Example statements for the first selected run")
                                : tr("Select a run first: the statements read its file"));
}

void QueryPage::run()
{
    if (!file_)
        return;
    stop();
    failure_->hide();
    stop_.emplace();
    since_.start();
    setRunning(true);
    resultPanel_->setSubtitle(tr("running…"));
    running_.start(
        [file = file_->path(), sql = editor_->toPlainText().toStdString(),
         token = stop_->get_token()](const query::Cancelled&) {
            return std::make_shared<const store::SqlResult>(
                store::runSql(file, sql, {.rows = kMostRows}, token, exchange::sqlFunctions()));
        },
        [this](std::shared_ptr<const store::SqlResult> result) { showResult(std::move(result)); },
        [this](const QString& sentence) { showFailure(sentence); });
}

void QueryPage::stop()
{
    if (!stop_)
        return;
    stop_->request_stop();
    stop_.reset();
    running_.cancel();
    resultPanel_->setSubtitle(tr("stopped after %1").arg(timeText(double(since_.nsecsElapsed()))));
    setRunning(false);
}

void QueryPage::showResult(std::shared_ptr<const store::SqlResult> result)
{
    stop_.reset();
    setRunning(false);
    result_ = std::move(result);
    rows_->show(resultRows(*result_));
    const QString count = counted(std::int64_t(result_->rows()), "row");
    const QString took = timeText(double(since_.nsecsElapsed()));
    resultPanel_->setSubtitle(result_->isComplete
                                  ? tr("%1 in %2").arg(count, took)
                                  : tr("the first %1 in %2; tilescope sql prints more").arg(count, took));
    values_->clear();
    keys_->clear();
    for (const std::size_t column : numberColumns(*result_))
        values_->addItem(QString::fromStdString(result_->columns[column]), qulonglong(column));
    for (std::size_t column = 0; column < result_->columns.size(); ++column)
        keys_->addItem(QString::fromStdString(result_->columns[column]), qulonglong(column));
    // The first column is usually what a statement groups by, the second number what it counts or adds up.
    for (int i = 0; i < values_->count(); ++i)
        if (values_->itemData(i).toULongLong() > 0) {
            values_->setCurrentIndex(i);
            if (values_->currentText().contains(QLatin1String("_ns")) ||
                values_->currentText().contains(QLatin1String("bytes")))
                break;
        }
    showChart();
}

void QueryPage::showChart()
{
    const bool possible = result_ && values_->count() > 0 && result_->rows() > 1;
    for (ComboBox* box : {values_, keys_})
        box->setEnabled(possible);
    plot_->setVisible(possible);
    if (!possible) {
        chartPanel_->setSubtitle(tr("needs two rows with numbers"));
        return plot_->clear();
    }
    const ResultSeries series =
        seriesOf(*result_, keys_->currentData().toULongLong(), values_->currentData().toULongLong());
    chartPanel_->setSubtitle(series.isCut ? tr("the first %1").arg(counted(series.labels.size(), "row"))
                                          : QString());
    if (series.values.empty())
        return plot_->clear();
    plot_->show(series, keys_->currentText(), values_->currentText());
}

QString QueryPage::command() const
{
    if (!file_)
        return {};
    return QString::fromStdString("tilescope sql " + shellPath(file_->path()) + " " +
                                  shellWord(editor_->toPlainText().simplified().toStdString()));
}

void QueryPage::showFailure(const QString& sentence)
{
    stop_.reset();
    setRunning(false);
    failure_->setText(sentence);
    failure_->show();
    resultPanel_->setSubtitle(result_ ? tr("of the previous statement") : QString());
}

void QueryPage::showSources(const std::vector<store::SqlSource>& sources)
{
    sources_->clear();
    for (const store::SqlSource& source : sources) {
        auto* item = new QTreeWidgetItem(sources_, {QString::fromStdString(source.name)});
        item->setToolTip(0, source.isView ? tr("view") : tr("table"));
        for (const std::string& column : source.columns)
            new QTreeWidgetItem(item, {QString::fromStdString(column)});
    }
}

void QueryPage::showRuns(const std::vector<SelectedRun>& runs)
{
    const std::shared_ptr<query::SharedFile> before = file_;
    file_ = runs.empty() ? nullptr : runs.front().file;
    run_ = runs.empty() ? 1 : runs.front().key.run.value;
    fileName_->setText(file_ ? QFileInfo(QString::fromStdString(file_->shown().string())).fileName()
                             : QString());
    content_->setVisible(file_ != nullptr);
    message_->setVisible(file_ == nullptr);
    message_->setText(emptyText(tr("The rows of a SELECT statement over the file appear on this page.")));
    if (file_ == before)
        return;
    stop();
    result_.reset();
    failure_->hide();
    rows_->show({});
    resultPanel_->setSubtitle({});
    values_->clear();
    keys_->clear();
    sources_->clear();
    showChart();
    setRunning(false);
    setStatement({});
    if (!file_)
        return listing_.cancel();
    listing_.start(
        [file = file_->path(), run = run_](const query::Cancelled& cancelled) {
            return std::pair(store::sqlSources(file), firstStatement(file, run, cancelled));
        },
        [this](const std::pair<std::vector<store::SqlSource>, QString>& known) {
            showSources(known.first);
            if (!editor_->toPlainText().isEmpty())
                return; // something was typed meanwhile
            setStatement(known.second);
            this->run();
        },
        [this](const QString& sentence) { showFailure(sentence); });
}

} // namespace tilescope::ui
