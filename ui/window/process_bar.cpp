#include "ui/window/process_bar.h"

#include "ui/kit/controls.h"
#include "ui/kit/layouts.h"
#include "ui/kit/page.h"
#include "ui/kit/workspace.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>

#include <algorithm>

namespace tilescope::ui {

namespace {

/// The processes of all selected runs that have several, each once.
std::vector<query::ProcessChoice> processesOf(const Workspace& workspace)
{
    std::vector<query::ProcessChoice> all;
    for (const SelectedRun& run : workspace.selectedRuns())
        for (const query::ProcessChoice& process : run.run->processes)
            if (std::ranges::find(all, process.query, &query::ProcessChoice::query) == all.end())
                all.push_back(process);
    return all;
}

} // namespace

ProcessBar::ProcessBar(Workspace& workspace, QWidget* parent)
    : QFrame(parent), workspace_(workspace), choice_(new ComboBox(tr("Rank"))), words_(new SentenceLabel)
{
    setObjectName(QStringLiteral("processBar"));
    setProperty("kind", "bar");
    choice_->setObjectName(QStringLiteral("process"));
    choice_->setToolTip(tr("Whose steps, kernels and ranges the pages show"));
    choice_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    auto* layout = newLayout<QHBoxLayout>(this, 0, sizes().gap);
    layout->setContentsMargins(sizes().margin, sizes().of(4), sizes().margin, sizes().of(4));
    auto* word = new QLabel(tr("Show"));
    word->setProperty("kind", "dim");
    words_->setProperty("kind", "dim");
    layout->addWidget(word);
    layout->addWidget(choice_);
    layout->addWidget(words_, 1);
    connect(choice_, &QComboBox::activated, this, [this](int index) {
        workspace_.setProcess(index <= 0 ? query::ProcessQuery{}
                                         : processes_.at(std::size_t(index - 1)).query);
    });
    connect(&workspace_, &Workspace::selectionChanged, this, &ProcessBar::follow);
    connect(&workspace_, &Workspace::processChanged, this, &ProcessBar::follow);
    follow();
}

void ProcessBar::setPage(const Page& page)
{
    page_ = &page;
    follow();
}

void ProcessBar::follow()
{
    processes_ = processesOf(workspace_);
    const QString sentence = page_ == nullptr ? QString() : page_->processSentence();
    setVisible(!processes_.empty() && !sentence.isEmpty());
    words_->setText(sentence);
    const QSignalBlocker blocker(choice_);
    choice_->clear();
    choice_->addItem(QString::fromStdString(query::processWords(processes_, {})));
    for (const query::ProcessChoice& process : processes_)
        choice_->addItem(QString::fromStdString(process.title));
    const auto chosen = std::ranges::find(processes_, workspace_.process(), &query::ProcessChoice::query);
    choice_->setCurrentIndex(chosen == processes_.end() ? 0 : int(chosen - processes_.begin()) + 1);
}

} // namespace tilescope::ui
