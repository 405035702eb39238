#include "ui/window/run_menu.h"

#include "core/config/run_again.h"
#include "core/query/run_spec.h"
#include "ui/kit/count_text.h"
#include "ui/theme/theme.h"
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
};

std::vector<Subject> subjectsOf(const Workspace& workspace, const std::vector<RunKey>& runs)
{
    std::vector<Subject> subjects;
    for (const RunKey& key : runs) {
        const OpenFile* file = workspace.find(key.file);
        const query::RunSummary* run = file && file->snapshot ? file->snapshot->find(key.run) : nullptr;
        if (run != nullptr)
            subjects.push_back({key, file, run});
    }
    return subjects;
}

// Only for runs with a spec; imports and recordings have none.
std::vector<ExperimentSpec> specsOf(const Workspace& workspace, const std::vector<RunKey>& runs)
{
    std::vector<ExperimentSpec> specs;
    for (const Subject& subject : subjectsOf(workspace, runs))
        if (const std::optional<ExperimentSpec> spec = query::specOf(*subject.run))
            specs.push_back(*spec);
    return specs;
}

// A line of text from the user, or nothing.
std::optional<QString> askForText(QWidget* window, const QString& title, const QString& question,
                                  const QString& before)
{
    QInputDialog dialog(window);
    dialog.setWindowTitle(title);
    dialog.setLabelText(question);
    dialog.setTextValue(before);
    dialog.resize(sizes().of(420), dialog.sizeHint().height());
    if (dialog.exec() != QDialog::Accepted)
        return {};
    return dialog.textValue();
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
            QAction* compare = menu_.addAction(tr("Compare"), &workspace_,
                                               [w = &workspace_, a = subjects_[0].key, b = subjects_[1].key] {
                                                   w->select({a, b});
                                                   emit w->pageWanted(QStringLiteral("compare"));
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

    std::vector<RunKey> keys() const
    {
        std::vector<RunKey> keys;
        for (const Subject& subject : subjects_)
            keys.push_back(subject.key);
        return keys;
    }

    // Whether all are runs of experiments. Their specs are read when they are needed: there may be very many.
    bool areExperiments() const
    {
        return std::ranges::none_of(subjects_,
                                    [](const Subject& one) { return one.run->traits().isImported; }) &&
               query::specOf(*subjects_.front().run);
    }

    bool areOfOneFile() const
    {
        return !subjects_.front().file->import && std::ranges::all_of(subjects_, [this](const Subject& one) {
            return one.key.file == subjects_.front().key.file;
        });
    }

    void addRepeat()
    {
        const OpenFile& file = *subjects_.front().file;
        QAction* action = menu_.addAction(
            tr("Run until each has %1").arg(counted(kRepeats, "repeat")), &workspace_,
            [w = &workspace_, runs = keys(), path = QString::fromStdString(file.file->path().string())] {
                std::vector<ExperimentSpec> specs = specsOf(*w, runs);
                for (ExperimentSpec& spec : specs)
                    spec.repeat = kRepeats;
                emit w->runsWanted(
                    {tr("Repeats of %1").arg(counted(std::ssize(specs), "run")), specs, path, true});
            });
        action->setToolTip(tr("Repeats are interleaved and recorded into the same file"));
        action->setEnabled(areExperiments() && areOfOneFile());
    }

    void addCommand()
    {
        QAction* action = menu_.addAction(tr("Copy command"), &workspace_, [w = &workspace_, runs = keys()] {
            QStringList lines;
            for (const ExperimentSpec& spec : specsOf(*w, runs))
                lines << QString::fromStdString(config::runCommand(spec));
            QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
        });
        action->setToolTip(tr("The command line that runs the same experiment"));
        action->setEnabled(areExperiments());
    }

    void addEdits()
    {
        const Subject& one = subjects_.front();
        const QString of =
            isOne() ? tr("run %1").arg(one.key.run.value) : counted(std::ssize(subjects_), "run");
        addText(tr("Note"), tr("Note of %1").arg(of), one.run->note, &RunEdits::setNote);
        addText(tr("Tag"), tr("Tag of %1, one word").arg(of), one.run->tag, &RunEdits::setTag);
        std::vector<RunId> runs;
        for (const Subject& subject : subjects_)
            runs.push_back(subject.key.run);
        const bool isRunning = std::ranges::any_of(subjects_, [](const Subject& subject) {
            return subject.run->result.status == RunStatus::Running;
        });
        QAction* action = menu_.addAction(
            isOne() ? tr("Delete run") : tr("Delete %1").arg(counted(std::ssize(runs), "run")), &edits_,
            [e = &edits_, file = one.key.file, runs] { e->remove(file, runs); });
        action->setEnabled(areOfOneFile() && !isRunning);
    }

    void addText(const QString& text, const QString& question, const std::string& now,
                 void (RunEdits::*set)(const std::vector<RunKey>&, const QString&))
    {
        QAction* action = menu_.addAction(text + QChar(0x2026), &edits_,
                                          [e = &edits_, window = menu_.parentWidget(), text, question,
                                           runs = keys(), before = QString::fromStdString(now), set] {
                                              const std::optional<QString> after =
                                                  askForText(window, text, question, before);
                                              if (after && (*after != before || runs.size() > 1))
                                                  (e->*set)(runs, *after);
                                          });
        action->setEnabled(std::ranges::none_of(
            subjects_, [](const Subject& subject) { return bool(subject.file->import); }));
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
