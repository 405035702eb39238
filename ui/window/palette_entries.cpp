#include "ui/window/palette_entries.h"

#include "core/base/error.h"
#include "ui/kit/key_actions.h"
#include "ui/kit/page.h"
#include "ui/window/help_page.h"
#include "ui/window/main_window.h"

#include <QAction>
#include <QMenu>
#include <QMenuBar>
#include <QPointer>

#include <set>

namespace tilescope::ui {

namespace {

QString plain(QString text)
{
    return text.remove(QLatin1Char('&'));
}

class Collector {
public:
    explicit Collector(MainWindow& window) : window_(window) {}

    std::vector<PaletteEntry> collect()
    {
        for (const QAction* bar : window_.menuBar()->actions())
            if (bar->menu() != nullptr)
                addMenu(*bar->menu(), {});
        for (QAction* action : window_.currentPage()->findChildren<QAction*>())
            addAction(*action, {});
        addRuns();
        addHelp();
        return std::move(entries_);
    }

private:
    void addMenu(QMenu& menu, const QString& path)
    {
        emit menu.aboutToShow(); // some menus are filled when they open
        for (QAction* action : menu.actions()) {
            if (action->menu() != nullptr)
                addMenu(*action->menu(), plain(action->text()) + QStringLiteral(": "));
            else
                addAction(*action, path);
        }
    }

    void addAction(QAction& action, const QString& path)
    {
        const QString text = path + plain(action.text());
        if (action.isSeparator() || !action.isEnabled() || action.text().isEmpty() ||
            !actions_.insert(text).second)
            return;
        entries_.push_back(
            {PaletteEntry::Kind::Action, text, keysText(action), [action = QPointer<QAction>(&action)] {
                 if (action)
                     action->trigger();
             }});
    }

    void addRuns()
    {
        for (const OpenFile& file : window_.workspace().files()) {
            if (!file.snapshot)
                continue;
            const RunTitles& titles = file.groups->titles();
            for (const query::RunSummary& run : file.snapshot->runs)
                entries_.push_back({PaletteEntry::Kind::Run,
                                    QStringLiteral("#%1 %2").arg(run.run.value).arg(titles.of(run, true)),
                                    file.name(), [window = &window_, key = RunKey{file.id, run.run}] {
                                        window->workspace().select({key});
                                    }});
        }
    }

    void addHelp()
    {
        try {
            for (const HelpTopic& topic : helpTopics())
                entries_.push_back(
                    {PaletteEntry::Kind::Help, topic.title, {}, [window = &window_, name = topic.name] {
                         window->showHelp(name);
                     }});
        } catch (const Error&) {
            return; // the page Help says why it cannot be read
        }
    }

    MainWindow& window_;
    std::vector<PaletteEntry> entries_;
    std::set<QString> actions_;
};

} // namespace

std::vector<PaletteEntry> paletteEntries(MainWindow& window)
{
    return Collector(window).collect();
}

QString wordOf(PaletteEntry::Kind kind)
{
    switch (kind) {
    case PaletteEntry::Kind::Action:
        return QObject::tr("Action");
    case PaletteEntry::Kind::Run:
        return QObject::tr("Run");
    case PaletteEntry::Kind::Kernel:
        return QObject::tr("Kernel");
    case PaletteEntry::Kind::Help:
        return QObject::tr("Help");
    }
    return {};
}

} // namespace tilescope::ui
