#include "ui/window/window_menus.h"

#include "core/base/version.h"
#include "ui/experiment/experiment_page.h"
#include "ui/hosts/hosts_dialog.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/page.h"
#include "ui/kit/view_history.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_page.h"
#include "ui/timeline/timeline_path.h"
#include "ui/window/command_palette.h"
#include "ui/window/key_sheet.h"
#include "ui/window/main_window.h"
#include "ui/window/page_rail.h"
#include "ui/window/recent_files.h"
#include "ui/window/run_dock.h"
#include "ui/window/run_edits.h"
#include "ui/window/what_if_dialog.h"

#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFileInfo>
#include <QKeyEvent>
#include <QMenuBar>
#include <QMessageBox>
#include <QSet>
#include <QSettings>
#include <QStatusBar>

namespace tilescope::ui {

namespace {

constexpr int kMessageMs = 4000;

// The place of a letter that no other entry has, preferably the first of a word; -1 if there is none.
qsizetype freeLetter(const QString& text, const QSet<QChar>& taken)
{
    const auto isFree = [&](qsizetype at) {
        return text[at].isLetterOrNumber() && !taken.contains(text[at].toLower());
    };
    for (qsizetype at = 0; at < text.size(); ++at)
        if (isFree(at) && (at == 0 || text[at - 1] == QLatin1Char(' ')))
            return at;
    for (qsizetype at = 0; at < text.size(); ++at)
        if (isFree(at))
            return at;
    return -1;
}

// Gives each entry a letter that chooses it while the menu is open. Entries change their text, so it is done each time.
void giveAccessKeys(const QMenu& menu)
{
    QSet<QChar> taken;
    for (const QAction* action : menu.actions())
        if (const auto at = action->text().indexOf(QLatin1Char('&'));
            at >= 0 && at + 1 < action->text().size())
            taken.insert(action->text()[at + 1].toLower());
    for (QAction* action : menu.actions()) {
        QString text = action->text();
        if (action->isSeparator() || text.contains(QLatin1Char('&')))
            continue;
        const qsizetype at = freeLetter(text, taken);
        if (at < 0)
            continue;
        taken.insert(text[at].toLower());
        action->setText(text.insert(at, QLatin1Char('&')));
    }
}

} // namespace

WindowMenus::WindowMenus(MainWindow& window) : QObject(&window), window_(window)
{
    makeFile();
    makeEdit();
    makeView();
    makeTools();
    makeHelp();
    for (QMenu* menu : window_.menuBar()->findChildren<QMenu*>())
        connect(menu, &QMenu::aboutToShow, menu, [menu] { giveAccessKeys(*menu); });
    QApplication::instance()->installEventFilter(this);
}

// Text fields claim some combinations for editing (Ctrl+E moves to the end of the line on X11) before menus
// see them. A command of the window keeps its key wherever the cursor is.
bool WindowMenus::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() != QEvent::ShortcutOverride)
        return QObject::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    const QKeySequence pressed(key->keyCombination());
    if (!commands_.contains(pressed) || QApplication::activeModalWidget() != nullptr)
        return QObject::eventFilter(watched, event);
    event->ignore();
    return true;
}

QAction* WindowMenus::add(QMenu* menu, const QString& text, const QKeySequence& keys,
                          const std::function<void()>& does)
{
    QAction* action = menu->addAction(text, keys, this, does);
    if (!keys.isEmpty() && keys[0].keyboardModifiers().testAnyFlags(Qt::ControlModifier | Qt::AltModifier))
        commands_.insert(keys);
    setKeyTip(*action);
    return action;
}

void WindowMenus::makeFile()
{
    QMenu* file = window_.menuBar()->addMenu(tr("&File"));
    add(file, tr("Open…"), QKeySequence::Open, [this] { window_.chooseFiles(); });
    add(file, tr("Open folder…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O),
        [this] { window_.chooseFolder(); });
    add(file, tr("Open on host…"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_O),
        [this] { window_.chooseOnHost(); });
    add(file, tr("Record a program…"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_R),
        [this] { window_.recordProgram(); });
    recent_ = file->addMenu(tr("Open recent"));
    connect(recent_, &QMenu::aboutToShow, this, &WindowMenus::fillRecent);
    QAction* const ofFile[] = {
        add(file, tr("Save As…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S),
            [this] { window_.saveAs(); }),
        add(file, tr("Close file"), QKeySequence(Qt::CTRL | Qt::Key_W), [this] { window_.closeFile(); }),
        add(file, tr("Write report…"), {}, [this] { window_.writeReport(); })};
    for (QAction* action : ofFile) {
        const auto follow = [this, action] { action->setEnabled(!window_.workspace().files().empty()); };
        connect(&window_.workspace(), &Workspace::filesChanged, action, follow);
        follow();
    }
    file->addSeparator();
    add(file, tr("Export…"), QKeySequence(Qt::CTRL | Qt::Key_E), [this] { window_.exportPage(); });
    file->addSeparator();
    add(file, tr("Quit"), QKeySequence(Qt::CTRL | Qt::Key_Q), [this] { window_.close(); });
}

void WindowMenus::fillRecent()
{
    recent_->clear();
    const QStringList files = RecentFiles::read();
    for (const QString& path : files) {
        const QFileInfo info(path);
        QString text = QStringLiteral("%1   %2").arg(info.fileName(), QDir::toNativeSeparators(info.path()));
        QAction* action = recent_->addAction(text.replace(QLatin1Char('&'), QStringLiteral("&&")), &window_,
                                             [this, path] { window_.open({path}); });
        action->setEnabled(info.exists());
    }
    if (files.isEmpty())
        recent_->addAction(tr("No file was opened yet"))->setEnabled(false);
}

void WindowMenus::makeEdit()
{
    QMenu* edit = window_.menuBar()->addMenu(tr("&Edit"));
    RunEdits& edits = window_.dock().edits();
    ViewHistory& history = window_.workspace().history();
    QAction* undo = add(edit, tr("Undo"), QKeySequence::Undo, [&history] { history.undo(); });
    QAction* redo =
        add(edit, tr("Redo"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), [&history] { history.redo(); });
    for (const QAction* action : {undo, redo})
        commands_.erase(action->shortcut()); // text fields undo their own changes
    const auto followHistory = [undo, redo, &history] {
        const std::pair<QAction*, QString> actions[] = {{undo, history.undoName()},
                                                        {redo, history.redoName()}};
        for (const auto& [action, name] : actions) {
            action->setEnabled(!name.isEmpty());
            const QString verb = action == undo ? tr("Undo") : tr("Redo");
            action->setText(name.isEmpty() ? verb : QStringLiteral("%1 %2").arg(verb, name));
        }
    };
    connect(&history, &ViewHistory::changed, this, followHistory);
    followHistory();
    connect(&edits, &RunEdits::done, this,
            [this](const QString& sentence) { window_.statusBar()->showMessage(sentence, kMessageMs); });
    connect(&edits, &RunEdits::failed, this,
            [this](const QString& reason) { QMessageBox::warning(&window_, tr("Tilescope"), reason); });
    add(edit, tr("Copy page as image"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
        [this] { QApplication::clipboard()->setPixmap(window_.currentPage()->grab()); });
    add(edit, tr("Copy page as command"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_C), [this] {
        const QString command = window_.currentPage()->command();
        if (!command.isEmpty())
            QApplication::clipboard()->setText(command);
        window_.statusBar()->showMessage(command.isEmpty() ? tr("No command prints what this page shows.")
                                                           : tr("Copied: %1").arg(command),
                                         kMessageMs);
    });
    edit->addSeparator();
    add(edit, tr("Find on this page"), QKeySequence(Qt::Key_Slash), [this] {
        if (!window_.currentPage()->startFind())
            window_.statusBar()->showMessage(tr("There is nothing to find on this page."), kMessageMs);
    });
    add(edit, tr("Filter the run list"), QKeySequence(Qt::CTRL | Qt::Key_L),
        [this] { window_.dock().focusFilter(); });
    add(edit, tr("Find a command…"), QKeySequence(Qt::CTRL | Qt::Key_K),
        [this] { (new CommandPalette(window_))->show(); });
}

void WindowMenus::makeView()
{
    QMenu* view = window_.menuBar()->addMenu(tr("&View"));
    const QStringList names = window_.pageNames();
    for (int i = 0; i < names.size(); ++i)
        add(view, window_.pageTitle(names[i]), pageKey(i),
            [this, name = names[i]] { window_.showPage(name); });
    view->addSeparator();
    QAction* clear = add(view, tr("Clear the time filter"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_T),
                         [this] { window_.workspace().setTimeFilter({}); });
    const auto follow = [this, clear] { clear->setEnabled(!window_.workspace().timeFilter().empty()); };
    connect(&window_.workspace(), &Workspace::timeFilterChanged, clear, follow);
    follow();
    QAction* all = view->addAction(tr("All steps"), &window_.workspace(), &Workspace::setAllSteps);
    all->setCheckable(true);
    all->setToolTip(tr("Means of recordings are of all steps, also of those that start up or compile"));
    const auto followSteps = [this, all] { all->setChecked(window_.workspace().allSteps()); };
    connect(&window_.workspace(), &Workspace::processChanged, all, followSteps);
    const auto followFiles = [this, all] { all->setEnabled(!window_.workspace().files().empty()); };
    connect(&window_.workspace(), &Workspace::filesChanged, all, followFiles);
    followFiles();
    QMenu* theme = view->addMenu(tr("Theme"));
    auto* group = new QActionGroup(theme);
    const std::pair<QString, ThemeChoice> choices[] = {{tr("Like the system"), ThemeChoice::System},
                                                       {tr("Light"), ThemeChoice::Light},
                                                       {tr("Dark"), ThemeChoice::Dark}};
    for (const auto& [text, choice] : choices) {
        QAction* action = theme->addAction(text, this, [choice = choice] {
            Theme::instance().change(choice);
            QSettings().setValue(QStringLiteral("theme"), int(choice));
        });
        action->setCheckable(true);
        action->setChecked(Theme::instance().choice() == choice);
        group->addAction(action);
    }
    QAction* list = window_.dock().toggleViewAction();
    list->setText(tr("Run list"));
    view->addAction(list);
    add(view, tr("Full screen"), QKeySequence(Qt::Key_F11),
        [this] { window_.setWindowState(window_.windowState() ^ Qt::WindowFullScreen); });
}

// What the command line has and no page shows by itself.
void WindowMenus::makeTools()
{
    QMenu* tools = window_.menuBar()->addMenu(tr("&Tools"));
    const auto timeline = [this]() -> TimelinePage& {
        window_.showPage(QStringLiteral("timeline"));
        return dynamic_cast<TimelinePage&>(*window_.currentPage());
    };
    QAction* const ofRun[] = {
        add(tools, tr("Critical path on the timeline"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_P),
            [timeline] { timeline().path().action()->toggle(); }),
        add(tools, tr("What if some work took another time…"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_W),
            [this] {
                auto* dialog = new WhatIfDialog(window_.workspace().selectedRuns().front(), &window_);
                dialog->setAttribute(Qt::WA_DeleteOnClose);
                dialog->show();
            }),
        add(tools, tr("Counters on the timeline"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_N),
            [timeline] {
                TimelineView& view = timeline().view();
                if (!view.scene().sections.empty())
                    view.toggleCounters(view.commandSection());
            }),
        add(tools, tr("Measure an op alone (replay)…"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_L),
            [this] { runCommand(Command::Replay); })};
    tools->addSeparator();
    QAction* const ofFile[] = {
        add(tools, tr("Export for another program (Perfetto, PyTorch, Arrow, speedscope)…"),
            QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_E), [this] { runCommand(Command::Export); }),
        add(tools, tr("Share as a web page…"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_S),
            [this] { runCommand(Command::Share); }),
        add(tools, tr("Merge the open recordings…"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_M),
            [this] { runCommand(Command::Merge); }),
        add(tools, tr("Verify the recording…"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_V),
            [this] { runCommand(Command::Verify); }),
        add(tools, tr("Compact the recording…"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_K),
            [this] { runCommand(Command::Compact); })};
    tools->addSeparator();
    add(tools, tr("Compile the models of a spec…"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_B),
        [this] { runCommand(Command::Compile); });
    add(tools, tr("Hosts…"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_H),
        [this] { dynamic_cast<ExperimentPage&>(*window_.page(QStringLiteral("experiment"))).showHosts(); });
    for (QAction* action : ofRun) {
        const auto follow = [this, action] { action->setEnabled(!window_.workspace().selection().empty()); };
        connect(&window_.workspace(), &Workspace::selectionChanged, action, follow);
        follow();
    }
    for (QAction* action : ofFile) {
        const auto follow = [this, action] { action->setEnabled(!window_.workspace().files().empty()); };
        connect(&window_.workspace(), &Workspace::filesChanged, action, follow);
        follow();
    }
}

void WindowMenus::runCommand(Command command)
{
    QStringList files;
    for (const OpenFile& file : window_.workspace().files())
        files << QString::fromStdString(file.file->path().string());
    auto* dialog = new CommandDialog(command, window_.workspace().selectedRuns(), files, &window_);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &CommandDialog::recordingWritten, &window_,
            [this](const QString& file) { window_.open({file}); });
    connect(dialog, &CommandDialog::recordingReplaced, &window_, [this](const QString& file) {
        for (const OpenFile& open : window_.workspace().files())
            if (QString::fromStdString(open.file->path().string()) == file)
                return window_.workspace().refresh(open.id);
    });
    dialog->show();
}

void WindowMenus::makeHelp()
{
    QMenu* help = window_.menuBar()->addMenu(tr("&Help"));
    add(help, tr("Help on this page"), QKeySequence(Qt::Key_F1),
        [this] { window_.showHelp(window_.currentPageName()); });
    add(help, tr("All keys"), QKeySequence(Qt::Key_Question), [this] {
        auto* sheet = new KeySheet(window_);
        sheet->setAttribute(Qt::WA_DeleteOnClose);
        sheet->show();
    });
    add(help, tr("Keys and mouse"), QKeySequence(Qt::SHIFT | Qt::Key_F1),
        [this] { window_.showHelp(QStringLiteral("keys")); });
    help->addSeparator();
    add(help, tr("About Tilescope"), {}, [this] {
        QMessageBox::about(
            &window_, tr("About Tilescope"),
            tr("Tilescope %1, a laboratory for transformer and attention experiments.\n\nQt %2")
                .arg(QString::fromStdString(version()), QLatin1String(qVersion())));
    });
}

} // namespace tilescope::ui
