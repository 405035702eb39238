#include "session.h"

#include "ui/jobs/job_tracker.h"
#include "ui/window/main_window.h"
#include "ui/window/run_dock.h"
#include "ui/window/run_tree_model.h"

#include <QAction>
#include <QLineEdit>
#include <QMenu>
#include <QScrollBar>
#include <QTest>
#include <QTreeView>

#include <cstdio>

namespace tilescope::bench {

namespace {

constexpr auto kSettle = std::chrono::milliseconds(400);

/// Uses the run list in every way and notes, for each, how long the window was deaf at most.
class RunListSession {
public:
    RunListSession(WatchedApplication& application, ui::MainWindow& window)
        : application_(application), window_(window), tree_(*window.dock().findChild<QTreeView*>()),
          model_(*qobject_cast<ui::RunTreeModel*>(tree_.model())),
          filter_(*window.dock().findChild<QLineEdit*>())
    {
    }

    QJsonObject use(int rounds)
    {
        step("open", [] {});
        for (int round = 0; round < rounds; ++round) {
            step("scroll", [this] { scroll(); });
            step("filter", [this] { type(QStringLiteral("backend=flash seq_len=1024,2048 s")); });
            step("clear", [this] { filter_.clear(); });
            step("sort", [this] {
                tree_.sortByColumn(ui::RunTreeModel::Step, Qt::DescendingOrder);
                rest(kSettle);
                tree_.sortByColumn(ui::RunTreeModel::Run, Qt::AscendingOrder);
            });
            step("click", [this] { clickMany(); });
            step("fold", [this] {
                for (const QModelIndex& branch : model_.branches()) {
                    tree_.collapse(branch);
                    rest(std::chrono::milliseconds(20));
                    tree_.expand(branch);
                    rest(std::chrono::milliseconds(20));
                }
            });
            step("menus", [this] { openMenus(); });
            step("refresh", [this] { window_.workspace().refresh(window_.workspace().files().front().id); });
        }
        step("select_all", [this] { window_.workspace().select(model_.runsBelow(model_.index(0, 0))); });
        return std::move(figures_);
    }

private:
    void step(const char* name, const std::function<void()>& does)
    {
        does();
        rest(kSettle);
        const WatchedApplication::Blocks blocks = application_.takeBlocks();
        const QString key = QString::fromLatin1(name) + QStringLiteral("_longest_ms");
        if (blocks.longestMs > figures_[key].toDouble()) {
            figures_[key] = blocks.longestMs;
            std::printf("%-12s %6.1f ms in %s\n", name, blocks.longestMs, blocks.longestIn.constData());
        }
        const QString count = QStringLiteral("over_50_ms");
        figures_[count] = figures_[count].toInt() + blocks.wall;
    }

    void scroll()
    {
        QScrollBar& bar = *tree_.verticalScrollBar();
        for (int i = 0; i <= 50; ++i) {
            bar.setValue(bar.maximum() * i / 50);
            rest(std::chrono::milliseconds(10));
        }
    }

    void type(const QString& words)
    {
        filter_.setFocus();
        for (const QChar letter : words) {
            QTest::keyClick(&filter_, letter.toLatin1());
            rest(std::chrono::milliseconds(30));
        }
    }

    void clickMany()
    {
        for (int y = 60; y < tree_.viewport()->height(); y += 60) {
            QTest::mouseClick(tree_.viewport(), Qt::LeftButton, {}, {80, y});
            rest(std::chrono::milliseconds(100));
        }
    }

    void openMenus()
    {
        for (const QModelIndex& row : {model_.index(0, 0), model_.index(0, 0, model_.index(0, 0))}) {
            QMenu menu;
            window_.dock().fillMenu(menu, row);
            rest(std::chrono::milliseconds(20));
        }
    }

    WatchedApplication& application_;
    ui::MainWindow& window_;
    QTreeView& tree_;
    ui::RunTreeModel& model_;
    QLineEdit& filter_;
    QJsonObject figures_;
};

} // namespace

QJsonObject measureRunList(WatchedApplication& application, const QString& file, int rounds)
{
    ui::MainWindow window;
    window.move(0, 0);
    window.resize(1920, 1080);
    window.showPage(QStringLiteral("timeline"));
    window.show();
    rest(kSettle);
    application.takeBlocks();
    window.open({file});
    runUntil("the runs are listed", [&] { return !window.workspace().selection().empty(); });
    const auto runs = int(window.workspace().files().front().snapshot->runs.size());
    QJsonObject figures = RunListSession(application, window).use(rounds);
    figures[QStringLiteral("runs")] = runs;
    ui::finishBackgroundWork();
    return figures;
}

} // namespace tilescope::bench
