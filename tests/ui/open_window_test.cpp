// Traces of other programs in the window.

#include "core/exchange/import/importer.h"
#include "core/record/working_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/fixture.h"
#include "tests/ui/timeouts.h"
#include "ui/kit/message_strip.h"
#include "ui/kit/table_view.h"
#include "ui/kit/view_history.h"
#include "ui/theme/theme.h"
#include "ui/timeline/timeline_page.h"
#include "ui/window/drop_box.h"
#include "ui/window/file_opener.h"
#include "ui/window/main_window.h"
#include "ui/window/recent_files.h"
#include "ui/window/screenshots.h"
#include "ui/window/start_view.h"

#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QSettings>
#include <QtTest>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <functional>
#include <map>

namespace tilescope::ui {
namespace {

namespace fs = std::filesystem;

void writeTrace(const fs::path& file, int kernels)
{
    std::ofstream out(file);
    out << R"({"schemaVersion": 1, "traceEvents": [)";
    for (int i = 1; i <= kernels; ++i)
        out << (i > 1 ? "," : "")
            << R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": )"
            << i << R"(0.0, "dur": 1.0, "args": {"correlation": )" << i
            << R"(}}, {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": )" << i
            << R"(2.0, "dur": 3.0, "args": {"device": 0, "stream": 7, "correlation": )" << i << "}}";
    out << "]}";
}

class OpenWindowTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        qputenv("XDG_CACHE_HOME", QByteArray::fromStdString((folder_ / "cache").string()));
        writeTrace(folder_ / "a.json", 3);
        writeTrace(folder_ / "b.json", 4);
        window_.show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(&window_, kTimeoutMs));
    }

    QString path(const char* name) const { return QString::fromStdString((folder_ / name).string()); }

    /// Opens the files, as the command line and File > Open do.
    void open(const QStringList& files)
    {
        window_.open(files);
        waitUntilSettled();
    }

    QStringList messages() const
    {
        QStringList texts;
        for (const MessageStrip* strip : window_.findChildren<MessageStrip*>())
            if (const auto* message = strip->findChild<QLabel*>(QStringLiteral("message"));
                message != nullptr && strip->isVisible()) // the others are notices
                texts << message->text();
        return texts;
    }

    QPushButton* button(const QString& text) const
    {
        for (MessageStrip* strip : window_.findChildren<MessageStrip*>())
            for (QPushButton* each : strip->findChildren<QPushButton*>())
                if (each->isVisible() && each->text() == text)
                    return each;
        return nullptr;
    }

    std::vector<fs::path> cached() const
    {
        std::vector<fs::path> files;
        std::error_code error;
        for (const auto& each : fs::directory_iterator(folder_ / "cache" / "tilescope" / "imports", error))
            if (each.path().extension() == ".tscope")
                files.push_back(each.path());
        return files;
    }

    testing::TemporaryFolder folder_;
    MainWindow window_;
};

TEST_F(OpenWindowTest, ATraceOpensUnderItsOwnName)
{
    open({path("a.json")});
    ASSERT_EQ(window_.workspace().files().size(), 1U);
    EXPECT_EQ(window_.workspace().files().front().name(), QStringLiteral("a.json"));
    EXPECT_EQ(window_.workspace().selection().size(), 1U);
    EXPECT_EQ(window_.windowTitle(), QStringLiteral("a.json – Tilescope"));
    EXPECT_EQ(messages(), QStringList{QStringLiteral("Imported from a.json. Save As keeps a copy.")});
}

TEST_F(OpenWindowTest, ASecondOpeningImportsNothing)
{
    open({path("a.json")});
    ASSERT_EQ(cached().size(), 1U);
    const auto before = fs::last_write_time(cached().front());
    open({path("a.json")});
    EXPECT_EQ(window_.workspace().files().size(), 1U);
    EXPECT_EQ(messages().size(), 1) << "one strip for one file";
    EXPECT_EQ(fs::last_write_time(cached().front()), before);
}

TEST_F(OpenWindowTest, DroppedFilesAndFoldersBecomeOneRun)
{
    fs::create_directory(folder_ / "ranks");
    fs::rename(folder_ / "b.json", folder_ / "ranks" / "b.json");
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path("a.json")), QUrl::fromLocalFile(path("ranks"))});
    QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &enter);
    EXPECT_TRUE(enter.isAccepted());
    QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &drop);
    waitUntilSettled();
    ASSERT_EQ(window_.workspace().files().size(), 1U);
    EXPECT_EQ(window_.workspace().files().front().name(), QStringLiteral("a.json and 1 more"));
    EXPECT_EQ(window_.workspace().files().front().snapshot->runs.size(), 1U);
}

/// A file of each format that can be imported, by the format's name.
using Samples = std::map<std::string_view, std::function<void(const fs::path&)>>;

void writeBytes(const fs::path& file, const std::string& bytes)
{
    std::ofstream(file, std::ios::binary) << bytes;
}

void writeDatabase(const fs::path& file, const char* sql)
{
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
}

/// A ZIP archive of one file, stored without compression.
std::string storedZip(const std::string& name, const std::string& text)
{
    const auto number = [](std::size_t value, int width) {
        std::string bytes;
        for (int i = 0; i < width; ++i)
            bytes += i < 8 ? static_cast<char>(value >> (8 * i) & 0xff) : '\0';
        return bytes;
    };
    const std::string facts = number(20, 2) + number(0, 12) + number(text.size(), 4) +
                              number(text.size(), 4) + number(name.size(), 2) + number(0, 2);
    const std::string local = "PK\x03\x04" + facts + name + text;
    const std::string entry = "PK\x01\x02" + number(20, 2) + facts + number(0, 10) + number(0, 4) + name;
    return local + entry + "PK\x05\x06" + number(0, 4) + number(1, 2) + number(1, 2) +
           number(entry.size(), 4) + number(local.size(), 4) + number(0, 2);
}

const Samples& samples()
{
    static const Samples all{
        {"memory snapshot of PyTorch (.pickle)",
         [](const fs::path& file) {
             fs::copy_file(fs::path(TILESCOPE_SOURCE_DIR) / "tests/data/memory_small2_train.pickle", file);
         }},
        {"trace of PyTorch's profiler (.json, .json.gz)", [](const fs::path& file) { writeTrace(file, 2); }},
        {"export of Nsight Systems (.sqlite)",
         [](const fs::path& file) {
             writeDatabase(file, "create table StringIds (id integer primary key, value text);"
                                 "create table META_DATA_EXPORT (name text, value text);");
         }},
        {"report of Nsight Systems (.nsys-rep)",
         [](const fs::path& file) { writeBytes(file, "NVIDIA Tegra Profiler Report, and no more"); }},
        {"recording of rocmProfileData (.rpd)",
         [](const fs::path& file) {
             writeDatabase(file, "create table rocpd_string (id integer primary key, string text);"
                                 "create table rocpd_op (id integer primary key);");
         }},
        {"profile of JAX (.xplane.pb)",
         [](const fs::path& file) {
             const std::string plane("/host:CPU");
             const std::string name = std::string("\x12") + char(plane.size()) + plane;
             writeBytes(file, std::string("\x0a") + char(name.size()) + name);
         }},
        {"archives of these (.zip, .gz)",
         [](const fs::path& file) {
             writeBytes(file, storedZip("t.json", R"({"traceEvents": [{"ph": "X"}]})"));
         }},
        {"working file of tilescope record",
         [](const fs::path& file) { writeBytes(file, std::string(record::kWorkingFileLine)); }}};
    return all;
}

TEST_F(OpenWindowTest, ADropOfEachFormatIsRecognised)
{
    for (const exchange::Importer* importer : exchange::importers()) {
        ASSERT_TRUE(samples().contains(importer->format())) << "write a sample of: " << importer->format();
        const std::vector<std::string_view> endings = exchange::endingsOf(*importer);
        const fs::path file = folder_ / ("sample" + std::string(endings.empty() ? "" : endings.front()));
        samples().at(importer->format())(file);
        ASSERT_EQ(&exchange::importerFor(file), importer);
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(QString::fromStdString(file.string()))});
        QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window_, &enter);
        EXPECT_TRUE(enter.isAccepted());
        const std::size_t before = window_.workspace().files().size();
        QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window_, &drop);
        waitUntilSettled();
        // Those without events, or that need another program, say so in a sentence of their format.
        ASSERT_FALSE(messages().isEmpty()) << importer->format();
        EXPECT_TRUE(window_.workspace().files().size() > before ||
                    messages().back().contains(QLatin1String("sample")))
            << importer->format() << ": " << messages().back().toStdString();
        EXPECT_FALSE(messages().back().contains(QLatin1String("is not known"))) << importer->format();
    }
}

TEST(OpenFilters, NameEveryFormatThatCanBeImported)
{
    const QStringList filters = openFilters().split(QStringLiteral(";;"));
    for (const exchange::Importer* importer : exchange::importers())
        for (const std::string_view ending : exchange::endingsOf(*importer)) {
            const QString pattern = QLatin1Char('*') + QString::fromUtf8(ending);
            EXPECT_TRUE(filters.front().contains(pattern)) << ending;
            EXPECT_EQ(filters.filter(pattern).size(), 2) << ending;
        }
    EXPECT_EQ(filters.last(), QStringLiteral("All files (*)"));
    EXPECT_TRUE(filters.contains(QStringLiteral("Memory snapshot of PyTorch (*.pickle)")));
    EXPECT_TRUE(filters.contains(QStringLiteral("Trace of PyTorch's profiler (*.json *.json.gz)")));
}

TEST_F(OpenWindowTest, OpenFolderInTheMenuOpensAFolderAsADropDoes)
{
    fs::create_directory(folder_ / "ranks");
    for (const char* name : {"a.json", "b.json"})
        fs::rename(folder_ / name, folder_ / "ranks" / name);
    fs::create_directory(folder_ / "recordings");
    for (const char* name : {"one.tscope", "two.tscope"})
        test::writeLmFile(folder_ / "recordings" / name);
    QAction* openFolder = nullptr;
    for (const QAction* menu : window_.menuBar()->actions())
        for (QAction* action : menu->menu()->actions())
            if (action->text() == QStringLiteral("Open folder…"))
                openFolder = action;
    ASSERT_NE(openFolder, nullptr);
    const auto choose = [&](const char* name) {
        QTimer::singleShot(0, &window_, [&] {
            auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
            ASSERT_NE(dialog, nullptr);
            dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(path(name));
            static_cast<QDialog*>(dialog)->accept();
        });
        openFolder->trigger();
        waitUntilSettled();
    };
    choose("ranks");
    ASSERT_EQ(window_.workspace().files().size(), 1U);
    EXPECT_EQ(window_.workspace().files().front().snapshot->runs.size(), 1U) << "two traces, one run";
    choose("recordings");
    ASSERT_EQ(window_.workspace().files().size(), 3U);
    EXPECT_EQ(window_.workspace().files()[1].name(), QStringLiteral("one.tscope"));
    EXPECT_EQ(window_.workspace().files()[2].name(), QStringLiteral("two.tscope"));
}

TEST_F(OpenWindowTest, NamesOfFilesMayHoldWhatLooksLikeAPlace)
{
    EXPECT_EQ(namesOf({QStringLiteral("/a/%2.json"), QStringLiteral("/a/b.json")}),
              QStringLiteral("%2.json and 1 more"));
}

TEST_F(OpenWindowTest, ATraceThatIsCutIsAWarningThatSaysWhere)
{
    std::ifstream whole(folder_ / "a.json");
    const std::string text((std::istreambuf_iterator<char>(whole)), {});
    std::ofstream(folder_ / "cut.json") << text.substr(0, text.rfind('{') - 3);
    open({path("cut.json")});
    QString words;
    for (const QLabel* label : window_.findChildren<QLabel*>(QStringLiteral("message")))
        if (label->isVisible())
            words += label->text();
    EXPECT_TRUE(words.contains(QStringLiteral("cut.json, which ends early, after"))) << words.toStdString();
}

TEST_F(OpenWindowTest, WithoutAFileItOffersThoseThatWereOpenedBefore)
{
    window_.showPage(QStringLiteral("overview")); // the window opens on the page that was shown last
    const auto* start = window_.findChild<StartView*>();
    ASSERT_NE(start, nullptr);
    EXPECT_TRUE(start->isVisible());
    open({path("a.json")});
    EXPECT_FALSE(start->isVisible());
    window_.workspace().close(window_.workspace().files().front().id);
    waitUntilSettled();
    ASSERT_TRUE(start->isVisible());
    auto* recent = start->findChild<TableView*>();
    ASSERT_GE(recent->model()->rowCount(), 1);
    EXPECT_EQ(recent->model()->index(0, 0).data().toString(), QStringLiteral("a.json")) << "the newest first";
    recent->setFocus();
    recent->setCurrentIndex(recent->model()->index(0, 0));
    QTest::keyClick(recent, Qt::Key_Return);
    waitUntilSettled();
    ASSERT_EQ(window_.workspace().files().size(), 1U);
    EXPECT_EQ(window_.workspace().files().front().name(), QStringLiteral("a.json"));
    EXPECT_FALSE(start->isVisible());
}

TEST_F(OpenWindowTest, TheMachinePageShowsWholeWhatAnImportLacks)
{
    open({path("a.json")});
    window_.resize(853, 533);
    window_.showPage(QStringLiteral("machine"));
    waitUntilSettled();
    TableView* facts = nullptr;
    for (TableView* table : window_.page(QStringLiteral("machine"))->findChildren<TableView*>())
        facts = table;
    ASSERT_NE(facts, nullptr);
    const QString lacks = QStringLiteral("ops, ranges (steps and modules), Python calls, memory events, ");
    const auto rowOfMissing = [&] {
        for (int row = 0; row < facts->model()->rowCount(); ++row)
            if (facts->model()->index(row, 0).data().toString() == QLatin1String("missing"))
                return row;
        return -1;
    };
    ASSERT_TRUE(QTest::qWaitFor([&] { return rowOfMissing() >= 0; }, kTimeoutMs));
    const int row = rowOfMissing();
    const QString text = facts->model()->index(row, 1).data().toString();
    EXPECT_TRUE(text.startsWith(lacks)) << text.toStdString();
    const QFontMetrics metrics(Theme::instance().body());
    const int width = facts->columnWidth(1) - TableDelegate::padding(1);
    ASSERT_GT(metrics.horizontalAdvance(text), width) << "it takes several lines";
    EXPECT_GE(facts->rowHeight(row), TableDelegate::lineCount(text, metrics, width) * metrics.lineSpacing());
    EXPECT_LT(facts->rowHeight(row == 0 ? 1 : 0), facts->rowHeight(row));
}

class StartTest : public OpenWindowTest {
protected:
    void SetUp() override
    {
        for (const QString& file : RecentFiles::read()) // of other tests
            RecentFiles::remove(file);
        OpenWindowTest::SetUp();
        window_.showPage(QStringLiteral("overview"));
        test::writeLmFile(folder_ / "lm.tscope");
    }

    void openAndClose(const char* name)
    {
        open({path(name)});
        window_.closeFile();
        waitUntilSettled();
    }

    StartView& start() { return *window_.findChild<StartView*>(); }
    TableView& recent() { return *start().findChild<TableView*>(); }
    QString cell(int row, int column) { return recent().model()->index(row, column).data().toString(); }
    QPushButton& removeMissing() { return button_(QStringLiteral("Remove missing files")); }
    QPushButton& button_(const QString& text)
    {
        for (QPushButton* each : start().findChildren<QPushButton*>())
            if (each->text() == text)
                return *each;
        throw std::runtime_error("no button " + text.toStdString());
    }
    QLabel& preview()
    {
        for (QLabel* label : start().findChildren<QLabel*>())
            if (label->accessibleName() == QLatin1String("Last view of the file"))
                return *label;
        throw std::runtime_error("no preview");
    }
};

TEST_F(StartTest, RecentFilesSayWhatTheyHeld)
{
    openAndClose("lm.tscope");
    openAndClose("a.json");
    ASSERT_EQ(recent().model()->rowCount(), 2);
    EXPECT_EQ(cell(0, 0), QStringLiteral("a.json"));
    EXPECT_TRUE(cell(0, 1).startsWith(QStringLiteral("1 run"))) << cell(0, 1).toStdString();
    EXPECT_EQ(cell(1, 1), QStringLiteral("3 runs, last: lm-small2"));
    EXPECT_FALSE(cell(1, 4).isEmpty()) << "its size";
}

TEST_F(StartTest, ShowsTheLastViewOfARecentFile)
{
    openAndClose("a.json");
    openAndClose("lm.tscope");
    ASSERT_TRUE(QTest::qWaitFor([&] { return preview().isVisible(); }, kTimeoutMs));
    const QImage newest = preview().pixmap().toImage();
    EXPECT_GT(newest.width(), 100);
    recent().setCurrentIndex(recent().model()->index(1, 0));
    waitUntilSettled();
    EXPECT_NE(preview().pixmap().toImage(), newest) << "that of the other file";
    RecentFiles::remove(path("lm.tscope"));
    EXPECT_FALSE(QFileInfo::exists(RecentFiles::previewFile(path("lm.tscope"))))
        << "forgotten with its entry";
}

TEST_F(StartTest, MissingFilesAreDimAndCanBeRemoved)
{
    openAndClose("lm.tscope");
    openAndClose("a.json");
    openAndClose("b.json");
    EXPECT_FALSE(removeMissing().isVisible());
    fs::remove(folder_ / "a.json");
    window_.showPage(QStringLiteral("machine"));
    window_.showPage(QStringLiteral("overview")); // looks again
    waitUntilSettled();
    ASSERT_EQ(recent().model()->rowCount(), 3);
    EXPECT_EQ(cell(1, 3), QStringLiteral("not found"));
    EXPECT_EQ(recent().table().rows[1].cells[0].tone, Tone::Dim);
    EXPECT_EQ(recent().table().rows[0].cells[0].tone, Tone::Plain);
    ASSERT_TRUE(removeMissing().isVisible());
    QTest::mouseClick(&removeMissing(), Qt::LeftButton);
    waitUntilSettled();
    ASSERT_EQ(recent().model()->rowCount(), 2);
    EXPECT_EQ(cell(1, 0), QStringLiteral("lm.tscope"));
    EXPECT_FALSE(removeMissing().isVisible());
    // By keyboard, any file.
    window_.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&window_, kTimeoutMs));
    recent().setFocus();
    recent().setCurrentIndex(recent().model()->index(0, 0));
    QTest::keyClick(&recent(), Qt::Key_Delete);
    waitUntilSettled();
    ASSERT_EQ(recent().model()->rowCount(), 1);
    EXPECT_EQ(RecentFiles::read(), QStringList{path("lm.tscope")});
    EXPECT_TRUE(fs::exists(folder_ / "b.json")) << "the file itself stays";
}

TEST_F(StartTest, AClearedListOfRecentFilesComesBackByUndo)
{
    openAndClose("lm.tscope");
    openAndClose("a.json");
    ASSERT_EQ(recent().model()->rowCount(), 2);
    QTest::mouseClick(start().findChild<QPushButton*>(QStringLiteral("clearRecent")), Qt::LeftButton);
    waitUntilSettled();
    EXPECT_TRUE(RecentFiles::read().isEmpty());
    EXPECT_FALSE(recent().isVisible());
    ViewHistory& history = window_.workspace().history();
    EXPECT_EQ(history.undoName(), QStringLiteral("removing 2 recent files from the list"));
    history.undo();
    waitUntilSettled();
    EXPECT_TRUE(recent().isVisible());
    EXPECT_EQ(RecentFiles::read(), (QStringList{path("a.json"), path("lm.tscope")}));
    EXPECT_EQ(cell(1, 1), QStringLiteral("3 runs, last: lm-small2"));
    history.redo();
    waitUntilSettled();
    EXPECT_TRUE(RecentFiles::read().isEmpty());
}

TEST_F(StartTest, ADragOverAnyPageShowsWhereToDropAndWhatHappens)
{
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path("a.json")), QUrl::fromLocalFile(path("b.json"))});
    const auto drag = [&] {
        QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&window_, &enter);
        EXPECT_TRUE(enter.isAccepted());
    };
    const auto leave = [&] {
        QDragLeaveEvent event;
        QApplication::sendEvent(&window_, &event);
    };
    auto& box = *window_.findChild<DropBox*>(QStringLiteral("dropBox"));
    EXPECT_TRUE(box.isVisible());
    EXPECT_TRUE(box.drag().isEmpty());
    drag();
    EXPECT_EQ(box.drag(), QStringLiteral("Import 2 traces as one run"));
    leave();
    EXPECT_TRUE(box.drag().isEmpty());
    window_.showPage(QStringLiteral("machine"));
    drag();
    auto* veil = window_.findChild<DropBox*>(QStringLiteral("dropVeil"));
    ASSERT_NE(veil, nullptr);
    EXPECT_TRUE(veil->isVisible());
    const QImage drawn = veil->grab().toImage();
    const double ratio = drawn.devicePixelRatio();
    const QPoint besideTheWords =
        veil->rect().center() -
        QPoint(QFontMetrics(Theme::instance().bold()).horizontalAdvance(veil->drag()) / 2 + sizes().of(4), 0);
    EXPECT_EQ(drawn.pixelColor(besideTheWords * ratio).rgba(), colours().surface.rgba())
        << "the page does not shine through the words";
    leave();
    EXPECT_FALSE(veil->isVisible());
    drag();
    QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &drop);
    waitUntilSettled();
    EXPECT_FALSE(veil->isVisible());
    EXPECT_EQ(window_.workspace().files().size(), 1U);
}

TEST_F(StartTest, NothingIsReadBeforeTheWindowIsThere)
{
    openAndClose("lm.tscope");
    MainWindow another(QStringLiteral("overview"));
    another.show();
    auto* list = another.findChild<StartView*>()->findChild<TableView*>();
    EXPECT_EQ(list->model()->index(0, 0).data().toString(), QStringLiteral("lm.tscope"));
    const auto size = [&] { return list->model()->index(0, 3).data().toString(); };
    EXPECT_TRUE(size().isEmpty()) << "the disk is asked later";
    EXPECT_TRUE(QTest::qWaitFor([&] { return !size().isEmpty(); }, kTimeoutMs));
}

TEST(DropWords, SayWhatADropDoes)
{
    EXPECT_EQ(dropWords({QStringLiteral("/a/b.tscope")}), QStringLiteral("Open b.tscope"));
    EXPECT_EQ(dropWords({QStringLiteral("/a.tscope"), QStringLiteral("/b.tscope")}),
              QStringLiteral("Open 2 recordings"));
    EXPECT_EQ(dropWords({QStringLiteral("/a/s.yaml")}), QStringLiteral("Edit the spec s.yaml"));
    EXPECT_EQ(dropWords({QStringLiteral("/ranks")}), QStringLiteral("Import ranks as a run"));
    EXPECT_EQ(dropWords({QStringLiteral("/a.tscope"), QStringLiteral("/a.json")}),
              QStringLiteral("Open 2 files"));
    EXPECT_TRUE(dropWords({}).isEmpty());
}

TEST_F(OpenWindowTest, AWrongFileGetsASentenceWithTheKnownFormats)
{
    std::ofstream(folder_ / "notes.txt") << "no trace";
    open({path("notes.txt")});
    EXPECT_TRUE(window_.workspace().files().empty());
    ASSERT_EQ(messages().size(), 1);
    EXPECT_TRUE(messages().front().contains(QStringLiteral("the format of this file is not known")));
    EXPECT_TRUE(messages().front().contains(QStringLiteral("memory snapshot")));
    QTest::mouseClick(button(QStringLiteral("Dismiss")), Qt::LeftButton);
    EXPECT_TRUE(messages().isEmpty());
}

TEST_F(OpenWindowTest, TheSameMessageIsShownOnce)
{
    std::ofstream(folder_ / "notes.txt") << "no trace";
    std::ofstream(folder_ / "other.txt") << "no trace either";
    open({path("notes.txt")});
    open({path("notes.txt")});
    EXPECT_EQ(messages().size(), 1) << messages().join(QLatin1Char('\n')).toStdString();
    open({path("other.txt")});
    EXPECT_EQ(messages().size(), 2) << "of another file";
}

TEST_F(OpenWindowTest, AWindowBeginsWithTheGivenPageOrHowToBegin)
{
    window_.showPage(QStringLiteral("timeline"));
    window_.close();
    const MainWindow given(QStringLiteral("machine"));
    EXPECT_EQ(given.currentPageName(), QStringLiteral("machine"));
    EXPECT_EQ(given.findChild<TimelinePage*>(), nullptr);
    const MainWindow next;
    EXPECT_EQ(next.currentPageName(), QStringLiteral("overview")) << "not an empty timeline";
    const MainWindow unknown(QStringLiteral("nowhere"));
    EXPECT_EQ(unknown.currentPageName(), QStringLiteral("overview"));
}

TEST_F(OpenWindowTest, WhatCannotBeImportedIsNoRecentFile)
{
    std::ofstream(folder_ / "notes.txt") << "no trace";
    open({path("notes.txt"), path("a.json")});
    EXPECT_FALSE(RecentFiles::read().contains(path("notes.txt")));
    open({path("a.json")});
    EXPECT_EQ(RecentFiles::read().value(0), path("a.json"));
}

TEST_F(OpenWindowTest, ARecordingOfAnyNameOpensAsItself)
{
    test::writeLmFile(folder_ / "lm.tscope");
    fs::rename(folder_ / "lm.tscope", folder_ / "lm.bin");
    open({path("lm.bin")});
    ASSERT_EQ(window_.workspace().files().size(), 1U);
    EXPECT_EQ(window_.workspace().files().front().file->path(), folder_ / "lm.bin");
    EXPECT_TRUE(messages().isEmpty());
    EXPECT_TRUE(cached().empty());
}

TEST_F(OpenWindowTest, AnImportCanBeCancelled)
{
    writeTrace(folder_ / "large.json", 200'000);
    window_.open({path("large.json")});
    ASSERT_TRUE(QTest::qWaitFor([&] { return button(QStringLiteral("Cancel")) != nullptr; }, kTimeoutMs));
    EXPECT_EQ(messages(), QStringList{QStringLiteral("Importing large.json")});
    EXPECT_NE(window_.findChild<QProgressBar*>(), nullptr);
    QTest::mouseClick(button(QStringLiteral("Cancel")), Qt::LeftButton);
    waitUntilSettled();
    EXPECT_TRUE(window_.workspace().files().empty());
    EXPECT_TRUE(messages().isEmpty());
    EXPECT_TRUE(cached().empty());
}

TEST_F(OpenWindowTest, SaveAsCopiesTheRecording)
{
    open({path("a.json")});
    auto* opener = window_.findChild<FileOpener*>();
    const int file = window_.workspace().files().front().id;
    opener->saveCopy(file, path("copy.tscope"));
    waitUntilSettled();
    EXPECT_TRUE(messages().back().startsWith(QStringLiteral("Saved a copy as ")));
    open({path("copy.tscope")});
    ASSERT_EQ(window_.workspace().files().size(), 2U);
    EXPECT_EQ(window_.workspace().files().back().snapshot->runs.size(), 1U);
    opener->saveCopy(file, path("a.json"));
    waitUntilSettled();
    EXPECT_TRUE(messages().back().contains(QStringLiteral("is an input of this command")))
        << "the source is never written";
}

TEST_F(OpenWindowTest, ClosingTheFileRemovesItsMessage)
{
    open({path("a.json")});
    window_.closeFile();
    waitUntilSettled();
    EXPECT_TRUE(messages().isEmpty());
}

} // namespace
} // namespace tilescope::ui
