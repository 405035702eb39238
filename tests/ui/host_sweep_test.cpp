// Sweeps on another machine from the window, over a real sshd on the loopback interface, with a fake engine there.

#include "core/hosts/host_check.h"
#include "core/hosts/host_list.h"
#include "core/store/run_reader.h"
#include "tests/ui/experiment_window.h"
#include "tests/ui/test_application.h"
#include "tests/unit/hosts/sshd.h"
#include "ui/hosts/host_box.h"
#include "ui/hosts/host_dialog.h"
#include "ui/hosts/host_steps.h"
#include "ui/hosts/hosts_dialog.h"
#include "ui/hosts/remote_file_dialog.h"
#include "ui/kit/workspace.h"

#include <QCheckBox>
#include <QComboBox>
#include <QSpinBox>

#include <filesystem>
#include <fstream>
#include <utility>

namespace tilescope::ui {
namespace {

namespace fs = std::filesystem;
using Verdict = machine::Finding::Verdict;

/// One server for all tests: copying the programs of a build there takes seconds.
class HostWindow : public ExperimentWindow {
protected:
    static void SetUpTestSuite()
    {
        if (!testing::Sshd::whyMissing().empty())
            return;
        sshd = std::make_unique<testing::Sshd>();
        for (const auto& [name, value] : sshd->environment())
            setenv(name.c_str(), value.c_str(), 1);
    }
    static void TearDownTestSuite()
    {
        if (sshd)
            testing::runProgram({"/bin/sh", "-c", "ssh -O exit gpubox"}, sshd->home(), sshd->environment());
        sshd.reset();
    }
    void SetUp() override
    {
        if (!sshd)
            GTEST_SKIP() << testing::Sshd::whyMissing();
        fs::remove(sshd->remote() / "gate");
        engineDoes("ok");
        ExperimentWindow::SetUp();
        page->setHost(QStringLiteral("gpubox"));
        queue = &page->queues().of(QStringLiteral("gpubox"));
    }

    /// What the engine there does, by the seed of a point.
    static void engineDoes(const std::string& script)
    {
        hosts::HostList list = hosts::HostList::ofUser();
        list.add({.name = "gpubox",
                  .address = "gpubox",
                  .setUp = {std::string("export TILESCOPE_ENGINE=") + FAKE_ENGINE,
                            "export FAKE_SCRIPT=" + script, "export FAKE_GATE=$HOME/gate"}});
        list.save();
    }
    static void openGateThere() { std::ofstream(sshd->remote() / "gate") << "open"; }

    /// Types a sweep over seeds and presses Run.
    void runThere(const QString& seeds, int steps = 3)
    {
        type(QStringLiteral("name: far\nworkload: attention\nseq_len: 64\ndevice: cpu\nsteps: %1\nsweep: "
                            "{seed: %2}")
                 .arg(steps)
                 .arg(seeds));
        ASSERT_TRUE(QTest::qWaitFor([this] { return runButton->isEnabled(); }, kTimeoutMs)) << verdict();
        QTest::mouseClick(runButton, Qt::LeftButton);
        ASSERT_TRUE(queue->isRunning());
        EXPECT_FALSE(page->isRunning()) << "nothing runs here";
    }
    bool waitForEndThere()
    {
        return QTest::qWaitFor([this] { return !queue->isRunning(); }, kTimeoutMs);
    }
    bool waitForPlace(PlaceState::Kind kind)
    {
        return QTest::qWaitFor([&] { return queue->place().kind == kind; }, kTimeoutMs);
    }
    static void photograph(QWidget& widget, const char* name)
    {
        const QByteArray where = qgetenv("TILESCOPE_TEST_PICTURES");
        if (where.isEmpty())
            return;
        for (const auto& [choice, suffix] :
             {std::pair(ThemeChoice::Dark, "dark"), std::pair(ThemeChoice::Light, "light")}) {
            Theme::instance().apply(choice);
            QTest::qWait(50);
            EXPECT_TRUE(widget.grab().save(
                QStringLiteral("%1/%2_%3.png")
                    .arg(QString::fromLocal8Bit(where), QLatin1String(name), QLatin1String(suffix))));
        }
    }
    /// The view of the host: the second, after that of this machine.
    QWidget& view() const { return *page->findChildren<QPlainTextEdit*>(QStringLiteral("log")).last(); }
    std::string statusThere() const
    {
        return page->findChildren<QLabel*>(QStringLiteral("status")).last()->text().toStdString();
    }
    std::string logThere() const { return dynamic_cast<QPlainTextEdit&>(view()).toPlainText().toStdString(); }
    std::vector<RunStatus> stored() const
    {
        std::vector<RunStatus> list;
        for (const store::RunRecord& record : store::RunReader(output.toStdString()).runs())
            list.push_back(record.result.status);
        return list;
    }
    std::size_t jobsThere() const
    {
        std::error_code none;
        const fs::directory_iterator jobs(sshd->remote() / ".cache/tilescope/jobs", none);
        return none ? 0 : std::size_t(std::distance(begin(jobs), end(jobs)));
    }
    /// The request has arrived there.
    static bool wasSignalledThere()
    {
        std::error_code none;
        return std::ranges::any_of(fs::directory_iterator(sshd->remote() / ".cache/tilescope/jobs", none),
                                   [](const fs::directory_entry& job) {
                                       std::error_code gone;
                                       return fs::exists(job.path() / "signal", gone);
                                   });
    }
    void openAgain()
    {
        window.reset();
        window = std::make_unique<MainWindow>();
        window->resize(1400, 900);
        window->show();
        page = qobject_cast<ExperimentPage*>(window->page(QStringLiteral("experiment")));
        window->showPage(QStringLiteral("experiment"));
        queue = &page->queues().of(QStringLiteral("gpubox"));
    }

    static inline std::unique_ptr<testing::Sshd> sshd;
    SweepQueue* queue = nullptr;
};

TEST_F(HostWindow, RunsASweepThereAndBringsItHome)
{
    engineDoes("ok,gate");
    fs::remove_all(sshd->remote() / ".cache");
    runThere(QStringLiteral("[0, 1, 2]"));
    picture("host_connecting");
    EXPECT_TRUE(QTest::qWaitFor(
        [this] { return queue->place().kind == PlaceState::Kind::Installing || queue->place().fraction > 0; },
        kTimeoutMs));
    picture("host_installing");
    picture("host_installing_small", {1067, 667});
    ASSERT_TRUE(QTest::qWaitFor(
        [this] {
            return logThere().find("2 of 3") != std::string::npos ||
                   logThere().find("Point 1 of 3") != std::string::npos;
        },
        kTimeoutMs))
        << logThere();
    picture("host_running");
    picture("host_running_small", {1067, 667});
    EXPECT_TRUE(QTest::qWaitFor([this] { return runsWith(RunStatus::Ok) == 1; }, kTimeoutMs))
        << "what has ended is here while the sweep goes on";
    openGateThere();
    ASSERT_TRUE(waitForEndThere());
    EXPECT_THAT(statusThere(), HasSubstr("3 of 3 points"));
    EXPECT_THAT(logThere(), HasSubstr("3 runs of gpubox added to out.tscope"));
    EXPECT_EQ(stored(), (std::vector<RunStatus>(3, RunStatus::Ok)));
    ASSERT_TRUE(QTest::qWaitFor([this] { return runsWith(RunStatus::Ok) == 3; }, kTimeoutMs));
    EXPECT_EQ(jobsThere(), 0U);
    picture("host_done");
}

TEST_F(HostWindow, GoesOnWhenTheConnectionBreaks)
{
    engineDoes("ok,gate,ok,gate");
    runThere(QStringLiteral("[0, 1, 2, 3]"));
    ASSERT_TRUE(
        QTest::qWaitFor([this] { return logThere().find("Point 1 of 4") != std::string::npos; }, kTimeoutMs));
    sshd->stop();
    ASSERT_TRUE(waitForPlace(PlaceState::Kind::Lost));
    EXPECT_TRUE(QTest::qWaitFor(
        [this] { return statusThere().find("gpubox is out of reach since") != std::string::npos; },
        kTimeoutMs));
    picture("host_offline");
    picture("host_offline_small", {1067, 667});
    openGateThere();
    sshd->start();
    ASSERT_TRUE(waitForEndThere());
    EXPECT_EQ(stored(), (std::vector<RunStatus>(4, RunStatus::Ok))) << statusThere();
    EXPECT_EQ(jobsThere(), 0U);
}

TEST_F(HostWindow, PausesAfterThePointAndGoesOnWithTheRest)
{
    engineDoes("gate,ok");
    runThere(QStringLiteral("[0, 1, 2]"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return statusThere().find("0 of 3 points") != std::string::npos; },
                                kTimeoutMs));
    button("pause")->click();
    EXPECT_EQ(queue->state(), SweepQueue::State::Pausing);
    EXPECT_TRUE(QTest::qWaitFor([this] { return wasSignalledThere(); }, kTimeoutMs));
    openGateThere();
    ASSERT_TRUE(waitForEndThere());
    EXPECT_EQ(queue->state(), SweepQueue::State::Held) << statusThere();
    const std::size_t first = stored().size();
    EXPECT_EQ(first, 1U) << logThere();
    EXPECT_EQ(jobsThere(), 0U);
    button("pause")->click();
    ASSERT_TRUE(QTest::qWaitFor([this] { return queue->state() == SweepQueue::State::Idle; }, kTimeoutMs));
    EXPECT_EQ(stored(), (std::vector<RunStatus>(3, RunStatus::Ok)));
}

TEST_F(HostWindow, CancelsThere)
{
    engineDoes("slow");
    runThere(QStringLiteral("[0, 1]"), 100'000);
    ASSERT_TRUE(
        QTest::qWaitFor([this] { return statusThere().find("measure") != std::string::npos; }, kTimeoutMs));
    QTest::mouseClick(cancelButton, Qt::LeftButton);
    ASSERT_TRUE(waitForEndThere());
    EXPECT_THAT(statusThere(), HasSubstr("Cancelled"));
    EXPECT_EQ(stored(), std::vector<RunStatus>{RunStatus::Cancelled});
    EXPECT_EQ(jobsThere(), 0U);
}

TEST_F(HostWindow, FollowsASweepAgainAfterARestart)
{
    engineDoes("ok,gate");
    runThere(QStringLiteral("[0, 1]"));
    ASSERT_TRUE(
        QTest::qWaitFor([this] { return logThere().find("Point 1 of 2") != std::string::npos; }, kTimeoutMs));
    openAgain();
    ASSERT_TRUE(QTest::qWaitFor([this] { return queue->isRunning(); }, kTimeoutMs));
    EXPECT_EQ(queue->current()->name, "far");
    openGateThere();
    ASSERT_TRUE(waitForEndThere());
    EXPECT_EQ(stored(), (std::vector<RunStatus>(2, RunStatus::Ok)));
    EXPECT_EQ(jobsThere(), 0U);
    ASSERT_TRUE(QTest::qWaitFor([this] { return runsWith(RunStatus::Ok) == 2; }, kTimeoutMs));
    openAgain();
    waitUntilSettled();
    QTest::qWait(100);
    EXPECT_FALSE(queue->isRunning()) << "what has arrived is forgotten";
}

TEST_F(HostWindow, RunsHereAndThereSideBySide)
{
    engineDoes("gate");
    runThere(QStringLiteral("[0]"));
    page->setHost({});
    EXPECT_TRUE(runButton->isEnabled()) << "this machine is idle";
    auto* field = page->findChild<QLineEdit*>(QStringLiteral("output"));
    field->setText(QString::fromStdString((folder / "here.tscope").string()));
    QTest::mouseClick(runButton, Qt::LeftButton);
    EXPECT_TRUE(page->isRunning());
    picture("host_side_by_side");
    ASSERT_TRUE(waitForEnd());
    EXPECT_TRUE(queue->isRunning());
    openGateThere();
    ASSERT_TRUE(waitForEndThere());
    EXPECT_EQ(stored().size(), 1U);
    EXPECT_EQ(store::RunReader(folder / "here.tscope").runs().size(), 1U);
}

TEST_F(HostWindow, SaysWhyASweepCannotRunThere)
{
    sshd->stop();
    testing::runProgram({"/bin/sh", "-c", "ssh -O exit gpubox"}, sshd->home(), sshd->environment());
    runThere(QStringLiteral("[0]"));
    ASSERT_TRUE(waitForEndThere());
    EXPECT_THAT(statusThere(), HasSubstr("gpubox: it refuses connections"));
    EXPECT_THAT(statusThere(), HasSubstr("check that its ssh server runs"));
    picture("host_failed");
    picture("host_failed_small", {1067, 667});
    sshd->start();
    engineDoes("ok");
    hosts::HostList list = hosts::HostList::ofUser();
    list.add({.name = "gpubox", .address = "gpubox", .setUp = {"export TILESCOPE_ENGINE=/no/engine"}});
    list.save();
    QTest::mouseClick(runButton, Qt::LeftButton);
    ASSERT_TRUE(waitForEndThere());
    EXPECT_THAT(statusThere(), HasSubstr("gpubox: ")) << logThere();
    EXPECT_THAT(statusThere(), HasSubstr("/no/engine"));
    EXPECT_FALSE(fs::exists(output.toStdString()));
    EXPECT_EQ(jobsThere(), 0U);
}

TEST_F(HostWindow, AddsExaminesAndRemovesAHost)
{
    HostsDialog& dialog = page->showHosts();
    HostDialog& added = dialog.add();
    added.findChild<QLineEdit*>(QStringLiteral("hostName"))->setText(QStringLiteral("second"));
    added.findChild<QLineEdit*>(QStringLiteral("hostAddress"))->setText(QStringLiteral("-oProxyCommand=id"));
    auto* store = added.findChild<QPushButton*>(QStringLiteral("storeHost"));
    EXPECT_FALSE(store->isEnabled()) << "an address that begins with a dash is refused";
    added.findChild<QLineEdit*>(QStringLiteral("hostAddress"))->setText(QStringLiteral("gpubox"));
    EXPECT_TRUE(store->isEnabled());
    added.check();
    QTest::qWait(30);
    photograph(added, "host_dialog_checking");
    ASSERT_TRUE(QTest::qWaitFor([&] { return !added.isChecking(); }, kTimeoutMs));
    const std::vector<machine::Finding>& found = added.findChild<HostSteps*>()->findings();
    ASSERT_GE(found.size(), hosts::kCheckTopics.size());
    EXPECT_EQ(found[0].topic, "connection");
    EXPECT_EQ(found[0].verdict, Verdict::Ok) << found[0].finding;
    const auto torch = std::ranges::find(found, "LibTorch", &machine::Finding::topic);
    EXPECT_EQ(torch->verdict, Verdict::Missing) << "the server has a bare PATH";
    EXPECT_FALSE(torch->remedy.empty());
    QTest::qWait(30);
    photograph(added, "host_dialog_checked");
    store->click();
    EXPECT_TRUE(hosts::HostList::ofUser().find("second")->isStored);
    QTest::qWait(30);
    photograph(dialog, "hosts_dialog");
    auto* box = page->findChild<HostBox*>();
    box->reload();
    EXPECT_GE(box->findData(QStringLiteral("second")), 0);
    dialog.close();
}

TEST_F(HostWindow, SlurmHostsHaveTasksAndMayBeThisMachine)
{
    HostsDialog& dialog = page->showHosts();
    HostDialog& added = dialog.add();
    const auto show = [](QWidget* part) { return part->isVisible(); };
    auto* tasks = added.findChild<QSpinBox*>(QStringLiteral("hostTasks"));
    auto* isLocal = added.findChild<QCheckBox*>(QStringLiteral("hostIsLocal"));
    auto* address = added.findChild<QLineEdit*>(QStringLiteral("hostAddress"));
    auto* kind = added.findChild<QComboBox*>();
    added.findChild<QLineEdit*>(QStringLiteral("hostName"))->setText(QStringLiteral("cluster"));
    address->setText(QStringLiteral("me@login"));
    EXPECT_FALSE(show(tasks) || show(isLocal)) << "fields of Slurm";
    kind->setCurrentIndex(1);
    EXPECT_TRUE(show(tasks) && show(isLocal));
    tasks->setValue(5);
    photograph(added, "host_dialog_slurm");
    isLocal->setChecked(true);
    EXPECT_FALSE(address->isEnabled());
    photograph(added, "host_dialog_local");
    added.findChild<QPushButton*>(QStringLiteral("storeHost"))->click();
    const hosts::Host stored = hosts::HostList::ofUser().get("cluster");
    EXPECT_TRUE(stored.isLocal);
    EXPECT_EQ(stored.tasks, 5);
    EXPECT_EQ(stored.kind, hosts::HostKind::Slurm);

    HostDialog again(stored);
    again.show();
    EXPECT_EQ(again.findChild<QSpinBox*>(QStringLiteral("hostTasks"))->value(), 5);
    auto* stillLocal = again.findChild<QCheckBox*>(QStringLiteral("hostIsLocal"));
    EXPECT_TRUE(stillLocal->isChecked());
    stillLocal->setChecked(false);
    again.findChild<QLineEdit*>(QStringLiteral("hostAddress"))->setText(QStringLiteral("me@login"));
    again.findChild<QPushButton*>(QStringLiteral("storeHost"))->click();
    EXPECT_FALSE(hosts::HostList::ofUser().get("cluster").isLocal);
    EXPECT_EQ(hosts::HostList::ofUser().get("cluster").address, "me@login");
    dialog.close();
}

TEST_F(HostWindow, OpensAFileOfTheHost)
{
    runThere(QStringLiteral("[0]"));
    ASSERT_TRUE(waitForEndThere());
    fs::create_directory(sshd->remote() / "runs");
    fs::rename(output.toStdString(), sshd->remote() / "runs/far.tscope");
    RemoteFileDialog& dialog = window->chooseOnHost();
    dialog.browse(QStringLiteral("gpubox"), {});
    ASSERT_TRUE(QTest::qWaitFor([&] { return !dialog.isReading(); }, kTimeoutMs));
    auto* table = dialog.findChild<TableView*>();
    const auto names = [table] {
        std::vector<std::string> list;
        for (const TableRow& row : table->table().rows)
            list.push_back(row.cells.front().text.toStdString());
        return list;
    };
    EXPECT_THAT(names(), ::testing::Contains("runs/"));
    dialog.browse(QStringLiteral("gpubox"), QStringLiteral("runs"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !dialog.isReading(); }, kTimeoutMs));
    EXPECT_THAT(names(), ::testing::ElementsAre("far.tscope"));
    photograph(dialog, "open_on_host");
    table->setCurrentId(0);
    emit table->activatedRow(0);
    const fs::path copies = fs::path(sshd->home()) / ".cache/tilescope/remote";
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
            return std::ranges::any_of(window->workspace().files(), [&](const OpenFile& file) {
                return file.snapshot && file.file->path().string().starts_with(copies.string());
            });
        },
        kTimeoutMs));
    EXPECT_TRUE(QTest::qWaitFor(
        [this] {
            const auto strips = window->findChildren<QLabel*>(QStringLiteral("message"));
            return std::ranges::any_of(strips, [](const QLabel* label) {
                return label->text().startsWith(QLatin1String("Fetched gpubox:"));
            });
        },
        kTimeoutMs));
    picture("host_file");
}

} // namespace
} // namespace tilescope::ui

int main(int argc, char** argv)
{
    ::testing::InitGoogleMock(&argc, argv);
    const tilescope::testing::TestApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("tilescope-test"));
    QApplication::setOrganizationName(QStringLiteral("tilescope-test"));
    return RUN_ALL_TESTS();
}
