#include "ui/kernels/families_panel.h"

#include "ui/kit/controls.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QLabel>
#include <QVBoxLayout>

namespace tilescope::ui {

namespace {

// The figures of an answer as rows: times in one unit, ratios unchanged.
std::vector<KeyValueRow> rowsOf(const query::Answer& answer)
{
    std::vector<KeyValueRow> rows;
    for (const query::AnswerFigure& figure : answer.figures) {
        if (!figure.value || figure.unit == "FLOP")
            continue;
        QString label = QString::fromStdString(figure.label);
        rows.push_back({label.replace(QLatin1String("softmax / matmuls"), QLatin1String("ratio")),
                        {figure.unit == "ns" ? timeText(*figure.value) : threeDigits(*figure.value)}});
    }
    return rows;
}

} // namespace

FamiliesPanel::FamiliesPanel(QWidget* parent)
    : Panel(tr("Families"), parent), families_(new TableView), attention_(new KeyValueTable),
      noAttention_(new SentenceLabel)
{
    setSubtitle(tr("click to filter"));
    auto* content = makePlainColumn(nullptr);
    families_->setAccessibleName(tr("Families"));
    content->addWidget(families_, 1);
    auto* rule = new QFrame;
    rule->setProperty("kind", "rule");
    rule->setFixedHeight(1);
    content->addWidget(rule);
    auto* heading = new QLabel(tr("Softmax against matmul"));
    heading->setToolTip(tr("Within the ranges of attention"));
    heading->setProperty("kind", "title");
    heading->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(2));
    content->addWidget(heading);
    attention_->setAccessibleName(tr("Softmax against matmul"));
    content->addWidget(attention_);
    noAttention_->setProperty("kind", "dim");
    noAttention_->setContentsMargins(sizes().padding, 0, sizes().padding, 0);
    content->addWidget(noAttention_);
    content->addSpacing(sizes().of(8));
    setContent(content);
    setMinimumWidth(sizes().of(220));
    connect(families_, &TableView::chosen, this,
            [this](std::int64_t family) { emit familyChosen(query::Hue(family)); });
}

void FamiliesPanel::showFamilies(const std::vector<query::KernelRow>& families, bool onHost)
{
    if (!families.empty())
        families_->show(familyRows(families, onHost));
}

void FamiliesPanel::showAttention(const std::optional<query::Answer>& answer, const QString& otherwise)
{
    const bool any = answer && !answer->figures.empty();
    attention_->setVisible(any);
    noAttention_->setVisible(!any);
    if (any) {
        attention_->setRows(rowsOf(*answer));
        attention_->setToolTip(QString::fromStdString(answer->sentence));
    } else {
        noAttention_->setText(answer ? QString::fromStdString(answer->sentence) : otherwise);
    }
}

} // namespace tilescope::ui
