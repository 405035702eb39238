#include "ui/window/loss_bar.h"

#include "ui/kit/controls.h"
#include "ui/kit/count_text.h"
#include "ui/kit/workspace.h"

#include <QPushButton>
#include <QRegularExpression>

namespace tilescope::ui {

namespace {

constexpr qsizetype kNamed = 2; // runs; more would take the height of the page

/// One line for all runs: "A: Run 3 is incomplete: …".
QString lineOf(const std::vector<SelectedRun>& runs, const query::Cancelled& cancelled)
{
    QStringList sentences;
    for (const SelectedRun& run : runs) {
        if (cancelled())
            return {};
        const std::string lost = query::lossSentence(run.file->borrow()->reader(), run.key.run);
        if (!lost.empty())
            sentences << (run.letter.isEmpty() ? QString() : run.letter + QStringLiteral(": ")) +
                             QString::fromStdString(lost);
    }
    if (const qsizetype others = sentences.size() - kNamed; others > 0) {
        sentences.resize(kNamed);
        sentences << counted(others, "other run has losses", "other runs have losses") + QLatin1Char('.');
    }
    return sentences.join(QLatin1Char(' '));
}

} // namespace

LossBar::LossBar(Workspace& workspace, QWidget* parent) : MessageStrip(parent), workspace_(workspace)
{
    setAccessibleName(tr("Losses"));
    tell(Kind::Warning, {});
    words().setObjectName(QStringLiteral("losses"));
    list_ = addButton(tr("List"), [this] { emit workspace_.pageWanted(QStringLiteral("overview")); });
    list_->setObjectName(QStringLiteral("listLosses"));
    list_->setToolTip(tr("Show all losses, on the page Overview"));
    connect(&workspace_, &Workspace::selectionChanged, this, &LossBar::read);
    connect(&workspace_, &Workspace::runsGrew, this, &LossBar::read);
    read();
}

void LossBar::setPage(const QString& name)
{
    page_ = name;
    follow();
}

void LossBar::read()
{
    reading_.start([runs = workspace_.selectedRuns()](
                       const query::Cancelled& cancelled) { return lineOf(runs, cancelled); },
                   [this](const QString& sentence) {
                       sentence_ = sentence;
                       follow();
                   },
                   // The pages that show the run say why it cannot be read.
                   [this](const QString&) {
                       sentence_.clear();
                       follow();
                   });
}

void LossBar::follow()
{
    // Compare says it beside its verdict.
    const bool isForRuns = page_ != QLatin1String("compare") && page_ != QLatin1String("experiment") &&
                           page_ != QLatin1String("help");
    static const QRegularExpression kDetails(QStringLiteral(" \\([^()]*\\)"));
    words().setText(QString(sentence_).remove(kDetails));
    words().setToolTip(sentence_);
    list_->setVisible(page_ != QLatin1String("overview"));
    setVisible(isForRuns && !sentence_.isEmpty());
}

} // namespace tilescope::ui
