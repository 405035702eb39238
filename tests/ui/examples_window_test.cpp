#include "core/base/version.h"
#include "tests/ui/window_fixture.h"
#include "ui/kit/exporter.h"
#include "ui/timeline/timeline_page.h"
#include "ui/window/example_list.h"
#include "ui/window/page_exports.h"
#include "ui/window/start_view.h"

#include <QFile>
#include <QMessageBox>
#include <QPushButton>

#include <algorithm>
#include <chrono>
#include <fstream>

namespace tilescope::ui {
namespace {

namespace fs = std::filesystem;

class ExamplesTest : public WindowTest {
protected:
    void SetUp() override
    {
        before_ = qEnvironmentVariableIsSet("XDG_CACHE_HOME") ? qgetenv("XDG_CACHE_HOME") : QByteArray();
        qputenv("XDG_CACHE_HOME", QByteArray::fromStdString((folder_ / "cache").string()));
        WindowTest::SetUp();
        window_.closeFile();
        window_.showPage(QStringLiteral("overview"));
        waitUntilSettled();
    }

    void TearDown() override
    {
        if (before_.isNull())
            qunsetenv("XDG_CACHE_HOME");
        else
            qputenv("XDG_CACHE_HOME", before_);
        WindowTest::TearDown();
    }

    /// Clicks on the link of an example; what a warning said is in `warning_`.
    void click(const ExampleRecording& example)
    {
        warning_.clear();
        QTimer::singleShot(0, &window_, [this] {
            if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
                warning_ = box->text();
                box->accept();
            }
        });
        auto* link =
            window_.findChild<QPushButton*>(QStringLiteral("example_") + QFileInfo(example.file).baseName());
        ASSERT_NE(link, nullptr) << example.file.toStdString();
        link->click();
        waitUntilSettled();
    }

    QString warning_;

private:
    QByteArray before_;
};

TEST_F(ExamplesTest, EachOpensAsACopyThatCanBeChanged)
{
    for (const ExampleRecording& example : exampleRecordings()) {
        SCOPED_TRACE(example.file.toStdString());
        click(example);
        ASSERT_EQ(warning_.toStdString(), "");
        ASSERT_EQ(window_.workspace().files().size(), 1U);
        const OpenFile& file = window_.workspace().files().front();
        ASSERT_TRUE(file.snapshot);
        EXPECT_FALSE(file.snapshot->runs.empty());
        EXPECT_EQ(file.file->path(),
                  folder_ / "cache" / "tilescope" / "examples" / version() / example.file.toStdString());
        const auto rights = fs::status(file.file->path()).permissions();
        EXPECT_NE(rights & fs::perms::owner_write, fs::perms::none);
        window_.closeFile();
        window_.showPage(QStringLiteral("overview"));
        waitUntilSettled();
    }
}

TEST_F(ExamplesTest, StepsOfAGenerationHaveTheirNumbersOnTheTimeline)
{
    const std::vector<ExampleRecording>& examples = exampleRecordings();
    const auto generation =
        std::ranges::find(examples, QStringLiteral("generation.tscope"), &ExampleRecording::file);
    ASSERT_NE(generation, examples.end());
    click(*generation);
    clickRail(QStringLiteral("Timeline"));
    const auto views = exportablesOf(page<TimelinePage>("timeline"), QStringLiteral("page"));
    const auto view = std::ranges::find(views, QStringLiteral("Timeline"), &Exportable::name);
    ASSERT_NE(view, views.end());
    const QString svg = QString::fromStdString((folder_ / "timeline.svg").string());
    writeExport(*view, {ExportFormat::Svg, QSize(1200, 800), 1, QStringLiteral("generation")}, svg);
    QFile file(svg);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    const QByteArray shapes = file.readAll();
    EXPECT_TRUE(shapes.contains(">step 0<"));
    EXPECT_FALSE(shapes.contains(">step<")) << "which says no number";
}

TEST_F(ExamplesTest, TheTwoAttentionsAreShownOneAboveTheOther)
{
    const auto& all = exampleRecordings();
    const auto pair = std::ranges::find_if(
        all, [](const ExampleRecording& example) { return !example.comparedLength.isEmpty(); });
    ASSERT_NE(pair, all.end());
    click(*pair);
    ASSERT_EQ(warning_.toStdString(), "");
    EXPECT_TRUE(QTest::qWaitFor([this] { return selected() == std::vector{1, 2}; }, kTimeoutMs));
    EXPECT_TRUE(window_.page(QStringLiteral("timeline"))->isVisible());
}

TEST_F(ExamplesTest, ACopyKeepsWhatTheUserChanged)
{
    const ExampleRecording& example = exampleRecordings().front();
    click(example);
    ASSERT_EQ(window_.workspace().files().size(), 1U);
    const fs::path copy = window_.workspace().files().front().file->path();
    window_.closeFile();
    window_.showPage(QStringLiteral("overview"));
    waitUntilSettled();
    const auto changed = fs::last_write_time(copy) - std::chrono::hours(1);
    fs::last_write_time(copy, changed);
    click(example);
    ASSERT_EQ(warning_.toStdString(), "");
    EXPECT_EQ(fs::last_write_time(copy), changed) << "it was not copied again";
}

TEST_F(ExamplesTest, ACopyThatCannotBeMadeIsAWarningThatSaysWhere)
{
    std::ofstream(folder_ / "cache") << "a file where the folder should be";
    click(exampleRecordings().front());
    EXPECT_TRUE(warning_.contains(QStringLiteral("attention.tscope: cannot be written")))
        << warning_.toStdString();
    EXPECT_TRUE(window_.workspace().files().empty());
}

TEST_F(ExamplesTest, ADamagedCopySaysSoAndTheOtherExamplesOpen)
{
    const ExampleRecording& example = exampleRecordings().front();
    const QString copy = copyOfExample(example.file);
    for (const std::uintmax_t left : {fs::file_size(copy.toStdString()) / 2, std::uintmax_t{50}}) {
        SCOPED_TRACE(left);
        fs::resize_file(copy.toStdString(), left);
        click(example);
        ASSERT_EQ(window_.workspace().files().size(), 1U);
        const OpenFile& file = window_.workspace().files().front();
        EXPECT_TRUE(file.problem.contains(example.file)) << file.problem.toStdString();
        QStringList notices;
        for (const QLabel* label : window_.findChildren<QLabel*>())
            if (label->isVisible())
                notices << label->text();
        EXPECT_TRUE(notices.join(QLatin1Char('\n')).contains(file.problem)) << file.problem.toStdString();
        window_.closeFile();
        window_.showPage(QStringLiteral("overview"));
        waitUntilSettled();
    }
    click(exampleRecordings().at(1));
    ASSERT_EQ(window_.workspace().files().size(), 1U);
    EXPECT_TRUE(window_.workspace().files().front().snapshot);
}

TEST_F(ExamplesTest, AnExampleThatIsNotInstalledIsAWarningThatSaysWhatToDo)
{
    const QByteArray before = qgetenv("TILESCOPE_RESOURCES");
    qputenv("TILESCOPE_RESOURCES", QByteArray::fromStdString((folder_ / "").string()));
    click(exampleRecordings().front());
    if (before.isNull())
        qunsetenv("TILESCOPE_RESOURCES");
    else
        qputenv("TILESCOPE_RESOURCES", before);
    EXPECT_TRUE(warning_.contains(QStringLiteral("attention.tscope: this example recording is missing; "
                                                 "install Tilescope again")))
        << warning_.toStdString();
    EXPECT_TRUE(window_.workspace().files().empty());
}

} // namespace
} // namespace tilescope::ui
