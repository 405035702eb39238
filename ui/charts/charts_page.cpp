#include "ui/charts/charts_page.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "ui/charts/chart_choice.h"
#include "ui/charts/chart_command.h"
#include "ui/charts/chart_plot.h"
#include "ui/charts/chart_rows.h"
#include "ui/charts/charts_offscreen.h"
#include "ui/charts/figure_view.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/exporter.h"
#include "ui/kit/file_dialog.h"
#include "ui/kit/layouts.h"
#include "ui/kit/message_stack.h"
#include "ui/kit/missing_trace.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_history.h"
#include "ui/theme/theme.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <map>

namespace tilescope::ui {

namespace {

constexpr std::size_t kMostMachines = 200; // that are read for a caption
constexpr std::size_t kMostColumns = 200;  // of the table below the figure; exports have all
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

QLabel* groupHeading(const QString& text)
{
    auto* label = new QLabel(text);
    label->setProperty("kind", "title");
    label->setContentsMargins(0, sizes().of(8), 0, 0);
    return label;
}

} // namespace

ChartsPage::ChartsPage(Workspace& workspace, QWidget* parent)
    : Page(workspace, parent), stack_(new MessageStack)
{
    auto* layout = makePlainColumn(this);
    layout->addWidget(makeTools());
    // Builds from the outside in: Qt styles a widget again whenever one of its ancestors gets a parent.
    layout->addWidget(stack_, 1);
    auto* content = new QWidget;
    stack_->addWidget(content);
    auto* row = newLayout<QHBoxLayout>(content, 0, 0);
    auto* form = new QScrollArea;
    row->addWidget(form);
    fillForm(*form);
    plot_ = new ChartPlot(this);
    plot_->hide(); // its view draws it
    figure_ = new FigureView(*plot_);
    figure_->setMinimumSize(sizes().of(300), sizes().of(200));
    connect(figure_, &FigureView::pointChosen, this, &ChartsPage::openRun);
    auto* right = new QSplitter(Qt::Vertical);
    row->addWidget(right, 1);
    auto* desk = new QWidget;
    right->addWidget(desk);
    auto* deskLayout = new QVBoxLayout(desk);
    deskLayout->setContentsMargins(sizes().margin, sizes().margin, sizes().margin, sizes().margin);
    note_ = new QLabel;
    note_->setObjectName(QStringLiteral("note"));
    note_->setProperty("kind", "dim");
    note_->setWordWrap(true);
    note_->hide();
    deskLayout->addWidget(note_);
    deskLayout->addWidget(figure_, 1);
    right->setHandleWidth(1);
    right->setChildrenCollapsible(false);
    auto* below = new QWidget;
    right->addWidget(below);
    fillBelow(*below);
    right->setStretchFactor(0, 1);
    right->setSizes({sizes().of(640), sizes().of(260)});
    applyRecipe({});
    chosen_ = false;
}

// Opens the run of a point, whose trace shows its activity.
void ChartsPage::openRun(const QString& uid)
{
    const auto run = std::ranges::find_if(
        runs_, [&uid](const SelectedRun& each) { return each.run->uid == uid.toStdString(); });
    if (run == runs_.end())
        return;
    const QString page = explainingPage(*run->run);
    workspace().select({run->key}); // which changes runs_
    emit workspace().pageWanted(page);
}

QWidget* ChartsPage::makeTools()
{
    auto* tools = new ToolBar(this);
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
    connect(tools->addButton(tr("Copy caption"), tr("Copy the caption")), &QPushButton::clicked, this,
            [this] { QApplication::clipboard()->setText(chart_.caption); });
    auto* save = tools->addButton(tr("Export figure…"),
                                  tr("Write the figure at its size on paper, with a caption file beside it"));
    save->setProperty("kind", "primary");
    connect(save, &QPushButton::clicked, this, &ChartsPage::exportFigure);
    tools->actOn(*stack_);
    return tools;
}

void ChartsPage::fillBelow(QWidget& below)
{
    below.setAutoFillBackground(true);
    below.setBackgroundRole(QPalette::Base);
    auto* layout = new QHBoxLayout(&below);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    auto* tables = new QVBoxLayout;
    tables->setSpacing(0);
    layout->addLayout(tables, 5);
    rows_ = new TableView;
    rows_->setAccessibleName(tr("Data of the chart"));
    fits_ = new TableView;
    fits_->setAccessibleName(tr("Fits of the chart"));
    tables->addWidget(rows_, 1);
    tables->addWidget(fits_, 1);
    auto* rule = new QFrame;
    rule->setProperty("kind", "rule");
    rule->setFixedWidth(1);
    layout->addWidget(rule);
    auto* captions = new QVBoxLayout;
    layout->addLayout(captions, 3);
    captions->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(8));
    captions->addWidget(heading(tr("Caption")));
    caption_ = new QLabel;
    caption_->setWordWrap(true);
    caption_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    caption_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    caption_->setFocusPolicy(Qt::NoFocus);
    captions->addWidget(caption_, 1);
}

void ChartsPage::say(const QString& sentence)
{
    problem_->setText(sentence);
    problem_->setToolTip(sentence);
}

QString ChartsPage::noteOf(const Chart& chart) const
{
    if (!chart.empty.isEmpty())
        return {};
    if (runs_.size() == 1 && !recipe_.isWithinRuns())
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
        stack_->showMessage(
            emptyText(tr("A figure of several runs: time or memory against any key of the spec.")));
        emit selectionText({});
        return;
    }
    fillKeys();
    // Drawn once, in a turn of its own.
    const auto show = [this](const QString& machine) {
        machine_ = machine;
        draw();
        stack_->showContent();
    };
    loading_.start([runs](const query::Cancelled& cancelled) { return readMachines(runs, cancelled); }, show,
                   [this, show](const QString& sentence) {
                       show({});
                       say(sentence);
                   });
}

// For screen readers: the caption, and the points of each line.
QString ChartsPage::wordsOf(const Chart& chart)
{
    constexpr std::size_t kMostPoints = 12; // of a line
    QStringList lines{chart.caption};
    for (const ChartSeries& series : chart.series) {
        QStringList points;
        for (std::size_t i = 0; i < std::min(kMostPoints, series.points.size()); ++i)
            points << series.points[i].exact;
        if (series.points.size() > kMostPoints)
            points << tr("and %1").arg(counted(std::ssize(series.points) - std::ssize(points), "more point"));
        lines << (series.name.isEmpty() ? QString() : series.name + QStringLiteral(": ")) +
                     points.join(QStringLiteral(", "));
    }
    return lines.join(QLatin1Char('\n'));
}

void ChartsPage::draw()
{
    std::vector<const query::RunSummary*> runs;
    for (const SelectedRun& run : runs_)
        runs.push_back(run.run);
    chart_ = chartOf(recipe_, runs, machine_);
    say({});
    fitControlsToX();
    note_->setText(noteOf(chart_));
    note_->setVisible(!note_->text().isEmpty());
    plot_->show(chart_, recipe_);
    figure_->setPaper(chart_.series.empty() ? QSize() : ChartPlot::paperSize(recipe_), chart_.empty);
    const LineColour colour = [this](std::size_t line) { return ChartPlot::colourOf(recipe_.palette, line); };
    rows_->show(chartRows(chart_, colour, kMostColumns));
    const TableData fits = fitRows(chart_, colour);
    fits_->setVisible(!fits.rows.empty());
    fits_->show(fits);
    caption_->setText(chart_.caption);
    figure_->describe(chart_.series.empty() ? chart_.empty : wordsOf(chart_));
    grey_->setText(ChartPlot::staysApartInGrey(recipe_.palette, std::size_t(chart_.names.size()))
                       ? tr("lines differ in grey")
                       : tr("in grey, markers differ"));
    emit selectionText(chart_.series.empty()
                           ? QString()
                           : tr("%1 in %2")
                                 .arg(counted(std::ssize(runs_), "run"),
                                      counted(std::ssize(chart_.series), "series", "series")));
}

// Names along x have no scale and follow no law, numbers of steps no logarithmic scale; the recipe keeps what it has for numbers.
void ChartsPage::fitControlsToX()
{
    const bool areNumbers = chart_.words.isEmpty();
    const bool areSteps = recipe_.x == ChartRecipe::stepNumber();
    for (QWidget* control : std::initializer_list<QWidget*>{xAxis_, fit_, formula_}) {
        const bool isFree = areNumbers && !(areSteps && control == xAxis_);
        control->setEnabled(isFree);
        control->setToolTip(isFree     ? QString()
                            : areSteps ? tr("Numbers of steps begin with 0")
                                       : tr("%1 has names, not numbers").arg(recipe_.x));
    }
    xAxis_->setCurrent(int(areNumbers ? recipe_.scaleOfX() : ChartRecipe::Axis::Linear));
    fit_->setCurrentIndex(areNumbers ? int(recipe_.fit) : int(ChartRecipe::Fit::None));
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
    const QString path = fileToOpen(this, tr("Open recipe"), {}, tr("Chart recipes (*.json)"));
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
        parts << QString::fromStdString(runs_.front().file->shown().stem().string());
    return fileNameOf(parts + QStringList{recipe_.y, QStringLiteral("by"), recipe_.x});
}

QString ChartsPage::command() const
{
    return runs_.empty() || chart_.series.empty() ? QString() : chartCommand(recipe_, runs_, fileName());
}

void ChartsPage::saveRecipe()
{
    const QString path = fileToSave(this, tr("Save recipe"), fileName() + QStringLiteral(".json"),
                                    tr("Chart recipes (*.json)"));
    if (path.isEmpty())
        return;
    try {
        writeTextFile(path, recipe_.toJson());
        workspace().confirmWritten(path);
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
    const QString path = fileToSave(this, tr("Export figure"), fileName() + QStringLiteral(".pdf"),
                                    tr("Figures (*.pdf *.svg *.png)"));
    if (path.isEmpty())
        return;
    try {
        writeFigure(*plot_, chart_, recipe_, path);
        say({});
        workspace().confirmWritten(path, tr("the caption is in a .caption.txt file beside it"));
    } catch (const Error& error) {
        say(QString::fromStdString(error.sentence()));
    }
}

ComboBox* ChartsPage::makeBox(const QString& name, const QStringList& words)
{
    auto* made = new ComboBox(name);
    made->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    made->setMinimumContentsLength(8);
    made->addItems(words);
    connect(made, &QComboBox::activated, this, &ChartsPage::readForm);
    return made;
}

QCheckBox* ChartsPage::makeCheck(const QString& words)
{
    auto* made = new QCheckBox(words);
    connect(made, &QCheckBox::clicked, this, &ChartsPage::readForm);
    return made;
}

QDoubleSpinBox* ChartsPage::makeSpin(const QString& name, double least, double most, const QString& unit)
{
    auto* made = new QDoubleSpinBox;
    made->setRange(least, most);
    made->setSingleStep(0.25);
    made->setSuffix(QChar(0x2009) + unit);
    made->setAccessibleName(name);
    made->setKeyboardTracking(false);
    made->setButtonSymbols(QAbstractSpinBox::NoButtons); // arrow keys and the wheel do
    connect(made, &QDoubleSpinBox::valueChanged, this, &ChartsPage::readPaper);
    return made;
}

void ChartsPage::fillForm(QScrollArea& scroll)
{
    scroll.setFixedWidth(sizes().of(274));
    scroll.setWidgetResizable(true);
    scroll.setFrameShape(QFrame::NoFrame);
    scroll.setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll.setFocusPolicy(Qt::NoFocus);
    auto* content = new QWidget;
    scroll.setWidget(content);
    content->setAutoFillBackground(true);
    content->setBackgroundRole(QPalette::Base);
    auto* form = new QFormLayout(content);
    form->setContentsMargins(sizes().padding, sizes().of(4), sizes().padding, sizes().of(8));
    form->setHorizontalSpacing(sizes().padding);
    form->setVerticalSpacing(sizes().of(7));
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    addData(*form);
    addAxes(*form);
    addStatistics(*form);
    addPaper(*form);
}

void ChartsPage::addData(QFormLayout& form)
{
    form.addRow(groupHeading(tr("Data")));
    form.addRow(tr("x"), x_ = makeBox(tr("x"), {}));
    form.addRow(tr("y"), y_ = makeBox(tr("y"), {}));
    form.addRow(tr("Series"), series_ = makeBox(tr("Series"), {}));
    form.addRow(tr("Facet"), facet_ = makeBox(tr("Facet"), {}));
    facet_->setToolTip(tr("A panel for each value of this key, with shared scales"));
    form.addRow(tr("Filter"), filter_ = new QLineEdit);
    filter_->setAccessibleName(tr("Filter of the chart"));
    filter_->setPlaceholderText(tr("precision=bf16 d_head=64"));
    filter_->setToolTip(tr("Runs that have every word: key=value, key=one,other, or a value of any key"));
    connect(filter_, &QLineEdit::editingFinished, this, &ChartsPage::readForm);
}

void ChartsPage::addAxes(QFormLayout& form)
{
    form.addRow(groupHeading(tr("Axes")));
    const QStringList scales{tr("linear"), tr("log 2"), tr("log 10")};
    form.addRow(tr("x axis"), xAxis_ = new SegmentedControl(scales));
    form.addRow(tr("y axis"), yAxis_ = new SegmentedControl(scales));
    auto* show = new QHBoxLayout;
    show->setSpacing(sizes().of(16));
    show->addWidget(outOfMemory_ = makeCheck(tr("OOM")));
    show->addWidget(grid_ = makeCheck(tr("grid")));
    show->addStretch(1);
    outOfMemory_->setToolTip(tr("Runs that ran out of memory as open markers at the top"));
    form.addRow(tr("Show"), show);
    for (SegmentedControl* segments : {xAxis_, yAxis_})
        connect(segments, &SegmentedControl::changed, this, &ChartsPage::readForm);
}

void ChartsPage::addStatistics(QFormLayout& form)
{
    form.addRow(groupHeading(tr("Statistics")));
    form.addRow(tr("Centre"), centre_ = new SegmentedControl({tr("mean"), tr("median")}));
    connect(centre_, &SegmentedControl::changed, this, &ChartsPage::readForm);
    form.addRow(tr("Error bars"),
                bars_ = makeBox(tr("Error bars"), {tr("none"), tr("s. d."), tr("95 % interval")}));
    form.addRow(tr("Fit"), fit_ = makeBox(tr("Fit"), {tr("none"), tr("c N, tail"), tr("c N², tail"),
                                                      tr("c N^p, tail")}));
    form.addRow(tr("Formula"), formula_ = makeCheck(tr("along the line")));
}

void ChartsPage::addPaper(QFormLayout& form)
{
    form.addRow(groupHeading(tr("Paper")));
    form.addRow(tr("Title"), title_ = new QLineEdit);
    title_->setAccessibleName(tr("Title"));
    connect(title_, &QLineEdit::editingFinished, this, &ChartsPage::readForm);
    QStringList names;
    for (const auto& [name, paper] : ChartRecipe::papers())
        names << name;
    preset_ = makeBox(tr("Preset"), names + QStringList{tr("own size")});
    form.addRow(tr("Preset"), preset_);
    auto* size = new QHBoxLayout;
    size->setSpacing(sizes().of(4));
    size->addWidget(width_ = makeSpin(tr("Width"), 1, 40, tr("in")));
    size->addWidget(new QLabel(QStringLiteral("×")));
    size->addWidget(height_ = makeSpin(tr("Height"), 1, 40, tr("in")));
    size->addStretch(1);
    form.addRow(tr("Size"), size);
    textSize_ = makeSpin(tr("Text size"), 4, 72, tr("pt"));
    textSize_->setDecimals(1);
    form.addRow(tr("Text"), textSize_);
    form.addRow(tr("Palette"),
                palette_ = makeBox(tr("Palette"), {tr("colour-blind"), tr("Okabe and Ito"), tr("grey")}));
    form.addRow(tr("Lines"), dashes_ = makeCheck(tr("dashes differ")));
    dashes_->setToolTip(tr("Distinguish lines by dashes as well as by colour and marker"));
    grey_ = new QLabel;
    grey_->setProperty("kind", "dim");
    form.addRow(tr("Grey"), grey_);
}

void ChartsPage::setRecipe(const ChartRecipe& recipe)
{
    const ChartRecipe before = recipe_;
    const bool wasChosen = chosen_;
    applyRecipe(recipe);
    noteChange(before, wasChosen);
}

// Adds a change of the recipe to what the user can undo.
void ChartsPage::noteChange(const ChartRecipe& before, bool wasChosen, const QString& series)
{
    if (before == recipe_)
        return;
    const auto back = [this](const ChartRecipe& recipe, bool chosen) {
        applyRecipe(recipe);
        chosen_ = chosen; // a recipe that follows the runs does so again
    };
    ViewHistory::note(*this, {.name = tr("change of the chart"),
                              .undo = [back, before, wasChosen] { back(before, wasChosen); },
                              .redo = [back, after = recipe_] { back(after, true); },
                              .where = this,
                              .series = series});
}

void ChartsPage::applyRecipe(const ChartRecipe& recipe)
{
    chosen_ = true;
    recipe_ = recipe;
    title_->setText(recipe.title);
    filter_->setText(recipe.filter);
    xAxis_->setCurrent(int(recipe.xAxis));
    yAxis_->setCurrent(int(recipe.yAxis));
    centre_->setCurrent(int(recipe.centre));
    bars_->setCurrentIndex(int(recipe.bars));
    fit_->setCurrentIndex(int(recipe.fit));
    formula_->setChecked(recipe.formula);
    outOfMemory_->setChecked(recipe.outOfMemory);
    grid_->setChecked(recipe.grid);
    palette_->setCurrentIndex(int(recipe.palette));
    dashes_->setChecked(recipe.dashes);
    showPaper();
    fillKeys();
    draw();
}

void ChartsPage::showPaper()
{
    const QSignalBlocker quiet[] = {QSignalBlocker(width_), QSignalBlocker(height_),
                                    QSignalBlocker(textSize_)};
    width_->setValue(recipe_.paper.width);
    height_->setValue(recipe_.paper.height);
    textSize_->setValue(recipe_.paper.text);
    const auto& papers = ChartRecipe::papers();
    const auto known = std::find_if(papers.begin(), papers.end(),
                                    [this](const auto& paper) { return paper.second == recipe_.paper; });
    preset_->setCurrentIndex(int(known - papers.begin())); // behind them: own size
}

// The keys that differ among the runs, and those that the recipe names.
void ChartsPage::fillKeys()
{
    std::vector<const query::RunSummary*> runs;
    for (const SelectedRun& run : runs_)
        runs.push_back(run.run);
    const auto fill = [](ComboBox& box, QStringList keys, const QString& wanted) {
        if (!wanted.isEmpty() && !keys.contains(wanted))
            keys.prepend(wanted);
        box.clear();
        for (const QString& key : keys)
            box.addItem(key.isEmpty() ? tr("none") : key, key);
        box.setCurrentIndex(box.findData(wanted));
    };
    const QStringList vary = varyingKeys(runs);
    // Numbers first: what most charts are along.
    const QStringList numeric = numericKeys(runs);
    QStringList along = numeric;
    for (const QString& key : vary)
        if (!along.contains(key))
            along << key;
    if (std::ranges::any_of(runs,
                            [](const query::RunSummary* run) { return run->param("mode") == "generate"; }))
        along << ChartRecipe::position();
    if (std::ranges::any_of(runs, [](const query::RunSummary* run) { return run->tracedSteps.size() > 1; }))
        along << ChartRecipe::stepNumber();
    // A default recipe follows the varied keys of the experiment; one that the user changed keeps its series.
    if (!chosen_)
        recipe_ = suggested(recipe_, runs);
    else if (!numeric.isEmpty() && !along.contains(recipe_.x))
        recipe_.x = suggested(recipe_, runs).x;
    const QStringList varying = QStringList{QString()} + vary;
    const QStringList measured = quantitiesOf(runs);
    fill(*x_, along, recipe_.x);
    fill(*y_, measured.isEmpty() ? ChartRecipe::quantities() : measured, recipe_.y);
    fill(*series_, varying, recipe_.series);
    fill(*facet_, varying, recipe_.facet);
}

void ChartsPage::readForm()
{
    const ChartRecipe before = recipe_;
    const bool wasChosen = chosen_;
    chosen_ = true;
    recipe_.title = title_->text();
    recipe_.filter = filter_->text().simplified();
    recipe_.x = x_->currentData().toString();
    recipe_.y = y_->currentData().toString();
    recipe_.series = series_->currentData().toString();
    recipe_.facet = facet_->currentData().toString();
    if (xAxis_->isEnabled()) // else it shows what x allows
        recipe_.xAxis = ChartRecipe::Axis(xAxis_->current());
    recipe_.yAxis = ChartRecipe::Axis(yAxis_->current());
    recipe_.centre = ChartRecipe::Centre(centre_->current());
    recipe_.bars = ChartRecipe::Bars(bars_->currentIndex());
    if (fit_->isEnabled())
        recipe_.fit = ChartRecipe::Fit(fit_->currentIndex());
    recipe_.formula = formula_->isChecked();
    recipe_.outOfMemory = outOfMemory_->isChecked();
    recipe_.grid = grid_->isChecked();
    recipe_.palette = ChartRecipe::Palette(palette_->currentIndex());
    recipe_.dashes = dashes_->isChecked();
    const auto preset = std::size_t(preset_->currentIndex());
    if (preset < ChartRecipe::papers().size()) {
        recipe_.paper = ChartRecipe::papers()[preset].second;
        showPaper();
    }
    noteChange(before, wasChosen);
    draw();
}

void ChartsPage::readPaper()
{
    const ChartRecipe before = recipe_;
    recipe_.paper = {width_->value(), height_->value(), textSize_->value()};
    showPaper();
    noteChange(before, chosen_, QStringLiteral("paper"));
    draw();
}

} // namespace tilescope::ui
