// The parts that the kernels page is made of, and what leads from one to the other.

#include "ui/kernels/kernels_page.h"
#include "ui/kernels/roofline_plot.h"
#include "ui/kit/controls.h"
#include "ui/kit/histogram_plot.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QVBoxLayout>

namespace tilescope::ui {

QWidget* KernelsPage::makeTools()
{
    auto* tools = new ToolBar;
    tools->addWord(tr("Group by"));
    tools->add(grouping_);
    tools->addGap();
    filter_->setMinimumWidth(sizes().of(170));
    filter_->setToolTip(tr("Keep rows that have every word (/): any text, or family:softmax"));
    tools->add(filter_);
    for (QComboBox* box : {step_, range_}) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(box == step_ ? 7 : 12);
        box->setMaxVisibleItems(24);
        box->view()->setTextElideMode(Qt::ElideLeft);
        tools->add(box);
    }
    step_->setToolTip(tr("Kernels of this traced step"));
    range_->setToolTip(tr("Kernels that were launched within this range"));
    summary_->setObjectName(QStringLiteral("summary"));
    summary_->setProperty("kind", "dim");
    tools->addStretch();
    tools->add(summary_);
    tools->mayGo(summary_);
    auto* columns = new MenuButton(tr("Columns"));
    columns->setToolTip(tr("Which columns the table has"));
    connect(columns->menu(), &QMenu::aboutToShow, this,
            [this, columns] { table_->fillColumnMenu(*columns->menu()); });
    tools->add(columns);
    tools->mayGo(columns); // a right click on the table's header offers the same
    connect(tools->addButton(tr("Export…"), tr("Export what the page shows (Ctrl+E)")), &QPushButton::clicked,
            this, &Page::exportWanted);
    connect(grouping_, &Segments::changed, this, &KernelsPage::load);
    connect(step_, &QComboBox::activated, this, &KernelsPage::load);
    connect(range_, &QComboBox::activated, this, &KernelsPage::load);
    connect(filter_, &QLineEdit::textChanged, this, [this](const QString& filter) {
        table_->filter().setWords(filter);
        summarize();
    });
    return tools;
}

QWidget* KernelsPage::makePanels()
{
    auto* panels = new QWidget;
    auto* layout = new QHBoxLayout(panels);
    const int margin = sizes().of(12);
    layout->setContentsMargins(sizes().margin, margin, sizes().margin, margin);
    layout->setSpacing(sizes().gap);
    auto* content = new QVBoxLayout;
    content->setContentsMargins(sizes().of(8), sizes().of(4), sizes().of(8), sizes().of(8));
    histogram_->setAccessibleName(tr("Durations of the selected kernel"));
    noHistogram_ = makeMessage();
    content->addWidget(histogram_, 1);
    content->addWidget(noHistogram_, 1);
    showOnTimeline_ = new QPushButton(tr("Show on timeline"));
    showOnTimeline_->setObjectName(QStringLiteral("showOnTimeline"));
    showOnTimeline_->setProperty("kind", "link");
    showOnTimeline_->setCursor(Qt::PointingHandCursor);
    content->addWidget(showOnTimeline_, 0, Qt::AlignLeft);
    histogramPanel_->setContent(content);
    auto* roofs = new QVBoxLayout;
    roofs->setContentsMargins(sizes().of(8), sizes().of(4), sizes().of(8), sizes().of(8));
    noRoofline_ = makeMessage();
    roofs->addWidget(roofline_, 1);
    roofs->addWidget(noRoofline_, 1);
    rooflinePanel_->setSubtitle(tr("area is total time; work counted from shapes"));
    rooflinePanel_->setContent(roofs);
    layout->addWidget(histogramPanel_, 10);
    layout->addWidget(rooflinePanel_, 13);
    layout->addWidget(makeFamilies(), 8);
    connect(showOnTimeline_, &QPushButton::clicked, this, &KernelsPage::showOnTimeline);
    connect(roofline_, &RooflinePlot::chosen, this, [this](std::int64_t id) {
        table_->setCurrentId(id);
        chooseLine(id);
    });
    return panels;
}

QWidget* KernelsPage::makeFamilies()
{
    auto* panel = new Panel(tr("Families"));
    panel->setSubtitle(tr("click to filter"));
    auto* content = makePlainColumn(nullptr);
    familyTable_->setAccessibleName(tr("Families"));
    content->addWidget(familyTable_, 1);
    auto* rule = new QFrame;
    rule->setProperty("kind", "rule");
    rule->setFixedHeight(1);
    content->addWidget(rule);
    auto* heading = new QLabel(tr("Softmax against matmul"));
    heading->setToolTip(tr("Within the ranges of attention"));
    heading->setProperty("kind", "title");
    heading->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(2));
    content->addWidget(heading);
    attention_ = new KeyValueTable;
    content->addWidget(attention_);
    noAttention_ = new QLabel;
    noAttention_->setWordWrap(true);
    noAttention_->setProperty("kind", "dim");
    noAttention_->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    content->addWidget(noAttention_);
    content->addSpacing(sizes().of(8));
    panel->setContent(content);
    panel->setMinimumWidth(sizes().of(220));
    connect(familyTable_, &TableView::chosen, this, [this](std::int64_t hue) {
        if (grouping_->current() != 0) { // only kernels have a family each
            grouping_->setCurrent(0);
            load();
        }
        filter_->setText(QStringLiteral("family:") +
                         QString::fromStdString(std::string(hueWord(query::Hue(hue)))));
    });
    return panel;
}

} // namespace tilescope::ui
