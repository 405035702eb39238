#include "ui/window/run_menu.h"

#include "core/config/run_again.h"
#include "core/query/run_spec.h"
#include "ui/kit/count_text.h"
#include "ui/window/run_edits.h"

#include <QApplication>
#include <QClipboard>
#include <QCoreApplication>
#include <QInputDialog>
#include <QMenu>

#include <algorithm>
#include <optional>

namespace tilescope::ui {

namespace {

constexpr int kRepeats = 5; // decide most comparisons

struct Subject {
    RunKey key;
    const OpenFile* file = nullptr;
    const query::RunSummary* run = nullptr;
    std::optional<ExperimentSpec> spec = {}; ///< none: not a run of ours
};

std::vector<Subject> subjectsOf(const Workspace& workspace, const std::vector<RunKey>& runs)
{
    std::vector<Subject> subjects;
    for (const RunKey& key : runs) {
        const OpenFile* file = workspace.find(key.file);
        const query::RunSummary* run = file && file->snapshot ? file->snapshot->find(key.run) : nullptr;
        if (run != nullptr)
            subjects.push_back({key, file, run, query::specOf(*run)});
    }
    return subjects;
}

class Filler {
public:
    Filler(QMenu& menu, Workspace& workspace, RunEdits& edits, std::vector<Subject> subjects)
        : menu_(menu), workspace_(workspace), edits_(edits), subjects_(std::move(subjects))
    {
    }

    void fill()
    {
        if (subjects_.empty())
            return;
        addSelection();
        menu_.addSeparator();
        addRepeat();
        addCommand();
        menu_.addSeparator();
        addEdits();
    }

private:
    bool isOne() const { return subjects_.size() == 1; }

    void addSelection()
    {
        if (!isOne()) {
            QAction* compare = menu_.addAction(tr("Compare"), &workspace_, [this_ = *this] {
                this_.workspace_.select({this_.subjects_[0].key, this_.subjects_[1].key});
                emit this_.workspace_.pageWanted(QStringLiteral("compare"));
            });
            compare->setEnabled(subjects_.size() == 2);
            return;
        }
        const RunKey key = subjects_.front().key;
        const std::vector<RunKey> selected = workspace_.selection();
        const RunKey a = selected.empty() ? key : selected.front();
        menu_.addAction(tr("Show only this run"), &workspace_, [w = &workspace_, key] { w->select({key}); });
        addPlace(tr("Show as A"), key, selected.size() > 1 ? selected[1] : a, true);
        addPlace(tr("Show as B"), key, a, false);
        QAction* compare = menu_.addAction(tr("Compare with A"), &workspace_, [w = &workspace_, a, key] {
            w->select({a, key});
            emit w->pageWanted(QStringLiteral("compare"));
        });
        compare->setEnabled(a != key);
    }

    // The run beside the other one, first or second.
    void addPlace(const QString& text, RunKey key, RunKey other, bool first)
    {
        QAction* action = menu_.addAction(text, &workspace_, [w = &workspace_, key, other, first] {
            w->select(first ? std::vector{key, other} : std::vector{other, key});
        });
        action->setEnabled(key != other);
    }

    void addRepeat()
    {
        std::vector<ExperimentSpec> specs;
        for (const Subject& subject : subjects_)
            if (subject.spec && subject.key.file == subjects_.front().key.file)
                specs.push_back(*subject.spec);
        const OpenFile& file = *subjects_.front().file;
        QAction* action = menu_.addAction(
            tr("Run until each has %1").arg(counted(kRepeats, "repeat")), &workspace_,
            [w = &workspace_, specs, path = QString::fromStdString(file.file->path().string())]() mutable {
                for (ExperimentSpec& spec : specs)
                    spec.repeat = kRepeats;
                emit w->runsWanted(
                    {tr("Repeats of %1").arg(counted(std::ssize(specs), "run")), specs, path, true});
            });
        action->setToolTip(tr("Repeats are interleaved and recorded into the same file"));
        action->setEnabled(specs.size() == subjects_.size() && !file.import);
    }

    void addCommand()
    {
        QAction* action = menu_.addAction(tr("Copy command"), &workspace_, [specs = subjects_] {
            QStringList lines;
            for (const Subject& subject : specs)
                lines << QString::fromStdString(config::runCommand(*subject.spec));
            QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
        });
        action->setToolTip(tr("The command line that runs the same experiment"));
        action->setEnabled(std::all_of(subjects_.begin(), subjects_.end(),
                                       [](const Subject& subject) { return subject.spec.has_value(); }));
    }

    void addEdits()
    {
        const Subject& one = subjects_.front();
        if (isOne()) {
            addText(tr("Note…"), tr("Note of run %1").arg(one.key.run.value), one.run->note,
                    &RunEdits::setNote);
            addText(tr("Tag…"), tr("Tag of run %1, one word").arg(one.key.run.value), one.run->tag,
                    &RunEdits::setTag);
        }
        std::vector<RunId> runs;
        bool oneFile = true;
        for (const Subject& subject : subjects_) {
            runs.push_back(subject.key.run);
            oneFile = oneFile && subject.key.file == one.key.file &&
                      subject.run->result.status != RunStatus::Running;
        }
        QAction* action = menu_.addAction(
            isOne() ? tr("Delete run") : tr("Delete %1").arg(counted(std::ssize(runs), "run")), &edits_,
            [e = &edits_, file = one.key.file, runs] { e->remove(file, runs); });
        action->setEnabled(oneFile && !one.file->import);
    }

    void addText(const QString& text, const QString& question, const std::string& now,
                 void (RunEdits::*set)(RunKey, const QString&))
    {
        const Subject& one = subjects_.front();
        QAction* action = menu_.addAction(text, &edits_,
                                          [e = &edits_, window = menu_.parentWidget(), question,
                                           key = one.key, before = QString::fromStdString(now), set] {
                                              bool accepted = false;
                                              const QString after =
                                                  QInputDialog::getText(window, tr("Tilescope"), question,
                                                                        QLineEdit::Normal, before, &accepted);
                                              if (accepted && after != before)
                                                  (e->*set)(key, after);
                                          });
        action->setEnabled(!one.file->import);
    }

    static QString tr(const char* text) { return QCoreApplication::translate("RunMenu", text); }

    QMenu& menu_;
    Workspace& workspace_;
    RunEdits& edits_;
    std::vector<Subject> subjects_;
};

} // namespace

void fillRunMenu(QMenu& menu, Workspace& workspace, RunEdits& edits, const std::vector<RunKey>& runs)
{
    Filler(menu, workspace, edits, subjectsOf(workspace, runs)).fill();
}

} // namespace tilescope::ui
