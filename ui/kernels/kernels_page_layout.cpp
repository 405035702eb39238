// The tools and panels of the page Kernels.

#include "ui/kernels/kernels_page.h"

#include "ui/kernels/families_panel.h"
#include "ui/kernels/kernel_groupings.h"
#include "ui/kernels/roofline_plot.h"
#include "ui/kit/controls.h"
#include "ui/kit/device_box.h"
#include "ui/kit/panel.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QScrollArea>
#include <QVBoxLayout>

#include <string>

namespace tilescope::ui {

QWidget* KernelsPage::makeTools()
{
    tools_ = new ToolBar(this);
    view_ = new SegmentedControl({tr("List"), tr("Inside")});
    view_->setAccessibleName(tr("View"));
    view_->setToolTip(
        tr("A list of all kernels, or what the warps of one wait for, by line and instruction"));
    tools_->add(view_);
    tools_->addGap();
    tools_->addWord(tr("Group by"));
    tools_->add(grouping_);
    tools_->addGap();
    filter_->setMinimumWidth(sizes().of(110));
    filter_->setToolTip(tr("Keep rows that contain every word (/): any text, or family:softmax"));
    tools_->add(filter_);
    for (QComboBox* box : {static_cast<QComboBox*>(device_), step_, range_}) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(box == range_ ? 12 : 7);
        box->setMaxVisibleItems(24);
        box->view()->setTextElideMode(Qt::ElideLeft);
        tools_->add(box);
    }
    device_->setToolTip(tr("Kernels of this GPU"));
    step_->setToolTip(tr("Kernels of this traced step"));
    range_->setToolTip(tr("Kernels that were launched within this range"));
    summary_->setObjectName(QStringLiteral("summary"));
    summary_->setProperty("kind", "dim");
    tools_->addStretch();
    tools_->add(summary_);
    tools_->mayGo(summary_);
    auto* columns = new MenuButton(tr("Columns"));
    columns->setToolTip(tr("Which columns the table has"));
    connect(columns->menu(), &QMenu::aboutToShow, this,
            [this, columns] { table_->fillColumnMenu(*columns->menu()); });
    tools_->add(columns);
    tools_->mayGo(columns); // the context menu of the table's header has them too
    connect(tools_->addButton(tr("Export…"), tr("Export what the page shows (Ctrl+E)")),
            &QPushButton::clicked, this, &Page::exportWanted);
    connect(grouping_, &SegmentedControl::changed, this, &KernelsPage::load);
    connect(device_, &QComboBox::activated, this, [this] {
        attentionAnswer_.reset();
        load();
    });
    connect(step_, &QComboBox::activated, this, &KernelsPage::load);
    connect(range_, &QComboBox::activated, this, &KernelsPage::load);
    connect(filter_, &QLineEdit::textChanged, this, [this](const QString& filter) {
        table_->filter().setWords(filter);
        summarize();
    });
    return tools_;
}

QWidget* KernelsPage::makePanels()
{
    auto* panels = new QWidget;
    auto* layout = new QHBoxLayout(panels);
    const int margin = sizes().of(12);
    layout->setContentsMargins(sizes().margin, margin, sizes().margin, margin);
    layout->setSpacing(sizes().gap);
    auto* roofs = new QVBoxLayout;
    roofs->setContentsMargins(sizes().of(8), sizes().of(4), sizes().of(8), sizes().of(8));
    noRoofline_ = makeMessage();
    roofs->addWidget(roofline_, 1);
    roofs->addWidget(noRoofline_, 1);
    rooflinePanel_->setContent(roofs);
    layout->addWidget(durations_, 10);
    layout->addWidget(rooflinePanel_, 13);
    layout->addWidget(families_, 8);
    connect(families_, &FamiliesPanel::familyChosen, this, [this](query::Hue family) {
        if (grouping_->current() != ByName) { // only kernels have a family each
            grouping_->setCurrent(ByName);
            load();
        }
        filter_->setText(QStringLiteral("family:") + QString::fromStdString(std::string(hueWord(family))));
    });
    connect(durations_, &DurationsPanel::timelineWanted, this, &KernelsPage::showOnTimeline);
    connect(roofline_, &RooflinePlot::chosen, this, [this](std::int64_t id) {
        table_->setCurrentId(id);
        chooseLine(id);
    });
    return panels;
}

} // namespace tilescope::ui
