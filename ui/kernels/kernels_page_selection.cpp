// The selected line of the page Kernels: its instances, and where it leads.

#include "ui/kernels/kernels_page.h"

#include "core/analysis/kernels/kernel_families.h"
#include "ui/kernels/families_panel.h"
#include "ui/kernels/kernel_groupings.h"
#include "ui/kernels/roofline_plot.h"
#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"

#include <QComboBox>
#include <QLineEdit>

#include <algorithm>
#include <utility>

namespace tilescope::ui {

namespace {

QString shortNameOf(const QString& kernel)
{
    return QString::fromStdString(
        analysis::KernelFamilies::standard().describe(kernel.toStdString()).shortName);
}

} // namespace

void KernelsPage::chooseLine(std::int64_t id)
{
    roofline_->setCurrent(id);
    if (grouping_->current() == ByName)
        workspace().setKernel(lines_[std::size_t(id)].name);
    durations_->setNotice({});
    showInstances(id);
}

// A kernel leads to the timeline, a group to its kernels.
void KernelsPage::openLine(std::int64_t id)
{
    const KernelLine line = lines_[std::size_t(id)];
    switch (kKernelGroupings[grouping_->current()]) {
    case query::Grouping::Family:
        return goTo({PageTarget::Kind::Family, line.name});
    case query::Grouping::Range:
        return goTo({PageTarget::Kind::Range, line.name});
    case query::Grouping::Phase:
        return goTo({PageTarget::Kind::Range, QStringLiteral("step/") + line.name});
    case query::Grouping::Module:
        grouping_->setCurrent(ByRange); // a module has one in each phase
        filter_->setText(line.name);
        return load();
    default:
        showOnTimeline();
    }
}

void KernelsPage::showOnTimeline()
{
    emit workspace().targetWanted(QStringLiteral("timeline"),
                                  {PageTarget::Kind::Kernel, workspace().kernel()});
}

void KernelsPage::selectLine(std::int64_t id)
{
    table_->setCurrentId(id);
    roofline_->setCurrent(id);
    showInstances(id);
}

// The costliest shapes of the op that a link leads to.
void KernelsPage::selectWantedOp()
{
    if (wantedOp_.isEmpty() || !full_ || !full_->byShape)
        return;
    const QString op = std::exchange(wantedOp_, {});
    for (std::size_t i = 0; i < lines_.size(); ++i)
        if (lines_[i].label == op || lines_[i].label.startsWith(op + QLatin1Char(' ')))
            return selectLine(std::int64_t(i));
    durations_->setNotice(tr("“%1” has no work of its own: see the ops that it calls.").arg(op));
}

void KernelsPage::followKernel()
{
    durations_->setNotice({});
    const QString kernel = workspace().kernel();
    if (grouping_->current() == ByName) {
        for (std::size_t i = 0; i < lines_.size(); ++i)
            if (lines_[i].name == kernel)
                return selectLine(std::int64_t(i));
        // Findings name kernels as the table does: the first line is the costliest of that label.
        for (const KernelLine& line : lines_)
            if (line.label == kernel)
                return workspace().setKernel(line.name);
    } else if (const auto id = table_->currentId(); id && std::size_t(*id) < lines_.size()) {
        return selectLine(*id);
    }
    // The kernel of another run stays the selected one for when that run is shown again.
    if (const QModelIndex first = table_->model()->index(0, 0);
        grouping_->current() == ByName && !kernel.isEmpty() && first.isValid()) {
        selectLine(first.data(TableModel::IdRole).toLongLong());
        return durations_->setNotice((full_ && full_->ops
                                          ? tr("This run has no op “%1”. The first row is selected.")
                                          : tr("This run has no kernel “%1”. The first row is selected."))
                                         .arg(shortNameOf(kernel)));
    }
    table_->setCurrentId({});
    roofline_->setCurrent({});
    emit selectionText({});
    durations_->clear();
}

// The instances that a line sums; empty if the grouping is not by name or family.
query::ActivityChoice KernelsPage::instancesOf(const KernelLine& line) const
{
    if (!timeline_ || range_->currentIndex() > 0 || run_->span)
        return {};
    if (grouping_->current() == ByFamily)
        return [hue = line.swatch.hue](std::uint32_t, query::Hue other) { return other == hue; };
    if (grouping_->current() == ByName)
        if (const auto name = findName(*timeline_, line.name.toStdString()))
            return [name = *name](std::uint32_t other, query::Hue) { return other == name; };
    return {};
}

// The times of the instances of a line; for ops, the self time. Empty if they are not known.
DurationsPanel::Lengths KernelsPage::lengthsOfInstances(const KernelLine& line) const
{
    query::ActivityChoice instances = instancesOf(line);
    if (!instances)
        return {};
    const std::optional<query::ProcessChoice> only = chosen();
    const ProcessIndex process = only ? only->process : ProcessIndex{};
    if (!full_ || !full_->ops)
        return [timeline = timeline_, instances = std::move(instances),
                choice = KernelChoice{step(), process, only ? only->device : DeviceIndex{}}](
                   const query::Cancelled& cancelled) {
            return query::lengthsOf(*timeline, instances, choice.stretch(timeline), cancelled);
        };
    return [timeline = timeline_, instances = std::move(instances),
            choice = OpChoice{full_->ops->run.coversRecording(), step(), process}](
               const query::Cancelled& cancelled) {
        return query::selfTimesOf(*timeline, instances, choice.stretches(timeline), cancelled);
    };
}

void KernelsPage::showInstances(std::int64_t id)
{
    const KernelLine& line = lines_[std::size_t(id)];
    durations_->setTitle(line.label);
    const QString instances = counted(line.instances, "instance");
    durations_->setSubtitle(
        joinedWords(full_ && full_->ops ? tr("%1, self time").arg(instances) : instances, chosenWords()));
    durations_->setOnTimeline(grouping_->current() == ByName);
    durations_->showInstances(line.swatch.hue, lengthsOfInstances(line),
                              run_->span
                                  ? tr("A time filter cuts instances: clear it to see how long they took.")
                                  : tr("Durations are available by name or family, over all ranges."));
    emit selectionText(tr("1 %1 selected, %2, %3")
                           .arg(grouping_->current() != ByName ? tr("group")
                                : full_ && full_->ops          ? tr("op")
                                                               : tr("kernel"),
                                counted(line.instances, "instance"), timeText(double(line.total.count()))));
}

} // namespace tilescope::ui
