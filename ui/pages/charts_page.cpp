#include "ui/pages/charts_page.h"

#include "core/base/error.h"
#include "ui/pages/charts_offscreen.h"
#include "ui/pages/controls.h"
#include "ui/pages/panel.h"
#include "ui/plots/chart_plot.h"
#include "ui/plots/number_text.h"
#include "ui/plots/table_view.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSaveFile>
#include <QSplitter>
#include <QStackedWidget>

#include <algorithm>
#include <cmath>
#include <set>

namespace tilescope::ui {

namespace {

QLabel* heading(const QString& text)
{
    auto* label = new QLabel(text);
    label->setProperty("kind", "title");
    label->setContentsMargins(0, sizes().of(8), 0, 0);
    return label;
}

} // namespace

TableData chartRows(const Chart& chart)
{
    std::set<double> xs;
    for (const ChartSeries& series : chart.series) {
        for (const ChartPoint& point : series.points)
            xs.insert(point.x);
        xs.insert(series.outOfMemory.begin(), series.outOfMemory.end());
    }
    TableData data;
    TableColumn name;
    name.title = chart.yTitle;
    data.columns.push_back(std::move(name));
    for (const double x : xs) {
        TableColumn column;
        column.title = x == std::floor(x) ? wholeNumber(std::int64_t(x)) : threeDigits(x);
        column.kind = TableColumn::Kind::Number;
        column.width = 72;
        data.columns.push_back(std::move(column));
    }
    for (const ChartSeries& series : chart.series) {
        TableRow row;
        row.id = std::int64_t(data.rows.size());
        row.cells.resize(1);
        row.cells[0].text = series.name.isEmpty() ? QStringLiteral("all") : series.name;
        for (const double x : xs) {
            TableCell cell;
            cell.text = notMeasured();
            for (const ChartPoint& point : series.points) {
                if (point.x != x)
                    continue;
                cell.text = threeDigits(point.y);
                cell.sort = point.y;
                cell.exact = point.exact;
            }
            if (std::find(series.outOfMemory.begin(), series.outOfMemory.end(), x) !=
                series.outOfMemory.end()) {
                cell.text = QStringLiteral("OOM");
                cell.tone = Tone::Warning;
            }
            row.cells.push_back(std::move(cell));
        }
        data.rows.push_back(std::move(row));
    }
    return data;
}

TableData fitRows(const Chart& chart, const ChartRecipe& recipe)
{
    TableData data;
    for (const char* title : {"Series", "Fit", "From", "R²"}) {
        TableColumn column;
        column.title = QString::fromUtf8(title);
        column.width = data.columns.empty() || data.columns.size() == 1 ? 0 : 80;
        column.kind = data.columns.size() > 1 ? TableColumn::Kind::Number : TableColumn::Kind::Text;
        data.columns.push_back(std::move(column));
    }
    for (const ChartSeries& series : chart.series) {
        if (!series.fit)
            continue;
        TableRow row;
        row.id = std::int64_t(data.rows.size());
        row.cells.resize(4);
        row.cells[0].text = series.name;
        row.cells[1].text = series.fit->formula(recipe.x, chart.unit);
        row.cells[2].text = wholeNumber(std::int64_t(series.fit->fromX));
        row.cells[3].text = QString::number(series.fit->r2, 'f', 4);
        data.rows.push_back(std::move(row));
    }
    return data;
}

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
    auto* right = new QSplitter(Qt::Vertical);
    right->setHandleWidth(1);
    right->setChildrenCollapsible(false);
    right->addWidget(makeFigure());
    right->addWidget(makeBelow());
    right->setStretchFactor(0, 1);
    right->setSizes({sizes().of(640), sizes().of(240)});
    row->addWidget(right, 1);
    stack_->addWidget(message_);
    stack_->addWidget(content);
    layout->addWidget(stack_, 1);
    setRecipe({});
}

QWidget* ChartsPage::makeTools()
{
    auto* tools = new ToolBar;
    connect(tools->addButton(tr("Open recipe…"), tr("Read a chart's recipe from a file")),
            &QPushButton::clicked, this, &ChartsPage::openRecipe);
    connect(tools->addButton(tr("Save recipe…"), tr("Write this chart's recipe to a file, for reports")),
            &QPushButton::clicked, this, &ChartsPage::saveRecipe);
    problem_ = new QLabel;
    problem_->setProperty("kind", "error");
    tools->add(problem_);
    tools->addStretch();
    connect(tools->addButton(tr("Copy caption"), tr("Copy the words below the figure")),
            &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(chart_.caption); });
    auto* save = tools->addButton(tr("Export figure…"),
                                  tr("Write the figure at its size on paper, with a caption file beside it"));
    save->setProperty("kind", "primary");
    connect(save, &QPushButton::clicked, this, &ChartsPage::exportFigure);
    return tools;
}

QWidget* ChartsPage::makeForm()
{
    auto* frame = new QFrame;
    frame->setFixedWidth(sizes().of(262));
    frame->setAutoFillBackground(true);
    frame->setBackgroundRole(QPalette::Base);
    auto* form = new QFormLayout(frame);
    form->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(8));
    form->setHorizontalSpacing(sizes().padding);
    form->setVerticalSpacing(sizes().of(8));
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    const auto box = [this](const QString& name, const QStringList& words) {
        auto* made = new ComboBox(name);
        made->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        made->setMinimumContentsLength(10);
        made->addItems(words);
        connect(made, &QComboBox::activated, this, &ChartsPage::readForm);
        return made;
    };
    form->addRow(heading(tr("Data")));
    form->addRow(tr("x"), x_ = box(tr("x"), {}));
    form->addRow(tr("y"), y_ = box(tr("y"), ChartRecipe::quantities()));
    form->addRow(tr("Series"), series_ = box(tr("Series"), {}));
    form->addRow(heading(tr("Axes")));
    form->addRow(tr("x axis"), xAxis_ = new Segments({tr("linear"), tr("log 2")}));
    form->addRow(tr("y axis"), yAxis_ = new Segments({tr("linear"), tr("log 10")}));
    form->addRow(heading(tr("Statistics")));
    form->addRow(tr("Centre"), centre_ = new Segments({tr("mean"), tr("median")}));
    form->addRow(tr("Error bars"),
                 bars_ = box(tr("Error bars"), {tr("none"), tr("s. d."), tr("95 % interval")}));
    form->addRow(tr("Fit"),
                 fit_ = box(tr("Fit"), {tr("none"), tr("c N, tail"), tr("c N², tail"), tr("c N^p, tail")}));
    for (Segments* segments : {xAxis_, yAxis_, centre_})
        connect(segments, &Segments::changed, this, &ChartsPage::readForm);
    form->addRow(heading(tr("Paper")));
    form->addRow(tr("Title"), title_ = new QLineEdit);
    title_->setAccessibleName(tr("Title"));
    connect(title_, &QLineEdit::editingFinished, this, &ChartsPage::readForm);
    form->addRow(tr("Width"), paper_ = box(tr("Width"), {tr("two columns"), tr("one column")}));
    form->addRow(tr("Size"), size_ = new QLabel);
    return frame;
}

QWidget* ChartsPage::makeFigure()
{
    desk_ = new QWidget;
    desk_->setMinimumSize(sizes().of(300), sizes().of(200));
    plot_ = new ChartPlot(desk_);
    return desk_;
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
}

void ChartsPage::setRecipe(const ChartRecipe& recipe)
{
    recipe_ = recipe;
    title_->setText(recipe.title);
    y_->setCurrentText(recipe.y);
    xAxis_->setCurrent(recipe.logX ? 1 : 0);
    yAxis_->setCurrent(recipe.logY ? 1 : 0);
    centre_->setCurrent(int(recipe.centre));
    bars_->setCurrentIndex(int(recipe.bars));
    fit_->setCurrentIndex(int(recipe.fit));
    paper_->setCurrentIndex(recipe.oneColumn ? 1 : 0);
    fillKeys();
    draw();
}

// The keys that differ among the runs, and what the recipe asks for even where it does not.
void ChartsPage::fillKeys()
{
    std::vector<const query::RunSummary*> runs;
    for (const SelectedRun& run : runs_)
        runs.push_back(run.run);
    const auto fill = [](ComboBox& box, QStringList keys, const QString& wanted) {
        if (!wanted.isEmpty() && !keys.contains(wanted))
            keys.prepend(wanted);
        box.clear();
        box.addItems(keys);
        box.setCurrentText(wanted);
    };
    const QStringList numeric = numericKeys(runs);
    // A recipe that was not chosen by hand follows what the experiment varies.
    if (!numeric.isEmpty() && !numeric.contains(recipe_.x))
        recipe_.x = numeric.front();
    fill(*x_, numeric, recipe_.x);
    fill(*series_, QStringList{QString()} + varyingKeys(runs), recipe_.series);
}

void ChartsPage::readForm()
{
    recipe_.title = title_->text();
    recipe_.x = x_->currentText();
    recipe_.y = y_->currentText();
    recipe_.series = series_->currentText();
    recipe_.logX = xAxis_->current() == 1;
    recipe_.logY = yAxis_->current() == 1;
    recipe_.centre = ChartRecipe::Centre(centre_->current());
    recipe_.bars = ChartRecipe::Bars(bars_->currentIndex());
    recipe_.fit = ChartRecipe::Fit(fit_->currentIndex());
    recipe_.oneColumn = paper_->currentIndex() == 1;
    draw();
}

void ChartsPage::showRuns(const std::vector<SelectedRun>& runs)
{
    runs_ = runs;
    if (runs.empty()) {
        message_->setText(
            emptyText(tr("A figure of several runs: time or memory against any key of the spec.")));
        stack_->setCurrentWidget(message_);
        return;
    }
    fillKeys();
    draw();
    stack_->setCurrentIndex(1);
}

void ChartsPage::draw()
{
    std::vector<const query::RunSummary*> runs;
    for (const SelectedRun& run : runs_)
        runs.push_back(run.run);
    chart_ = chartOf(recipe_, runs);
    say(runs.size() == 1 ? tr("one run is one point: select the runs of an experiment") : chart_.empty);
    plot_->show(chart_, recipe_);
    rows_->show(chartRows(chart_));
    const TableData fits = fitRows(chart_, recipe_);
    fits_->setVisible(!fits.rows.empty());
    fits_->show(fits);
    caption_->setText(chart_.caption);
    const QSize size = ChartPlot::paperSize(recipe_);
    size_->setText(QStringLiteral("%1 × %2 in")
                       .arg(size.width() / 96.0, 0, 'f', 2)
                       .arg(size.height() / 96.0, 0, 'f', 2));
    placeFigure();
    emit selectionText(tr("%1 runs in %2 series").arg(runs_.size()).arg(chart_.series.size()));
}

// As large as on paper, or smaller where the window is.
void ChartsPage::placeFigure()
{
    const QSize paper = ChartPlot::paperSize(recipe_);
    const int margin = sizes().margin;
    const double room = std::min(double(desk_->width() - 2 * margin) / paper.width(),
                                 double(desk_->height() - 2 * margin) / paper.height());
    const QSize size = (QSizeF(paper) * std::clamp(room, 0.3, 1.4)).toSize();
    plot_->setGeometry((desk_->width() - size.width()) / 2, (desk_->height() - size.height()) / 2,
                       size.width(), size.height());
}

void ChartsPage::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    QMetaObject::invokeMethod(this, &ChartsPage::placeFigure, Qt::QueuedConnection);
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

void ChartsPage::saveRecipe()
{
    const QString path = QFileDialog::getSaveFileName(this, tr("Save recipe"), QStringLiteral("chart.json"),
                                                      tr("Chart recipes (*.json)"));
    if (path.isEmpty())
        return;
    QSaveFile file(path);
    const QByteArray text = recipe_.toJson().toUtf8();
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size() || !file.commit())
        say(tr("%1: %2").arg(path, file.errorString()));
}

void ChartsPage::exportFigure()
{
    const QString path = QFileDialog::getSaveFileName(this, tr("Export figure"), QStringLiteral("figure.pdf"),
                                                      tr("Figures (*.pdf *.svg *.png)"));
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
