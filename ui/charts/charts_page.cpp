#include "ui/charts/charts_page.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "ui/charts/chart_plot.h"
#include "ui/charts/chart_rows.h"
#include "ui/charts/charts_offscreen.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/exporter.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFileDialog>
#include <QLabel>
#include <QMenu>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <map>

namespace tilescope::ui {

namespace {

constexpr std::size_t kMostMachines = 200; // that are read for a caption
constexpr double kCopyScale = 3;           // pixels of a copied figure for one of 1/96 inch

QLabel* heading(const QString& text)
{
    auto* label = new QLabel(text);
    label->setProperty("kind", "title");
    return label;
}

// Where the selected runs were recorded.
QString readMachines(const std::vector<SelectedRun>& runs, const query::Cancelled& cancelled)
{
    std::vector<query::EnvironmentTable> machines;
    for (std::size_t i = 0; i < std::min(kMostMachines, runs.size()) && !cancelled(); ++i)
        machines.push_back(query::environment(runs[i].file->borrow()->reader(), runs[i].key.run));
    return machineWords(machines);
}

} // namespace

ChartsPage::ChartsPage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), stack_(new QStackedWidget), message_(makeMessage())
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    auto* content = new QWidget;
    auto* row = new QHBoxLayout(content);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    row->addWidget(makeForm());
    plot_ = new ChartPlot(this);
    plot_->hide(); // its view draws it
    figure_ = new FigureView(*plot_);
    figure_->setMinimumSize(sizes().of(300), sizes().of(200));
    auto* desk = new QWidget;
    auto* deskLayout = new QVBoxLayout(desk);
    deskLayout->setContentsMargins(sizes().margin, sizes().margin, sizes().margin, sizes().margin);
    note_ = new QLabel;
    note_->setObjectName(QStringLiteral("note"));
    note_->setProperty("kind", "dim");
    note_->setWordWrap(true);
    note_->hide();
    deskLayout->addWidget(note_);
    deskLayout->addWidget(figure_, 1);
    auto* right = new QSplitter(Qt::Vertical);
    right->setHandleWidth(1);
    right->setChildrenCollapsible(false);
    right->addWidget(desk);
    right->addWidget(makeBelow());
    right->setStretchFactor(0, 1);
    right->setSizes({sizes().of(640), sizes().of(260)});
    row->addWidget(right, 1);
    stack_->addWidget(message_);
    stack_->addWidget(content);
    layout->addWidget(stack_, 1);
    setRecipe({});
    chosen_ = false;
}

QWidget* ChartsPage::makeTools()
{
    auto* tools = new ToolBar;
    auto* examples = new MenuButton(tr("Recipes"));
    examples->setToolTip(tr("Charts to start from"));
    connect(examples->menu(), &QMenu::aboutToShow, this,
            [this, examples] { fillExamples(*examples->menu()); });
    tools->add(examples);
    connect(tools->addButton(tr("Open…"), tr("Read a chart's recipe from a file")), &QPushButton::clicked,
            this, &ChartsPage::openRecipe);
    connect(tools->addButton(tr("Save…"), tr("Write this chart's recipe to a file, for reports")),
            &QPushButton::clicked, this, &ChartsPage::saveRecipe);
    problem_ = new QLabel;
    problem_->setProperty("kind", "error");
    problem_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    tools->addWide(problem_);
    connect(tools->addButton(tr("Copy figure"), tr("Copy the figure as an image")), &QPushButton::clicked,
            this, &ChartsPage::copyFigure);
    connect(tools->addButton(tr("Copy caption"), tr("Copy the words below the figure")),
            &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(chart_.caption); });
    auto* save = tools->addButton(tr("Export figure…"),
                                  tr("Write the figure at its size on paper, with a caption file beside it"));
    save->setProperty("kind", "primary");
    connect(save, &QPushButton::clicked, this, &ChartsPage::exportFigure);
    return tools;
}

QWidget* ChartsPage::makeBelow()
{
    auto* below = new QWidget;
    below->setAutoFillBackground(true);
    below->setBackgroundRole(QPalette::Base);
    auto* layout = new QHBoxLayout(below);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    auto* tables = new QVBoxLayout;
    tables->setSpacing(0);
    rows_ = new TableView;
    rows_->setAccessibleName(tr("Data of the chart"));
    fits_ = new TableView;
    fits_->setAccessibleName(tr("Fits of the chart"));
    tables->addWidget(rows_, 1);
    tables->addWidget(fits_, 1);
    layout->addLayout(tables, 5);
    auto* rule = new QFrame;
    rule->setProperty("kind", "rule");
    rule->setFixedWidth(1);
    layout->addWidget(rule);
    auto* captions = new QVBoxLayout;
    captions->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(8));
    captions->addWidget(heading(tr("Caption")));
    caption_ = new QLabel;
    caption_->setWordWrap(true);
    caption_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    caption_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    captions->addWidget(caption_, 1);
    layout->addLayout(captions, 3);
    return below;
}

void ChartsPage::say(const QString& sentence)
{
    problem_->setText(sentence);
    problem_->setToolTip(sentence);
}

QString ChartsPage::noteOf(const Chart& chart) const
{
    if (runs_.size() == 1)
        return tr("One run is one point. Select the runs of an experiment in the list on the right.");
    if (!chart.separatedBy.isEmpty())
        return tr("Several runs have the same %1, so lines differ by %2, too. Choose another series, a facet "
                  "or a "
                  "filter to draw fewer.")
            .arg(recipe_.x, chart.separatedBy.join(tr(" and ")));
    for (const ChartSeries& series : chart.series)
        for (const ChartPoint& point : series.points)
            if (point.runs > 1)
                return tr("Repeated runs of one experiment are drawn as one point.");
    return {};
}

void ChartsPage::showRuns(const std::vector<SelectedRun>& runs)
{
    runs_ = runs;
    machine_.clear();
    if (runs.empty()) {
        loading_.cancel();
        message_->setText(
            emptyText(tr("A figure of several runs: time or memory against any key of the spec.")));
        stack_->setCurrentWidget(message_);
        return;
    }
    fillKeys();
    draw();
    stack_->setCurrentIndex(1);
    loading_.start([runs](const query::Cancelled& cancelled) { return readMachines(runs, cancelled); },
                   [this](const QString& machine) {
                       machine_ = machine;
                       draw();
                   },
                   [this](const QString& sentence) { say(sentence); });
}

void ChartsPage::draw()
{
    std::vector<const query::RunSummary*> runs;
    for (const SelectedRun& run : runs_)
        runs.push_back(run.run);
    chart_ = chartOf(recipe_, runs, machine_);
    say({});
    note_->setText(noteOf(chart_));
    note_->setVisible(!note_->text().isEmpty());
    plot_->show(chart_, recipe_);
    figure_->setPaper(chart_.series.empty() ? QSize() : ChartPlot::paperSize(recipe_), chart_.empty);
    const LineColour colour = [this](std::size_t line) { return ChartPlot::colourOf(recipe_.palette, line); };
    rows_->show(chartRows(chart_, colour));
    const TableData fits = fitRows(chart_, colour);
    fits_->setVisible(!fits.rows.empty());
    fits_->show(fits);
    caption_->setText(chart_.caption);
    grey_->setText(ChartPlot::staysApartInGrey(recipe_.palette, std::size_t(chart_.names.size()))
                       ? tr("lines differ in grey")
                       : tr("in grey markers tell"));
    emit selectionText(
        tr("%1 in %2")
            .arg(counted(std::ssize(runs_), "run"), counted(std::ssize(chart_.series), "series", "series")));
}

void ChartsPage::fillExamples(QMenu& menu)
{
    menu.clear();
    const QDir folder(QString::fromStdString((resourcesDirectory() / "charts").string()));
    for (const QString& name : folder.entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Name)) {
        const QString path = folder.filePath(name);
        try {
            const ChartRecipe recipe = readRecipe(path);
            menu.addAction(recipe.title, this, [this, recipe] { setRecipe(recipe); });
        } catch (const Error& error) {
            say(QString::fromStdString(error.sentence()));
        }
    }
}

void ChartsPage::openRecipe()
{
    const QString path =
        QFileDialog::getOpenFileName(this, tr("Open recipe"), {}, tr("Chart recipes (*.json)"));
    if (path.isEmpty())
        return;
    try {
        setRecipe(readRecipe(path));
    } catch (const Error& error) {
        say(QString::fromStdString(error.sentence()));
    }
}

// demo-step-wall-by-seq_len
QString ChartsPage::fileName() const
{
    QStringList parts;
    if (!runs_.empty())
        parts << QString::fromStdString(runs_.front().file->path().stem().string());
    return fileNameOf(parts + QStringList{recipe_.y, QStringLiteral("by"), recipe_.x});
}

void ChartsPage::saveRecipe()
{
    const QString path = QFileDialog::getSaveFileName(
        this, tr("Save recipe"), fileName() + QStringLiteral(".json"), tr("Chart recipes (*.json)"));
    if (path.isEmpty())
        return;
    try {
        writeTextFile(path, recipe_.toJson());
    } catch (const Error& error) {
        say(QString::fromStdString(error.sentence()));
    }
}

void ChartsPage::copyFigure()
{
    const QSize size = ChartPlot::paperSize(recipe_);
    const Exportable figure{
        {},
        size,
        [this](QPainter& painter, const QSize& drawn, bool) { plot_->drawVectors(painter, drawn); },
        {}};
    QApplication::clipboard()->setImage(imageOf(figure, size, kCopyScale));
}

void ChartsPage::exportFigure()
{
    const QString path = QFileDialog::getSaveFileName(
        this, tr("Export figure"), fileName() + QStringLiteral(".pdf"), tr("Figures (*.pdf *.svg *.png)"));
    if (path.isEmpty())
        return;
    try {
        writeFigure(*plot_, chart_, recipe_, path);
        say({});
    } catch (const Error& error) {
        say(QString::fromStdString(error.sentence()));
    }
}

} // namespace tilescope::ui
