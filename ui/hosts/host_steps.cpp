#include "ui/hosts/host_steps.h"

#include "core/base/terminal_text.h"
#include "core/hosts/host_check.h"
#include "ui/kit/controls.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QGridLayout>
#include <QLabel>

#include <algorithm>

namespace tilescope::ui {

namespace {

using Verdict = machine::Finding::Verdict;

QString words(const std::string& text)
{
    return QString::fromStdString(escapeForTerminal(text));
}

/// The topic as the beginning of a row.
QString titleOf(QString topic)
{
    if (!topic.isEmpty())
        topic.front() = topic.front().toUpper();
    return topic;
}

QLabel* makeSign(Icon icon, const QColor& colour, const QString& meaning)
{
    auto* sign = new QLabel;
    sign->setPixmap(makeIcon(icon, colour, sizes().of(14)).pixmap(sizes().of(14)));
    sign->setAccessibleName(meaning);
    sign->setToolTip(meaning);
    return sign;
}

QLabel* signOf(Verdict verdict)
{
    switch (verdict) {
    case Verdict::Ok:
        return makeSign(Icon::Check, colours().dimText, HostSteps::tr("in order"));
    case Verdict::Note:
        return makeSign(Icon::Info, colours().accent, HostSteps::tr("note"));
    case Verdict::Missing:
        break;
    }
    return makeSign(Icon::Warning, colours().warning, HostSteps::tr("missing"));
}

QLabel* makeSentence(const QString& text, const char* kind)
{
    auto* label = new SentenceLabel(text);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setProperty("kind", kind);
    return label;
}

} // namespace

HostSteps::HostSteps(QWidget* parent) : QScrollArea(parent)
{
    setWidgetResizable(true);
    setAccessibleName(tr("Steps of the examination"));
    setMinimumHeight(sizes().of(230));
    connect(&Theme::instance(), &Theme::changed, this, &HostSteps::refill);
    refill();
}

void HostSteps::restart()
{
    findings_.clear();
    isRunning_ = isBegun_ = true;
    refill();
}

void HostSteps::add(const machine::Finding& finding)
{
    findings_.push_back(finding);
    refill();
}

void HostSteps::finish()
{
    isRunning_ = false;
    refill();
}

void HostSteps::refill()
{
    auto* content = new QWidget;
    content->setProperty("kind", "form");
    auto* grid = new QGridLayout(content);
    grid->setContentsMargins(sizes().padding, sizes().of(8), sizes().padding, sizes().of(8));
    grid->setHorizontalSpacing(sizes().of(10));
    grid->setVerticalSpacing(sizes().of(8));
    grid->setColumnStretch(2, 1);
    grid->setColumnMinimumWidth(1, sizes().of(84));
    int row = 0;
    const auto addRow = [&](QLabel* sign, const QString& topic, QLabel* text) {
        grid->addWidget(sign, row, 0, Qt::AlignTop);
        grid->addWidget(new QLabel(topic), row, 1, Qt::AlignTop);
        grid->addWidget(text, row, 2);
        ++row;
    };
    for (const machine::Finding& finding : findings_) {
        const bool isMissing = finding.verdict == Verdict::Missing;
        addRow(signOf(finding.verdict), titleOf(words(finding.topic)),
               makeSentence(words(finding.finding), isMissing ? "warning" : ""));
        if (!finding.remedy.empty())
            grid->addWidget(makeSentence(titleOf(words(finding.remedy)) + QLatin1Char('.'), "dim"), row++, 2);
    }
    if (isRunning_ && findings_.size() < hosts::kCheckTopics.size()) {
        const std::size_t next = findings_.size();
        for (std::size_t i = next; i < hosts::kCheckTopics.size(); ++i)
            addRow(i == next ? makeSign(Icon::Running, colours().running, tr("being examined"))
                             : makeSign(Icon::Skipped, colours().line, tr("still to come")),
                   titleOf(QLatin1String(hosts::kCheckTopics[i])),
                   makeSentence(i == next ? tr("is being examined…") : QString(), "dim"));
    } else if (!isBegun_) {
        grid->addWidget(
            makeSentence(tr("Check connects to the host and examines it. It changes nothing there."), "dim"),
            row++, 0, 1, 3);
    }
    grid->setRowStretch(row, 1);
    setWidget(content);
}

} // namespace tilescope::ui
