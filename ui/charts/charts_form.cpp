// What the charts page asks for: the form beside the figure, and the recipe that it stands for.

#include "ui/charts/chart_choice.h"
#include "ui/charts/chart_plot.h"
#include "ui/charts/charts_page.h"
#include "ui/kit/controls.h"
#include "ui/theme/theme.h"

#include <QCheckBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QSignalBlocker>

#include <algorithm>

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

QWidget* ChartsPage::makeForm()
{
    auto* content = new QWidget;
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
    auto* scroll = new QScrollArea;
    scroll->setFixedWidth(sizes().of(274));
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(content);
    scroll->setFocusPolicy(Qt::NoFocus);
    return scroll;
}

void ChartsPage::addData(QFormLayout& form)
{
    form.addRow(heading(tr("Data")));
    form.addRow(tr("x"), x_ = makeBox(tr("x"), {}));
    form.addRow(tr("y"), y_ = makeBox(tr("y"), ChartRecipe::quantities()));
    form.addRow(tr("Series"), series_ = makeBox(tr("Series"), {}));
    form.addRow(tr("Facet"), facet_ = makeBox(tr("Facet"), {}));
    facet_->setToolTip(tr("A panel for each value of this key, on one pair of scales"));
    form.addRow(tr("Filter"), filter_ = new QLineEdit);
    filter_->setAccessibleName(tr("Filter of the chart"));
    filter_->setPlaceholderText(tr("precision=bf16 d_head=64"));
    filter_->setToolTip(tr("Runs that have every word: key=value, key=one,other, or a value of any key"));
    connect(filter_, &QLineEdit::editingFinished, this, &ChartsPage::readForm);
}

void ChartsPage::addAxes(QFormLayout& form)
{
    form.addRow(heading(tr("Axes")));
    const QStringList scales{tr("linear"), tr("log 2"), tr("log 10")};
    form.addRow(tr("x axis"), xAxis_ = new Segments(scales));
    form.addRow(tr("y axis"), yAxis_ = new Segments(scales));
    auto* show = new QHBoxLayout;
    show->setSpacing(sizes().of(16));
    show->addWidget(outOfMemory_ = makeCheck(tr("OOM")));
    show->addWidget(grid_ = makeCheck(tr("grid")));
    show->addStretch(1);
    outOfMemory_->setToolTip(tr("Runs that ran out of memory as open markers at the top"));
    form.addRow(tr("Show"), show);
    for (Segments* segments : {xAxis_, yAxis_})
        connect(segments, &Segments::changed, this, &ChartsPage::readForm);
}

void ChartsPage::addStatistics(QFormLayout& form)
{
    form.addRow(heading(tr("Statistics")));
    form.addRow(tr("Centre"), centre_ = new Segments({tr("mean"), tr("median")}));
    connect(centre_, &Segments::changed, this, &ChartsPage::readForm);
    form.addRow(tr("Error bars"),
                bars_ = makeBox(tr("Error bars"), {tr("none"), tr("s. d."), tr("95 % interval")}));
    form.addRow(tr("Fit"), fit_ = makeBox(tr("Fit"), {tr("none"), tr("c N, tail"), tr("c N², tail"),
                                                      tr("c N^p, tail")}));
    form.addRow(tr("Formula"), formula_ = makeCheck(tr("along the line")));
}

void ChartsPage::addPaper(QFormLayout& form)
{
    form.addRow(heading(tr("Paper")));
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
    dashes_->setToolTip(tr("Lines differ by their dashes too, not by colour and marker alone"));
    grey_ = new QLabel;
    grey_->setProperty("kind", "dim");
    form.addRow(tr("Grey"), grey_);
}

void ChartsPage::setRecipe(const ChartRecipe& recipe)
{
    chosen_ = true;
    recipe_ = recipe;
    title_->setText(recipe.title);
    filter_->setText(recipe.filter);
    y_->setCurrentText(recipe.y);
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
        for (const QString& key : keys)
            box.addItem(key.isEmpty() ? tr("none") : key, key);
        box.setCurrentIndex(box.findData(wanted));
    };
    const QStringList numeric = numericKeys(runs);
    // A recipe that was not chosen by hand follows what the experiment varies; one that was keeps its series.
    if (!chosen_)
        recipe_ = suggested(recipe_, runs);
    else if (!numeric.isEmpty() && !numeric.contains(recipe_.x))
        recipe_.x = suggested(recipe_, runs).x;
    const QStringList vary = varyingKeys(runs);
    const QStringList varying = QStringList{QString()} + vary;
    fill(*x_, numeric, recipe_.x);
    fill(*series_, varying, recipe_.series);
    fill(*facet_, varying, recipe_.facet);
}

void ChartsPage::readForm()
{
    chosen_ = true;
    recipe_.title = title_->text();
    recipe_.filter = filter_->text().simplified();
    recipe_.x = x_->currentData().toString();
    recipe_.y = y_->currentText();
    recipe_.series = series_->currentData().toString();
    recipe_.facet = facet_->currentData().toString();
    recipe_.xAxis = ChartRecipe::Axis(xAxis_->current());
    recipe_.yAxis = ChartRecipe::Axis(yAxis_->current());
    recipe_.centre = ChartRecipe::Centre(centre_->current());
    recipe_.bars = ChartRecipe::Bars(bars_->currentIndex());
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
    draw();
}

void ChartsPage::readPaper()
{
    recipe_.paper = {width_->value(), height_->value(), textSize_->value()};
    showPaper();
    draw();
}

} // namespace tilescope::ui
