// No dialog, list or drag of the window makes it lose its locks on an open recording.

#include "core/model/strings.h"
#include "core/store/run_writer.h"
#include "tests/ui/window_fixture.h"
#include "ui/experiment/experiment_page.h"
#include "ui/kit/file_dialog.h"
#include "ui/window/drop_box.h"
#include "ui/window/file_opener.h"
#include "ui/window/recent_files.h"

#include <QComboBox>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileSystemModel>
#include <QMenuBar>
#include <QMimeData>
#include <QTreeView>
#include <QUrl>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>

namespace tilescope::ui {
namespace {

namespace fs = std::filesystem;

/// The POSIX locks that this process holds on a file.
int locksOn(const fs::path& file)
{
    struct stat status {};
    if (stat(file.c_str(), &status) != 0)
        return -1;
    std::ifstream in("/proc/locks");
    int locks = 0;
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string number, kind, mode, access, node;
        long pid = 0;
        words >> number >> kind >> mode >> access >> pid >> node;
        const std::size_t colon = node.rfind(':');
        if (kind == "POSIX" && pid == getpid() && colon != std::string::npos &&
            node.substr(colon + 1) == std::to_string(status.st_ino))
            ++locks;
    }
    return locks;
}

class LocksWindow : public WindowTest {
protected:
    void SetUp() override
    {
        WindowTest::SetUp();
        // A run that is being written keeps the file in WAL mode, in which every connection holds a lock.
        const std::size_t before = window_.workspace().files().front().snapshot->runs.size();
        writer_ = std::make_unique<store::RunWriter>(file(), strings_);
        writer_->beginRun({"live", "lm", R"({"workload":"lm"})", "hash", "test"});
        writer_->commit();
        window_.workspace().refresh(window_.workspace().files().front().id);
        ASSERT_TRUE(QTest::qWaitFor(
            [&] { return window_.workspace().files().front().snapshot->runs.size() == before + 1; },
            kTimeoutMs));
        waitUntilSettled();
        held_ = locksOn(file());
        ASSERT_GT(held_, 0);
    }

    fs::path file() const { return folder_ / "lm.tscope"; }
    QString path(const char* name) const { return QString::fromStdString((folder_ / name).string()); }

    void expectHeld(const char* after)
    {
        waitUntilSettled();
        EXPECT_EQ(locksOn(file()), held_) << after;
    }

    /// Opens a dialog, waits until it lists the recording with its type and cancels it.
    void walk(const char* what, const std::function<void()>& open)
    {
        bool listed = false;
        QTimer::singleShot(0, &window_, [&] {
            auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
            ASSERT_NE(dialog, nullptr) << what;
            EXPECT_TRUE(dialog->testOption(QFileDialog::DontUseNativeDialog)) << what;
            dialog->setDirectory(QString::fromStdString(folder_.path().string()));
            dialog->setNameFilter(QStringLiteral("All files (*)"));
            dialog->setViewMode(QFileDialog::Detail);
            auto* files = dialog->findChild<QFileSystemModel*>();
            ASSERT_NE(files, nullptr) << what;
            listed = QTest::qWaitFor(
                [&] {
                    const QModelIndex type = files->index(path("lm.tscope")).siblingAtColumn(2);
                    return type.isValid() && !type.data().toString().isEmpty();
                },
                kTimeoutMs);
            QTest::qWait(50); // its thread looks at the files one after the other
            dialog->reject();
        });
        open();
        EXPECT_TRUE(listed) << what;
        expectHeld(what);
    }

    QAction& action(const QString& text)
    {
        for (const QAction* menu : window_.menuBar()->actions())
            for (QAction* each : menu->menu()->actions())
                if (each->text() == text)
                    return *each;
        throw std::runtime_error("no action " + text.toStdString());
    }

    StringTable strings_;
    std::unique_ptr<store::RunWriter> writer_;
    int held_ = 0;
};

TEST_F(LocksWindow, NoDialogDropsThem)
{
    walk("Open", [this] { action(QStringLiteral("Open…")).trigger(); });
    walk("open a file", [this] { fileToOpen(&window_, QStringLiteral("Open"), path(".")); });
    walk("open files", [this] { filesToOpen(&window_, QStringLiteral("Open"), {}); });
    walk("save", [this] { fileToSave(&window_, QStringLiteral("Save"), path("new.pdf"), {}); });
    walk("Save As",
         [this] { window_.findChild<FileOpener*>()->saveAs(window_.workspace().files().front().id); });
}

TEST_F(LocksWindow, NoDialogOfFoldersDropsThem)
{
    bool isShown = false;
    QTimer::singleShot(0, &window_, [&] {
        auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
        ASSERT_NE(dialog, nullptr);
        dialog->setDirectory(QString::fromStdString(folder_.path().string()));
        isShown = true;
        QTest::qWait(200);
        dialog->reject();
    });
    folderToOpen(&window_, QStringLiteral("Folder"), path("."));
    EXPECT_TRUE(isShown);
    expectHeld("choose a folder");
}

TEST_F(LocksWindow, NoDragAndNoListDropsThem)
{
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path("lm.tscope"))});
    QDragEnterEvent enter(QPoint(200, 200), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &enter);
    EXPECT_EQ(dropWords(draggedPaths(data)), QStringLiteral("Open lm.tscope"));
    QDragLeaveEvent leave;
    QApplication::sendEvent(&window_, &leave);
    expectHeld("drag");
    window_.open({path("lm.tscope")});
    expectHeld("open again");
    EXPECT_TRUE(RecentFiles::read().contains(path("lm.tscope")));
    RecentFiles::savePreview(path("lm.tscope"), QImage(10, 10, QImage::Format_RGB32));
    expectHeld("recent files");
}

TEST_F(LocksWindow, ARecordingIsNoSpecAndStaysUnread)
{
    window_.showPage(QStringLiteral("experiment"));
    page<ExperimentPage>("experiment").openSpec(path("lm.tscope"));
    expectHeld("open it as a spec");
}

TEST_F(LocksWindow, AllDialogsOfFilesAreMadeInOnePlace)
{
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(fs::path(TILESCOPE_SOURCE_DIR) / "ui")) {
        if (entry.path().extension() != ".cpp" || entry.path().filename() == "file_dialog.cpp")
            continue;
        std::ifstream in(entry.path());
        const std::string text((std::istreambuf_iterator<char>(in)), {});
        for (const char* way : {"QFileDialog::get", "QFileDialog dialog", "new QFileDialog"})
            EXPECT_EQ(text.find(way), std::string::npos) << entry.path() << ": " << way;
    }
}

TEST_F(LocksWindow, TheWatchSeesAFileThatIsOpenedAndClosed)
{
    {
        std::ifstream in(file(), std::ios::binary);
        in.get();
    }
    EXPECT_LT(locksOn(file()), held_) << "or the other tests could not fail";
}

} // namespace
} // namespace tilescope::ui
