#include "ui/overview/generation_panel.h"

#include "core/exchange/generation/generation_columns.h"
#include "core/exchange/generation/generation_section.h"
#include "ui/kit/controls.h"
#include "ui/kit/layouts.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/table_view.h"
#include "ui/overview/iterations_plot.h"
#include "ui/theme/theme.h"

#include <QVBoxLayout>

#include <algorithm>

namespace tilescope::ui {

using query::GenerationSummary;

namespace {

constexpr std::size_t kMostPlots = 2;
constexpr std::size_t kMostBatches = 8; // before the table scrolls

} // namespace

TableData batchRows(const query::GenerationTable& generation)
{
    const exchange::GenerationColumns of(generation);
    TableMaker<GenerationSummary> columns(generation.batches);
    columns.add(of.type, 0).swatch = true;
    columns.add(of.batch, 60);
    columns.add(of.contextFrom, 100);
    columns.add(of.contextTo, 60);
    columns.add(of.iterations, 60);
    for (const auto* each : {&of.p50, &of.p90, &of.p99, &of.gpuBusy})
        columns.add(*each, 82);
    columns.add(of.tokensPerSecond, 76);
    columns.add(of.bandwidth, 96);
    return columns.table(generation.batches, [](const GenerationSummary& row) {
        return Swatch::of(row.type == StepType::Prefill  ? query::Hue(query::Hue::Matmul)
                          : row.type == StepType::Decode ? query::Hue(query::Hue::Embedding)
                                                         : query::Hue(query::Hue::Other));
    });
}

GenerationPanel::GenerationPanel(QWidget* parent) : Panel(tr("Iterations"), parent), batches_(new TableView)
{
    QVBoxLayout* content = makePlainColumn(nullptr);
    content->setSpacing(sizes().gap);
    for (std::size_t i = 0; i < kMostPlots; ++i) {
        titles_.push_back(new ElidedLabel);
        titles_.back()->setProperty("kind", "dim");
        titles_.back()->setContentsMargins(sizes().padding, sizes().gap, sizes().padding, 0);
        content->addWidget(titles_.back());
        plots_.push_back(new IterationsPlot);
        content->addWidget(plots_.back());
    }
    batches_->setAccessibleName(tr("Iterations by type and batch"));
    content->addWidget(batches_);
    setContent(content);
    hide();
}

void GenerationPanel::show(const OverviewData& data)
{
    for (std::size_t i = 0; i < plots_.size(); ++i) {
        const bool isShown = i < data.runs.size();
        plots_[i]->setVisible(isShown);
        titles_[i]->setVisible(isShown && data.runs.size() > 1);
        if (!isShown)
            continue;
        plots_[i]->show(data.runs[i].data->generation);
        titles_[i]->setText(data.runs[i].letter + QLatin1Char(' ') + data.runs[i].title);
    }
    const query::GenerationTable& first = *data.runs.front().data->generation;
    QString source = QString::fromStdString(exchange::sourceText(first));
    source.remove(0, source.startsWith(QLatin1String("iterations are ")) ? 15 : 0);
    setSubtitle(tr("%1; times are traced").arg(source));
    batches_->show(batchRows(first));
    batches_->setFixedHeight(sizes().header +
                             int(std::min(kMostBatches, first.batches.size())) * sizes().row + 2);
    setVisible(true);
}

} // namespace tilescope::ui
