#include "ui/flame/flame_filter_line.h"

#include "ui/kit/controls.h"
#include "ui/kit/elided_text.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QPushButton>

namespace tilescope::ui {

namespace {

constexpr int kMostName = 160; ///< design pixels

QString wordsOf(const query::CallFilter& filter, const QString& name)
{
    switch (filter.kind) {
    case query::CallFilter::Kind::KeepOnly:
        return FlameFilterLine::tr("only %1").arg(name);
    case query::CallFilter::Kind::Hide:
        return FlameFilterLine::tr("without %1").arg(name);
    case query::CallFilter::Kind::Callers:
        return FlameFilterLine::tr("callers of %1").arg(name);
    case query::CallFilter::Kind::Callees:
        return FlameFilterLine::tr("what %1 calls").arg(name);
    }
    return name;
}

} // namespace

FlameFilterLine::FlameFilterLine(QWidget* parent)
    : QWidget(parent), row_(new QHBoxLayout(this)), hidden_(new ElidedLabel),
      clear_(new QPushButton(tr("Clear")))
{
    row_->setContentsMargins(0, 0, 0, 0);
    row_->setSpacing(sizes().of(6));
    hidden_->setTextFormat(Qt::PlainText);
    hidden_->setProperty("kind", "dim");
    clear_->setProperty("kind", "link");
    clear_->setToolTip(tr("Remove all filters"));
    clear_->setCursor(Qt::PointingHandCursor);
    connect(clear_, &QPushButton::clicked, this, [this] { emit filtersWanted({}); });
    row_->addWidget(hidden_, 1);
    row_->addWidget(clear_);
    setFixedHeight(sizes().of(26));
}

void FlameFilterLine::show(const std::vector<query::CallFilter>& filters, const QString& hidden)
{
    for (QPushButton* button : buttons_)
        button->deleteLater();
    buttons_.clear();
    filters_ = filters;
    for (std::size_t i = 0; i < filters.size(); ++i) {
        const QString name = QString::fromStdString(filters[i].name);
        auto* button = new QPushButton;
        const QString shown = elidedText(name, button->fontMetrics(), Qt::ElideRight, sizes().of(kMostName));
        QString words = wordsOf(filters[i], shown) + QStringLiteral("  \u00d7");
        button->setText(words.replace(QLatin1Char('&'), QStringLiteral("&&")));
        button->setProperty("kind", "chip");
        button->setToolTip(tr("Remove the filter: %1").arg(wordsOf(filters[i], name)));
        button->setAccessibleName(button->toolTip());
        connect(button, &QPushButton::clicked, this, [this, i] {
            std::vector<query::CallFilter> rest = filters_;
            rest.erase(rest.begin() + std::ptrdiff_t(i));
            emit filtersWanted(std::move(rest));
        });
        row_->insertWidget(int(i), button);
        buttons_.push_back(button);
    }
    hidden_->setText(hidden);
    hidden_->setToolTip(hidden);
    setVisible(!filters.empty());
}

} // namespace tilescope::ui
