#include "ui/waiting/help_list.h"

#include "ui/kit/controls.h"
#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"
#include "ui/waiting/waiting_rows.h"

#include <QApplication>
#include <QClipboard>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace tilescope::ui {

namespace {

constexpr int kMostFindings = 4;

QString textOf(const std::string& text)
{
    return QString::fromStdString(text);
}

} // namespace

HelpList::HelpList(QWidget* parent) : QWidget(parent), column_(new QVBoxLayout(this))
{
    column_->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(8));
    column_->setSpacing(sizes().of(6));
    column_->addStretch(1);
}

void HelpList::clear()
{
    while (QLayoutItem* item = column_->takeAt(0)) {
        if (QLayout* row = item->layout())
            while (QLayoutItem* inner = row->takeAt(0)) {
                delete inner->widget();
                delete inner;
            }
        delete item->widget();
        delete item;
    }
}

void HelpList::say(const QString& sentence)
{
    clear();
    auto* label = new SentenceLabel(sentence);
    label->setProperty("kind", "dim");
    column_->addWidget(label);
    column_->addStretch(1);
}

void HelpList::show(const query::AdviceTable& advice, const QString& again)
{
    clear();
    int shown = 0;
    for (const query::Advice& finding : advice.rows)
        if (isAboutWaiting(finding.rule) && shown < kMostFindings) {
            add(advice, finding, again);
            ++shown;
        }
    if (shown == 0)
        return say(tr("No rule of advice finds anything that would shorten the wait."));
    column_->addStretch(1);
}

void HelpList::add(const query::AdviceTable& advice, const query::Advice& finding, const QString& again)
{
    if (column_->count() > 0) {
        auto* line = new QFrame;
        line->setFrameShape(QFrame::HLine);
        line->setProperty("kind", "rule");
        column_->addWidget(line);
    }
    auto* remedy = new SentenceLabel(textOf(finding.remedy));
    QFont strong = Theme::instance().bold();
    remedy->setFont(strong);
    auto* sentence = new SentenceLabel(textOf(finding.sentence));
    for (SentenceLabel* label : {remedy, sentence}) {
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        column_->addWidget(label);
    }
    const QString command = again.isEmpty() ? textOf(finding.command) : again;
    auto* code = new QLabel(command);
    code->setTextFormat(Qt::PlainText);
    code->setFont(Theme::instance().mono());
    code->setWordWrap(true);
    code->setTextInteractionFlags(Qt::TextSelectableByMouse);
    code->setProperty("kind", "code");
    column_->addWidget(code);
    auto* row = new QHBoxLayout;
    auto* copy = new QPushButton(tr("Copy"));
    copy->setProperty("kind", "small");
    copy->setToolTip(tr("Copy the command"));
    connect(copy, &QPushButton::clicked, this, [command] { QApplication::clipboard()->setText(command); });
    row->addWidget(copy);
    row->addStretch(1);
    auto* most = new QLabel(tr("at most %1%2").arg(QChar(0x2212), timeText(advice.perStep(finding.atStake))) +
                            (advice.isWhole ? QString() : tr(" a step")));
    most->setProperty("kind", "dim");
    most->setToolTip(textOf(finding.bound));
    row->addWidget(most);
    column_->addLayout(row);
}

} // namespace tilescope::ui
