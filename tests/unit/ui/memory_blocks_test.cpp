// On screen all blocks are one image, in a vector file each is a shape; both must look the same.

#include "core/query/memory/memory_drawing.h"
#include "tests/support/fake_memory.h"
#include "ui/memory/memory_blocks.h"
#include "ui/theme/theme.h"

#include <QImage>
#include <QPainter>

#include <gtest/gtest.h>

#include <set>

namespace tilescope::ui {
namespace {

class MemoryBlocksTest : public ::testing::Test {
protected:
    MemoryBlocksTest()
    {
        memory_.unrecorded(300'000).older(9, 40'000, "embedding").random(5000, 20'261'125);
        run_.history = memory_.history(query::MemoryParts::WithoutOps);
        groups_ = query::memoryGroups(run_.history, query::MemoryGrouping::Category);
        axis_.start({0, double(run_.history->length)});
        blocks_.resize(kSize);
    }

    void show(query::MemoryPlacing placing, std::size_t most = 2000)
    {
        const auto layout = query::memoryLayout(*run_.history, placing, most);
        blocks_.show(run_, groups_, layout, query::memoryLevels(*layout, groups_->groupOf));
    }

    QImage drawn(bool asShapes)
    {
        QImage image(kSize, QImage::Format_ARGB32_Premultiplied);
        image.fill(Qt::magenta);
        QPainter painter(&image);
        blocks_.draw(painter, kSize, asShapes);
        return image;
    }

    static constexpr QSize kSize{640, 360};
    testing::FakeMemory memory_;
    MemoryRun run_{.letter = {}, .title = {}, .history = nullptr};
    std::shared_ptr<const query::MemoryGroups> groups_;
    MemoryAxis axis_;
    MemoryBlocks blocks_{axis_};
};

TEST_F(MemoryBlocksTest, EveryPixelIsThatOfTheShapes)
{
    for (const query::MemoryPlacing placing :
         {query::MemoryPlacing::Address, query::MemoryPlacing::Stacked}) {
        show(placing);
        for (const double part : {1.0, 0.3, 0.02, 0.001}) {
            const double from = 0.4 * double(run_.history->length);
            axis_.setWindow({from, from + part * double(run_.history->length)}, false);
            const QImage pixels = drawn(false);
            EXPECT_EQ(pixels, drawn(true)) << "of " << part << " of the run";
            std::set<QRgb> colours;
            for (int y = 0; y < pixels.height(); ++y)
                for (int x = 0; x < pixels.width(); ++x)
                    colours.insert(pixels.pixel(x, y));
            EXPECT_FALSE(colours.contains(QColor(Qt::magenta).rgb())) << "all of it is painted";
            EXPECT_GE(colours.size(), 8U) << "blocks of several categories";
        }
    }
}

TEST_F(MemoryBlocksTest, APictureOfAnotherSizeOrOfNothingKeepsNothingOfTheOneBefore)
{
    show(query::MemoryPlacing::Address);
    const QImage first = drawn(false);
    QImage small(200, 150, QImage::Format_ARGB32_Premultiplied);
    QPainter painter(&small);
    blocks_.draw(painter, small.size(), false);
    painter.end();
    axis_.setWindow({0, 100}, false);
    drawn(false);
    axis_.setWindow(axis_.bounds(), false);
    EXPECT_EQ(drawn(false), first);
    blocks_.clear();
    const QColor ground = colours().surface;
    EXPECT_EQ(drawn(false).pixelColor(kSize.width() / 2, kSize.height() / 3), ground);
}

TEST_F(MemoryBlocksTest, ThousandsOfStepsDoNotHideTheBlocksAndAFewHaveALineEach)
{
    show(query::MemoryPlacing::Address);
    const auto stepsOf = [this](int count) {
        std::vector<MemoryStepMark> steps;
        const double length = double(run_.history->length) / count;
        for (int i = 0; i < count; ++i)
            steps.push_back({QStringLiteral("step %1").arg(i), i * length, (i + 1) * length});
        return steps;
    };
    const auto lines = [&](int count) {
        blocks_.setSteps(stepsOf(count), false);
        const QImage image = drawn(false);
        const int y = blocks_.plot().top();
        int found = 0;
        for (int x = 0; x < image.width(); ++x) {
            bool isLine = true;
            for (int row = 0; row < 100; ++row)
                isLine = isLine && image.pixelColor(x, y + row) == colours().strongLine;
            found += isLine;
        }
        return found;
    };
    EXPECT_EQ(lines(10), 10);
    EXPECT_GE(lines(5000), 3);
    EXPECT_LE(lines(5000), 30);
}

} // namespace
} // namespace tilescope::ui
