#include "ui/kernels/figure_strip.h"

#include "ui/kit/controls.h"
#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace tilescope::ui {

namespace {

QLabel* makeLabel(const QString& text, const char* kind, const QFont& font)
{
    auto* label = new QLabel(text);
    label->setProperty("kind", kind);
    label->setFont(font);
    return label;
}

QFrame* makeFigure(const InsideFigure& figure)
{
    auto* card = new QFrame;
    card->setProperty("kind", "panel");
    card->setToolTip(figure.tip);
    card->setAccessibleName(figure.title);
    auto* column = new QVBoxLayout(card);
    column->setContentsMargins(sizes().of(10), sizes().of(6), sizes().of(10), sizes().of(6));
    column->setSpacing(0);
    const Theme& theme = Theme::instance();
    auto* title = new TitleLabel(figure.title);
    title->setFont(theme.bold());
    column->addWidget(title);
    auto* row = new QHBoxLayout;
    row->setSpacing(sizes().of(4));
    row->addWidget(makeLabel(figure.value.isEmpty() ? notMeasured() : figure.value, "", theme.large()), 0,
                   Qt::AlignBottom);
    if (!figure.value.isEmpty())
        row->addWidget(makeLabel(figure.unit, "dim", theme.body()), 0, Qt::AlignBottom);
    row->addStretch(1);
    column->addLayout(row);
    auto* beneath = new ElidedLabel;
    beneath->setText(figure.before.isEmpty()   ? figure.detail
                     : figure.detail.isEmpty() ? figure.before
                                               : figure.before + QStringLiteral(", ") + figure.detail);
    column->addWidget(beneath);
    card->setMinimumWidth(sizes().of(84));
    return card;
}

} // namespace

FigureStrip::FigureStrip(QWidget* parent) : QWidget(parent), layout_(new QHBoxLayout(this))
{
    layout_->setContentsMargins(0, 0, 0, 0);
    layout_->setSpacing(sizes().gap);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void FigureStrip::show(const std::vector<InsideFigure>& figures)
{
    while (QLayoutItem* item = layout_->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    for (const InsideFigure& figure : figures)
        layout_->addWidget(makeFigure(figure), 1);
}

} // namespace tilescope::ui
