#include "ui/flame/flame_callees.h"

#include "ui/flame/flame_view.h"
#include "ui/kit/controls.h"
#include "ui/theme/theme.h"

#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

#include <optional>
#include <utility>

namespace tilescope::ui {

FlameCallees::FlameCallees(QWidget* parent) : QWidget(parent), title_(new ElidedLabel), view_(new FlameView)
{
    view_->setAccessibleName(tr("Callees"));
    title_->setTextFormat(Qt::PlainText);
    title_->setFixedHeight(sizes().of(26));
    auto* area = new QScrollArea;
    area->setFrameShape(QFrame::NoFrame);
    area->setWidgetResizable(true);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setFocusPolicy(Qt::NoFocus);
    area->setWidget(view_);
    QVBoxLayout* layout = makePlainColumn(this);
    layout->addWidget(title_);
    layout->addWidget(area, 1);
    connect(view_, &FlameView::hovered, this, [this](std::optional<query::CallTree::Node> node) {
        emit hovered(node && graph_ ? QString::fromStdString(graph_->labelOf(*node)) + QStringLiteral("  ") +
                                          shareText(*graph_, *node)
                                    : QString());
    });
}

void FlameCallees::show(std::shared_ptr<const query::FlameGraph> graph, const std::string& name)
{
    graph_ = std::move(graph);
    view_->show(graph_);
    setVisible(graph_ != nullptr);
    if (!graph_)
        return;
    const QString called = graph_->rows.empty()
                               ? QString::fromStdString(name)
                               : QString::fromStdString(graph_->labelOf(graph_->rows.front().front().node));
    title_->setText(tr("Above the callers of %1, below what it calls: %2")
                        .arg(called, amountText(graph_->table, double(graph_->width()))));
}

} // namespace tilescope::ui
