// What leaves the window: vector files with text, images of the size asked for, tables that a program can
// read.

#include "core/base/error.h"
#include "core/base/paths.h"
#include "tests/support/temporary_folder.h"
#include "ui/kit/exporter.h"
#include "ui/kit/histogram_plot.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/overview/overview_figures.h"
#include "ui/overview/step_bar_plot.h"
#include "ui/theme/theme.h"
#include "ui/window/page_exports.h"

#include <QFile>
#include <QImage>
#include <QVBoxLayout>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <fstream>

namespace tilescope::ui {
namespace {

class ExportTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        Theme::instance().apply(ThemeChoice::Light);
        auto* layout = new QVBoxLayout(&page_);
        bars_ = new StepBarPlot;
        bars_->show({{QStringLiteral("A"),
                      QStringLiteral("naive"),
                      {{QStringLiteral("matmul"), query::Hue::Matmul, 3e6},
                       {QStringLiteral("idle"), query::Hue::GapLaunching, 1e6}}}},
                    analysis::Verdict::Inconclusive);
        histogram_ = new HistogramPlot;
        histogram_->setAccessibleName(QStringLiteral("Durations"));
        histogram_->show(durationsOf({1000, 1100, 1200, 5000}), query::Hue::Matmul);
        table_ = new TableView;
        table_->setAccessibleName(QStringLiteral("Kernels"));
        table_->show(rows());
        layout->addWidget(bars_);
        layout->addWidget(histogram_);
        layout->addWidget(table_);
        page_.resize(700, 600);
        page_.show();
    }

    static TableData rows()
    {
        TableData data;
        TableColumn name;
        name.title = QStringLiteral("Kernel");
        TableColumn time;
        time.title = QStringLiteral("Total, ms");
        time.kind = TableColumn::Kind::Number;
        time.width = 80;
        TableColumn bar;
        bar.kind = TableColumn::Kind::Bar;
        bar.width = 60;
        data.columns = {name, time, bar};
        const std::pair<QString, QString> cells[] = {
            {QStringLiteral("gemm \"a\", b"), QStringLiteral("−1.08")},
            {QStringLiteral("=cmd()"), wholeNumber(17600)},
            {QStringLiteral("mul"), QStringLiteral("–")}};
        for (const auto& [kernel, total] : cells) {
            TableRow row;
            row.id = std::int64_t(data.rows.size());
            row.cells.resize(3);
            row.cells[0].text = kernel;
            row.cells[1].text = total;
            row.cells[2].bar = 0.5;
            data.rows.push_back(std::move(row));
        }
        return data;
    }

    const Exportable& named(const QString& name)
    {
        all_ = exportablesOf(page_, QStringLiteral("page"));
        for (const Exportable& one : all_)
            if (one.name == name)
                return one;
        throw std::runtime_error("nothing to export is called " + name.toStdString());
    }

    QByteArray written(const Exportable& what, ExportFormat format, QSize size = {600, 400}, double scale = 1)
    {
        const QString file =
            QString::fromStdString((folder_ / "out").string()) + QLatin1Char('.') + suffixOf(format);
        writeExport(what, {format, size, scale, QStringLiteral("title")}, file);
        QFile read(file);
        EXPECT_TRUE(read.open(QIODevice::ReadOnly));
        return read.readAll();
    }

    testing::TemporaryFolder folder_;
    QWidget page_;
    StepBarPlot* bars_ = nullptr;
    HistogramPlot* histogram_ = nullptr;
    TableView* table_ = nullptr;
    std::vector<Exportable> all_;
};

TEST_F(ExportTest, APdfIsVectorsWithTextAndOfTheSizeAskedFor)
{
    for (const char* name : {"page", "Where the step goes", "Durations", "Kernels"}) {
        const QByteArray pdf = written(named(QString::fromLatin1(name)), ExportFormat::Pdf, {480, 240});
        EXPECT_TRUE(pdf.startsWith("%PDF-")) << name;
        EXPECT_TRUE(pdf.contains("/Type /Font")) << name << " has no text";
        EXPECT_FALSE(pdf.contains("/Subtype /Image")) << name << " holds pixels";
        EXPECT_FALSE(pdf.contains("Date")) << name << " differs each time";
        EXPECT_EQ(pdf, written(named(QString::fromLatin1(name)), ExportFormat::Pdf, {480, 240})) << name;
        EXPECT_TRUE(pdf.contains("/MediaBox [0 0 360 180]") || pdf.contains("/MediaBox [0 0 360."))
            << "5 x 2.5 inches";
    }
}

TEST_F(ExportTest, AnSvgHasItsWordsAsText)
{
    EXPECT_TRUE(written(named(QStringLiteral("Where the step goes")), ExportFormat::Svg).contains("matmul"));
    EXPECT_TRUE(written(named(QStringLiteral("Kernels")), ExportFormat::Svg).contains("Total, ms"));
    const QByteArray plot = written(named(QStringLiteral("Durations")), ExportFormat::Svg);
    EXPECT_TRUE(plot.contains("instances"));
    EXPECT_FALSE(plot.contains("<image"));
}

TEST_F(ExportTest, APngHasTheScaleAskedForAndSomethingOnIt)
{
    const QImage image =
        QImage::fromData(written(named(QStringLiteral("Durations")), ExportFormat::Png, {300, 200}, 2.5));
    EXPECT_EQ(image.size(), QSize(750, 500));
    int coloured = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            coloured += image.pixelColor(x, y).rgb() == Palette::light().hue(query::Hue::Matmul).rgb();
    EXPECT_GT(coloured, 1000) << "bars of matmul";
}

TEST_F(ExportTest, APreviewIsTheWholePictureAtWhateverScale)
{
    // Four quarters of four colours, of which a part would not have all.
    const QColor quarters[] = {Qt::red, Qt::green, Qt::blue, Qt::yellow};
    const auto draw = [&quarters](QPainter& painter, const QSize& size, bool) {
        for (int i = 0; i < 4; ++i)
            painter.fillRect(QRect(i % 2 * size.width() / 2, i / 2 * size.height() / 2, size.width() / 2 + 1,
                                   size.height() / 2 + 1),
                             quarters[i]);
    };
    const Exportable what{QStringLiteral("quarters"), {}, draw};
    const QSize box(420, 270);
    for (const QSize& size : {QSize(100, 80), QSize(1200, 700), QSize(300, 3000), QSize(20000, 20000)})
        for (const double ratio : {1.0, 1.5, 2.0}) {
            const QImage image = previewOf(what, size, box, ratio);
            EXPECT_DOUBLE_EQ(image.devicePixelRatio(), ratio);
            EXPECT_LE(image.width(), box.width() * ratio + 1);
            EXPECT_LE(image.height(), box.height() * ratio + 1);
            for (int i = 0; i < 4; ++i)
                EXPECT_EQ(image.pixelColor(image.width() * (1 + 2 * (i % 2)) / 4,
                                           image.height() * (1 + 2 * (i / 2)) / 4),
                          quarters[i])
                    << size.width() << " x " << size.height() << " at " << ratio;
        }
}

TEST_F(ExportTest, APngOfHalfTheSizeIsTheSamePictureSmaller)
{
    const Exportable& page = named(QStringLiteral("page"));
    const QImage whole = imageOf(page, page.size, 1);
    const QImage half = imageOf(page, page.size, 0.5);
    EXPECT_EQ(half.size(), whole.size() / 2);
    const QImage scaled = whole.scaled(half.size(), Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
    int different = 0;
    for (int y = 0; y < half.height(); ++y)
        for (int x = 0; x < half.width(); ++x)
            different += std::abs(qGray(half.pixel(x, y)) - qGray(scaled.pixel(x, y))) > 8 ? 1 : 0;
    EXPECT_LT(different, half.width() * half.height() / 100);
}

TEST_F(ExportTest, ALongTableIsPreviewedFromItsTopInASizeToRead)
{
    TableData table = rows();
    while (table.rows.size() < 1000)
        table.rows.push_back(table.rows.back());
    const QSize size = sizeOfTable(table, 720);
    const Exportable what{.name = {}, .size = size, .table = std::move(table)};
    const QImage image = previewOf(what, size, {420, 270}, 1);
    EXPECT_GE(image.width(), 400);
}

TEST_F(ExportTest, FilesAreNamedWithoutSpacesAndSigns)
{
    EXPECT_EQ(fileNameOf({QStringLiteral("Demo"), QStringLiteral("run1"), QStringLiteral("timeline"),
                          QStringLiteral("Timeline")}),
              QStringLiteral("Demo-run1-timeline"));
    EXPECT_EQ(fileNameOf({QStringLiteral("a/b c"), QStringLiteral("step, wall"), QStringLiteral("by"),
                          QStringLiteral("seq_len")}),
              QStringLiteral("a-b-c-step-wall-by-seq_len"));
}

TEST_F(ExportTest, CsvHasNumbersAsProgramsReadThemAndNoFormulas)
{
    EXPECT_EQ(written(named(QStringLiteral("Kernels")), ExportFormat::Csv),
              QByteArray("Kernel,\"Total, ms\"\r\n\"gemm \"\"a\"\", b\",-1.08\r\n'=cmd(),17600\r\nmul,\r\n"));
    const QByteArray durations = written(named(QStringLiteral("Durations")), ExportFormat::Csv);
    EXPECT_TRUE(durations.startsWith("Line,\"duration, ")) << durations.toStdString();
    EXPECT_GT(durations.count('\n'), 2) << "a row a bar";
    Exportable picture = named(QStringLiteral("Durations"));
    picture.table.reset();
    EXPECT_THROW(written(picture, ExportFormat::Csv), Error) << "the page as a whole has no table";
}

TEST_F(ExportTest, AFolderThatIsNotThereIsAnErrorThatNamesTheFile)
{
    try {
        writeExport(named(QStringLiteral("Durations")), {ExportFormat::Pdf, {100, 100}, 1, {}},
                    QStringLiteral("/no-such-folder/a.pdf"));
        FAIL() << "it wrote somewhere";
    } catch (const Error& error) {
        EXPECT_EQ(error.where, "/no-such-folder/a.pdf");
    }
}

TEST_F(ExportTest, NoRecordingAndNoDeviceIsReplacedAndALinkStays)
{
    const auto refused = [this](const std::filesystem::path& file) {
        try {
            writeExport(named(QStringLiteral("Durations")), {ExportFormat::Png, {100, 100}, 1, {}},
                        QString::fromStdString(file.string()));
        } catch (const Error& error) {
            return error.what;
        }
        return std::string();
    };
    std::ofstream(folder_ / "a.tscope") << "rows";
    std::filesystem::create_symlink("a.tscope", folder_ / "link.png");
    ASSERT_EQ(mkfifo((folder_ / "pipe.png").c_str(), 0600), 0);
    EXPECT_EQ(refused(folder_ / "a.tscope"), "is a recording and would be overwritten");
    EXPECT_EQ(refused(folder_ / "link.png"), "is a recording and would be overwritten");
    EXPECT_EQ(refused(folder_ / "pipe.png"), "is not a regular file");
    EXPECT_EQ(std::filesystem::file_size(folder_ / "a.tscope"), 4U);
    EXPECT_TRUE(std::filesystem::is_fifo(folder_ / "pipe.png"));
    std::filesystem::create_symlink("real.png", folder_ / "other.png");
    EXPECT_EQ(refused(folder_ / "other.png"), "");
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "other.png"));
    EXPECT_GT(std::filesystem::file_size(folder_ / "real.png"), 100U);
}

} // namespace
} // namespace tilescope::ui
