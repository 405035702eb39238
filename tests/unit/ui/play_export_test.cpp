// Play as a file: an SVG whose boxes appear at the slowed-down time of their kernels, and a GIF whose frames show them.

#include "core/base/error.h"
#include "core/query/file_session.h"
#include "tests/support/not_cancelled.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/fixture.h"
#include "ui/theme/theme.h"
#include "ui/timeline/play_export.h"
#include "ui/timeline/play_svg.h"
#include "ui/timeline/timeline_alignment.h"
#include "ui/timeline/timeline_view.h"

#include <QRegularExpression>
#include <QXmlStreamReader>

#include <gif_lib.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace tilescope::ui {
namespace {

using query::Lane;

constexpr int kWidth = 900;

class PlayExportTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        Theme::instance().apply(ThemeChoice::Light);
        test::writeLmFile(folder_ / "lm.tscope");
        session_ = std::make_unique<query::FileSession>(folder_ / "lm.tscope");
        std::vector<TimelineSection> sections;
        for (const std::int64_t run : {1, 2})
            sections.push_back(makeSection(session_->timeline(RunId{run}, testing::kNotCancelled)));
        AlignedSections aligned = alignedAt(std::move(sections), {.step = 0});
        view_.resize(kWidth, 600);
        view_.setSections(std::move(aligned.sections));
        view_.setWindow(*aligned.window);
        scene_ = playScene(view_.wholeScene());
        size_ = playSize(scene_, kWidth);
        part_ = *partToPlay(scene_.sections, scene_.window);
        slowdown_ = usualSlowdown(part_.length());
    }

    // The longest kernel of the step of a run.
    SectionItem longestKernel(std::size_t section) const
    {
        const TimelineSection& run = scene_.sections[section];
        std::optional<SectionItem> longest;
        std::int64_t length = 0;
        for (std::size_t lane = 0; lane < run.timeline->lanes.size(); ++lane) {
            if (run.timeline->lanes[lane].kind != Lane::Kind::Stream)
                continue;
            const query::Track& row = run.timeline->lanes[lane].rows.at(0);
            for (std::size_t i = 0; i < row.size(); ++i)
                if (row.length(i) > length && double(row.end(i)) <= run.alignAt + part_.ends[section]) {
                    length = row.length(i);
                    longest = SectionItem{section, {lane, 0, i}};
                }
        }
        return longest.value();
    }
    const query::Track& rowOf(const SectionItem& item) const
    {
        return scene_.sections[item.section].timeline->lanes[item.item.lane].rows[item.item.row];
    }
    // Recorded nanoseconds after the alignment.
    double startOf(const SectionItem& item) const
    {
        return double(rowOf(item).start(item.item.index)) - scene_.sections[item.section].alignAt;
    }
    double endOf(const SectionItem& item) const
    {
        return startOf(item) + double(rowOf(item).length(item.item.index));
    }

    PlayExport exportTo(const std::string& name, PlayExportOptions::Format format, double slowdown) const
    {
        return {scene_, part_, {format, slowdown, size_, QStringLiteral("naive & flash")}, pathOf(name)};
    }
    QString pathOf(const std::string& name) const
    {
        return QString::fromStdString((folder_ / name).string());
    }

    testing::TemporaryFolder folder_;
    std::unique_ptr<query::FileSession> session_;
    TimelineView view_;
    TimelineScene scene_;
    QSize size_;
    PlayPart part_;
    double slowdown_ = 1;
};

// What an animated attribute of an SVG does.
struct Animated {
    double seconds = 0;
    std::vector<double> values, times;

    // The second at which it has reached a value.
    double whenAt(double value) const
    {
        return (value - values[0]) / (values[1] - values[0]) * times[1] * seconds;
    }
};

std::vector<double> numbersOf(const QStringView text)
{
    std::vector<double> numbers;
    for (const auto part : text.split(QLatin1Char(';')))
        numbers.push_back(part.toDouble());
    return numbers;
}

// The clip that uncovers the lanes of a run, and the rectangles of the boxes behind it.
struct Uncovered {
    Animated width;
    std::vector<QRect> boxes;
};

Uncovered uncoveredOf(const QByteArray& svg, std::size_t section)
{
    const QString id = QStringLiteral("played-%1").arg(section);
    Uncovered found;
    bool isClip = false;
    int depth = 0; // in the group behind the clip
    QXmlStreamReader xml(svg);
    while (!xml.atEnd()) {
        xml.readNext();
        const auto is = [&](const char* name) { return xml.name() == QLatin1String(name); };
        const auto value = [&](const char* name) { return xml.attributes().value(QLatin1String(name)); };
        if (xml.isEndElement() && depth > 0)
            --depth;
        if (!xml.isStartElement())
            continue;
        if (is("clipPath"))
            isClip = value("id") == id;
        if (is("animate") && isClip && value("attributeName") == QLatin1String("width"))
            found.width = {value("dur").chopped(1).toDouble(), numbersOf(value("values")),
                           numbersOf(value("keyTimes"))};
        if (depth > 0 || value("clip-path") == QStringLiteral("url(#%1)").arg(id))
            ++depth;
        static const QRegularExpression rectangle(QStringLiteral("M(\\d+) (\\d+)h(\\d+)v(\\d+)"));
        if (depth > 0 && is("path"))
            for (auto match = rectangle.globalMatch(value("d").toString()); match.hasNext();) {
                const auto one = match.next();
                found.boxes.emplace_back(one.captured(1).toInt(), one.captured(2).toInt(),
                                         one.captured(3).toInt(), one.captured(4).toInt());
            }
    }
    EXPECT_FALSE(xml.hasError()) << xml.errorString().toStdString();
    return found;
}

TEST_F(PlayExportTest, SvgShowsAKernelAtItsSlowedDownTime)
{
    const PlaySvg svg = playSvg(scene_, size_, part_, slowdown_, QStringLiteral("naive & flash"));
    for (const std::size_t section : {0U, 1U}) {
        const SectionItem kernel = longestKernel(section);
        const Uncovered uncovered = uncoveredOf(svg.text, section);
        ASSERT_EQ(uncovered.width.times.size(), 3U);
        EXPECT_DOUBLE_EQ(uncovered.width.seconds, part_.length() * slowdown_ / 1e9 + kPlayRest);
        const double left = scene_.xOf(startOf(kernel), kWidth) - scene_.sizes.label;
        const double right = scene_.xOf(endOf(kernel), kWidth) - scene_.sizes.label;
        // The box is there, to the pixel (a wide box leaves one for the seam before it).
        const auto isBox = [&](const QRect& box) {
            return std::abs(box.left() - left) <= 2 && std::abs(box.left() + box.width() - right) <= 1;
        };
        EXPECT_TRUE(std::ranges::any_of(uncovered.boxes, isBox)) << left << " to " << right;
        EXPECT_NEAR(uncovered.width.whenAt(left), startOf(kernel) * slowdown_ / 1e9, 1e-6);
        EXPECT_NEAR(uncovered.width.whenAt(right), endOf(kernel) * slowdown_ / 1e9, 1e-6);
    }
}

TEST_F(PlayExportTest, SvgIsSmallAndSaysWhatItPlays)
{
    const PlaySvg svg = playSvg(scene_, size_, part_, slowdown_, QStringLiteral("naive & flash"));
    EXPECT_TRUE(svg.text.contains("<title>naive &amp; flash</title>"));
    EXPECT_TRUE(svg.text.contains(slowdownText(slowdown_).toUtf8()));
    EXPECT_FALSE(svg.text.contains("href")) << "everything is inside";
    EXPECT_GT(svg.elements, 50);
    EXPECT_LT(svg.elements, 2'000);
    EXPECT_LT(svg.text.size(), 600'000);
    // Longer plays have more words in the headers, up to a limit.
    const PlaySvg slower = playSvg(scene_, size_, part_, 9 * slowdown_, {});
    EXPECT_LT(slower.elements, 3'000);
}

TEST_F(PlayExportTest, SvgWithoutAnimationShowsTheEnd)
{
    const PlaySvg svg = playSvg(scene_, size_, part_, slowdown_, {});
    for (const std::size_t section : {0U, 1U}) {
        const Uncovered uncovered = uncoveredOf(svg.text, section);
        const auto still = QStringLiteral("<clipPath id=\"played-%1\"><rect x=\"%2\" y=\"%3\" width=\"%4\"")
                               .arg(section)
                               .arg(scene_.sizes.label)
                               .arg(scene_.sizes.ruler)
                               .arg(QString::number(uncovered.width.values[1], 'g', 9));
        EXPECT_TRUE(svg.text.contains(still.toUtf8())) << still.toStdString();
    }
}

// The frames of a GIF as pictures, and how long each stays.
struct GifFrames {
    std::vector<QImage> images;
    std::vector<int> hundredths;
};

GifFrames framesOf(const QString& file)
{
    int error = 0;
    GifFileType* gif = DGifOpenFileName(file.toUtf8().constData(), &error);
    if (gif == nullptr || DGifSlurp(gif) != GIF_OK)
        throw std::runtime_error("the GIF cannot be read");
    GifFrames frames;
    QImage canvas(gif->SWidth, gif->SHeight, QImage::Format_RGB32);
    for (int i = 0; i < gif->ImageCount; ++i) {
        const SavedImage& saved = gif->SavedImages[i];
        GraphicsControlBlock control{};
        EXPECT_EQ(DGifSavedExtensionToGCB(gif, i, &control), GIF_OK);
        const GifImageDesc& at = saved.ImageDesc;
        for (int y = 0; y < at.Height; ++y)
            for (int x = 0; x < at.Width; ++x) {
                const int index = saved.RasterBits[y * at.Width + x];
                const GifColorType& colour = gif->SColorMap->Colors[index];
                if (index != control.TransparentColor)
                    canvas.setPixel(at.Left + x, at.Top + y, qRgb(colour.Red, colour.Green, colour.Blue));
            }
        frames.images.push_back(canvas);
        frames.hundredths.push_back(control.DelayTime);
    }
    DGifCloseFile(gif, &error);
    return frames;
}

TEST_F(PlayExportTest, GifShowsAKernelAtItsSlowedDownTime)
{
    constexpr double kFrame = 1e9 / PlayExportOptions::kFramesPerSecond;
    const double slowdown = 2e9 / part_.length(); // two seconds: 40 frames and the end
    PlayExport play = exportTo("play.gif", PlayExportOptions::Format::Gif, slowdown);
    while (play.step()) {
    }
    const GifFrames frames = framesOf(pathOf("play.gif"));
    ASSERT_EQ(frames.images.size(), std::size_t(play.frames()));
    ASSERT_EQ(play.frames(), 41);
    EXPECT_EQ(frames.images.front().size(), size_);
    EXPECT_EQ(std::accumulate(frames.hundredths.begin(), frames.hundredths.end(), 0), 40 * 5 + 200);
    for (const std::size_t section : {0U, 1U}) {
        const SectionItem kernel = longestKernel(section);
        const QRect box = scene_.rectOf(kernel, size_.width(), size_.height());
        const QPoint pixel(box.left() + box.width() / 2, box.bottom() - 1); // below its name
        const double middle = (startOf(kernel) + endOf(kernel)) / 2 * slowdown / kFrame;
        const auto colourAt = [&](int frame) {
            return QColor(frames.images.at(std::size_t(frame)).pixel(pixel));
        };
        const int before = int(std::floor(middle)) - 1;
        const int after = int(std::ceil(middle)) + 1;
        ASSERT_GE(before, 0);
        EXPECT_EQ(colourAt(before), colourAt(0)) << "not yet";
        EXPECT_NE(colourAt(after), colourAt(0)) << "it runs or has run";
        EXPECT_EQ(colourAt(after), colourAt(play.frames() - 1));
    }
    EXPECT_TRUE(play.figures().startsWith(QStringLiteral("41 frames, 900 × ")))
        << play.figures().toStdString();
}

TEST_F(PlayExportTest, LeavesNothingBehindWhenItIsCancelled)
{
    {
        PlayExport play = exportTo("cancelled.gif", PlayExportOptions::Format::Gif, slowdown_);
        EXPECT_TRUE(play.step());
        EXPECT_TRUE(play.step());
    }
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
        left.push_back(entry.path().filename().string());
    EXPECT_EQ(left, std::vector<std::string>{"lm.tscope"});
}

TEST_F(PlayExportTest, RefusesToLastLongerThanAMinute)
{
    try {
        exportTo("long.gif", PlayExportOptions::Format::Gif, 61e9 / part_.length());
        FAIL() << "it is too long";
    } catch (const Error& error) {
        EXPECT_NE(error.sentence().find("61 s"), std::string::npos) << error.sentence();
    }
}

} // namespace
} // namespace tilescope::ui
