// What a timeline draws, as data: boxes with true coverage, rings and arrows that cost pixels, lanes in the
// order and height that the user chose.

#include "tests/support/not_cancelled.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/fixture.h"
#include "tests/ui/text_recorder.h"
#include "ui/kit/number_text.h"
#include "ui/theme/theme.h"
#include "ui/timeline/box_runs.h"
#include "ui/timeline/box_shares.h"
#include "ui/timeline/hover_card.h"
#include "ui/timeline/lane_arrangement.h"
#include "ui/timeline/link_lines.h"
#include "ui/timeline/timeline_alignment.h"
#include "ui/timeline/timeline_frame.h"
#include "ui/timeline/timeline_painter.h"

#include "core/query/file_session.h"

#include <QPainter>
#include <QSettings>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace tilescope::ui {
namespace {

using query::Hue;
using query::Track;

constexpr Hue kHues[] = {Hue::Matmul, Hue::Copy, Hue::Norm};
Track randomTrack(std::mt19937_64& random, int events)
{
    query::TrackBuilder builder;
    std::int64_t now = 0;
    for (int i = 0; i < events; ++i) {
        // Long and short boxes, wide and no gaps, some without length.
        now += std::int64_t(random() % 3 == 0 ? 0 : random() % (random() % 20 == 0 ? 5'000 : 60));
        const std::int64_t length = std::int64_t(random() % (random() % 15 == 0 ? 3'000 : 40));
        builder.add(now, now + length, std::uint32_t(random() % 5), kHues[random() % 3]);
        now += length;
    }
    return std::move(builder).build();
}

// Time of each hue within [from, to), box by box.
std::array<double, query::kHueCount> countedTime(const Track& track, double from, double to)
{
    std::array<double, query::kHueCount> time{};
    for (std::size_t i = 0; i < track.size(); ++i)
        time[std::size_t(track.hue(i))] +=
            std::max(0.0, std::min(to, double(track.end(i))) - std::max(from, double(track.start(i))));
    return time;
}

bool isTouched(const Track& track, double from, double to)
{
    for (std::size_t i = 0; i < track.size(); ++i)
        if (double(track.start(i)) < to && (double(track.end(i)) > from || double(track.start(i)) >= from))
            return true;
    return false;
}

TEST(DrawnBoxes, HaveTheCoverageAndTheHueOfABruteForceCountAtEveryZoom)
{
    constexpr std::uint64_t kSeed = 20;
    std::mt19937_64 random(kSeed);
    for (int round = 0; round < 60; ++round) {
        const Track track = randomTrack(random, 400);
        const auto end = double(track.end(track.size() - 1));
        // From a few nanoseconds a pixel to the whole track in a few.
        const double perColumn = std::exp(double(random() % 1000) / 1000 * std::log(end / 8));
        const double from = double(random() % 1000) / 1000 * end - 10 * perColumn;
        const int columns = 1 + int(random() % 120);
        std::vector<query::Column> scratch;
        RowBoxes boxes;
        makeBoxes(track, from, perColumn, columns, scratch, boxes);
        std::vector<const BoxRun*> at(static_cast<std::size_t>(columns), nullptr);
        for (const BoxRun& run : boxes.runs) {
            ASSERT_LT(run.from, run.to);
            for (int c = run.from; c < run.to; ++c) {
                ASSERT_EQ(at[std::size_t(c)], nullptr) << "runs overlap";
                at[std::size_t(c)] = &run;
            }
        }
        for (int c = 0; c < columns; ++c) {
            const double left = from + c * perColumn;
            const auto time = countedTime(track, left, left + perColumn);
            double covered = 0;
            for (const double one : time)
                covered += one;
            const std::string where = "seed " + std::to_string(kSeed) + ", round " + std::to_string(round) +
                                      ", column " + std::to_string(c);
            const BoxRun* run = at[std::size_t(c)];
            if (run == nullptr) {
                // Nothing there, or the seam that keeps two wide boxes apart.
                const bool seam = std::any_of(boxes.spans.begin(), boxes.spans.end(),
                                              [c](const BoxSpan& span) { return span.from == c; });
                EXPECT_TRUE(seam || !isTouched(track, left, left + perColumn)) << where << ": boxes vanished";
                continue;
            }
            EXPECT_NEAR(run->level, covered / perColumn * BoxRun::kLevels, 0.5 + 1e-3) << where;
            const double most = *std::max_element(time.begin(), time.end());
            if (most > 0) {
                EXPECT_NEAR(time[std::size_t(run->hue)], most, 1e-3 * perColumn) << where;
            }
        }
    }
}

TEST(Shares, AreTheTimesOfEachHueInEachColumn)
{
    constexpr std::uint64_t kSeed = 21;
    std::mt19937_64 random(kSeed);
    int dense = 0;
    for (int round = 0; round < 60; ++round) {
        const Track track = randomTrack(random, 400);
        const auto end = double(track.end(track.size() - 1));
        const double perColumn = std::floor(end / double(2 + random() % 100)) + 1;
        const double from = std::floor(double(random() % 1000) / 1000 * end - 10 * perColumn);
        const int columns = 1 + int(random() % 120);
        dense += holdsManyPerColumn(track, from, perColumn, columns) ? 1 : 0;
        std::vector<BoxShare> shares;
        makeShares(track, from, perColumn, columns, shares);
        for (int c = 0; c < columns; ++c) {
            const double left = from + c * perColumn;
            const auto time = countedTime(track, left, left + perColumn);
            std::array<int, query::kHueCount> parts{};
            std::vector<const BoxShare*> stack;
            for (const BoxShare& share : shares)
                if (share.from <= c && c < share.to) {
                    parts[std::size_t(share.hue)] += share.high - share.low;
                    stack.push_back(&share);
                }
            for (std::size_t hue = 0; hue < time.size(); ++hue)
                EXPECT_NEAR(parts[hue], time[hue] / perColumn * BoxShare::kParts, 1.0 + 1e-3)
                    << "round " << round << ", column " << c << ", hue " << hue;
            std::ranges::sort(stack, {}, &BoxShare::low);
            for (std::size_t i = 1; i < stack.size(); ++i)
                EXPECT_GE(stack[i]->low, stack[i - 1]->high) << "shares overlap";
        }
    }
    EXPECT_GT(dense, 5);
    EXPECT_LT(dense, 60);
}

TEST(Rings, AreAroundEachBoxOrShareOneWhereBoxesAreClose)
{
    std::mt19937_64 random(5);
    for (int round = 0; round < 60; ++round) {
        const Track track = randomTrack(random, 500);
        std::vector<std::uint32_t> marked;
        for (std::uint32_t i = 0; i < track.size(); ++i)
            if (random() % 3 == 0)
                marked.push_back(i);
        const auto end = double(track.end(track.size() - 1));
        const double perPixel = std::exp(double(random() % 1000) / 1000 * std::log(end / 8));
        const double from = double(random() % 1000) / 1000 * end;
        constexpr double kWidth = 300;
        const std::vector<Ring> rings = ringsOf(track, marked, from, perPixel, kWidth);
        EXPECT_LE(double(rings.size()), kWidth / kRingGap + 2) << "cost follows pixels";
        for (std::size_t r = 1; r < rings.size(); ++r)
            EXPECT_GE(rings[r].from, rings[r - 1].to + kRingGap - 1e-6);
        for (const std::uint32_t i : marked) {
            const double left = (double(track.start(i)) - from) / perPixel;
            const double right = (double(track.end(i)) - from) / perPixel;
            if (right < 0 || left > kWidth)
                continue;
            EXPECT_TRUE(std::any_of(rings.begin(), rings.end(),
                                    [&](const Ring& ring) {
                                        return ring.from <= left + 1e-6 &&
                                               ring.to >= std::min(right, kWidth) - 1e-6;
                                    }))
                << "round " << round << ", box " << i;
        }
    }
}

class TimelineSceneTest : public ::testing::Test {
protected:
    static constexpr int kWidth = 1200;
    static constexpr int kHeight = 900;

    void SetUp() override
    {
        Theme::instance().apply(ThemeChoice::Light);
        QSettings().clear();
        file_ = folder_ / "lm.tscope";
        test::writeLmFile(file_);
        session_ = std::make_unique<query::FileSession>(file_);
        for (const RunId run : {RunId{1}, RunId{2}})
            scene_.sections.push_back(makeSection(session_->timeline(run, testing::kNotCancelled)));
        scene_.window = fittingWindow(scene_.sections);
        layOutScene();
    }

    void layOutScene()
    {
        scene_.sizes =
            LaneSizes::forWindow(scene_.window.length() / (kWidth - 152), scene_.sections, kHeight);
        scene_.layout = layOut(scene_.sections, scene_.sizes);
    }

    // Runs on a CPU in place of those on a GPU.
    void useStudy()
    {
        scene_.sections.clear();
        session_.reset();
        test::writeStudyFile(folder_ / "study.tscope");
        session_ = std::make_unique<query::FileSession>(folder_ / "study.tscope");
        for (const RunId run : {RunId{1}, RunId{2}})
            scene_.sections.push_back(makeSection(session_->timeline(run, testing::kNotCancelled)));
        scene_.window = fittingWindow(scene_.sections);
        layOutScene();
    }

    const query::Timeline& timeline(std::size_t section = 0) const
    {
        return *scene_.sections[section].timeline;
    }
    std::size_t laneOf(query::Lane::Kind kind, std::size_t section = 0) const
    {
        for (std::size_t l = 0; l < timeline(section).lanes.size(); ++l)
            if (timeline(section).lanes[l].kind == kind)
                return l;
        throw std::runtime_error("no such lane");
    }
    std::string nameOf(const query::TimelineItem& item) const
    {
        const Track& row = timeline().lanes[item.lane].rows[item.row];
        return timeline().names[row.name(item.index)].text;
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_;
    std::unique_ptr<query::FileSession> session_;
    TimelineScene scene_;
};

TEST_F(TimelineSceneTest, TheHeadOfARunHasTheToneOfTheVerdict)
{
    scene_.sections =
        alignedAt(std::move(scene_.sections), {timeline().steps.front().step, {}, false}).sections;
    ASSERT_NE(scene_.sections[0].alignedLength, scene_.sections[1].alignedLength);
    const bool less = scene_.sections[1].alignedLength < scene_.sections[0].alignedLength;
    const auto isToned = [&](analysis::Verdict verdict) {
        scene_.sections[1].verdict = verdict;
        const auto band = std::ranges::find_if(scene_.layout.bands, [](const Band& one) {
            return one.kind == Band::Kind::Header && one.section == 1;
        });
        QImage image(kWidth, 30, QImage::Format_RGB32);
        image.fill(colours().surface);
        QPainter painter(&image);
        paintRunHeader(painter, scene_, *band, image.rect());
        painter.end();
        const QRgb tone = (less ? colours().faster : colours().warning).rgb();
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                if (image.pixel(x, y) == tone)
                    return true;
        return false;
    };
    EXPECT_FALSE(isToned(analysis::Verdict::Inconclusive));
    EXPECT_FALSE(isToned(analysis::Verdict::NoDifference));
    EXPECT_TRUE(isToned(less ? analysis::Verdict::Faster : analysis::Verdict::Slower));
}

TEST_F(TimelineSceneTest, EveryKernelIsTiedToTheCallThatLaunchedIt)
{
    const std::size_t stream = laneOf(query::Lane::Kind::Stream);
    const Track& row = timeline().lanes[stream].rows[0];
    std::map<std::int64_t, std::int64_t> launchedAt; // by start
    for (const DeviceEvent& event : session_->reader().deviceEvents({.run = RunId{1}}))
        launchedAt[(event.start - timeline().origin).count()] = (event.launched - timeline().origin).count();
    for (std::size_t i = 0; i < row.size(); ++i) {
        const query::ItemLinks links =
            session_->links(RunId{1}, timeline(), {stream, 0, i}, testing::kNotCancelled);
        ASSERT_TRUE(links.launch) << i;
        EXPECT_EQ(nameOf(*links.launch), "cudaLaunchKernel");
        const Track& host = timeline().lanes[links.launch->lane].rows[links.launch->row];
        EXPECT_EQ(host.start(links.launch->index), launchedAt.at(row.start(i)));
        // And back from the call to what it launched.
        const query::ItemLinks back =
            session_->links(RunId{1}, timeline(), *links.launch, testing::kNotCancelled);
        ASSERT_EQ(back.launched.size(), 1U);
        EXPECT_EQ(back.launched[0], (query::TimelineItem{stream, 0, i}));
    }
}

TEST_F(TimelineSceneTest, ForwardAndBackwardOpsAreTiedByTheirSequenceNumber)
{
    std::int64_t tied = 0;
    for (const Op& op : session_->reader().ops({.run = RunId{1}})) {
        if (op.scope != OpScope::Backward || op.sequence < 0)
            continue;
        const auto box = query::hostBoxAt(timeline(), op.thread, (op.start - timeline().origin).count());
        ASSERT_TRUE(box);
        const query::ItemLinks links = session_->links(RunId{1}, timeline(), *box, testing::kNotCancelled);
        ASSERT_TRUE(links.forward) << session_->reader().text(op.name);
        const query::ItemLinks back =
            session_->links(RunId{1}, timeline(), *links.forward, testing::kNotCancelled);
        ASSERT_EQ(back.backward.size(), 1U);
        EXPECT_EQ(back.backward[0], *box);
        ++tied;
        const std::string_view name = session_->reader().text(op.name);
        if (name.ends_with("SoftmaxBackward0")) {
            EXPECT_EQ(nameOf(*links.forward), "aten::softmax");
        }
        if (name.ends_with("SiluBackward0")) {
            EXPECT_EQ(nameOf(*links.forward), "aten::silu");
        }
    }
    EXPECT_EQ(tied, 2 * (2 * 5 + 1)) << "five ops of two layers and one of the head in two steps";
}

TEST_F(TimelineSceneTest, DetailsShowOccupancyOfALaunchAndRatesOfItsOp)
{
    const std::size_t stream = laneOf(query::Lane::Kind::Stream);
    const Track& row = timeline().lanes[stream].rows[0];
    bool seen = false;
    for (std::size_t i = 0; i < row.size() && !seen; ++i) {
        const query::ItemDetails details = session_->details(RunId{1}, timeline(), {stream, 0, i});
        ASSERT_TRUE(details.occupancy) << details.noOccupancy;
        EXPECT_EQ(details.occupancy->limit, analysis::OccupancyLimit::Registers); // 168 a thread
        EXPECT_DOUBLE_EQ(details.waves.value(), 384.0 / (3 * 132));
        if (details.op != "aten::linear")
            continue;
        seen = true;
        // [4, 128, 768] by [768, 768]: two per multiply-add.
        EXPECT_EQ(details.achieved.kernels, 1);
        EXPECT_NEAR(details.achieved.flops.value(), 2.0 * 4 * 128 * 768 * 768 / double(row.length(i)) * 1e9,
                    1e9);
        EXPECT_EQ(details.module, "layers.0/attention");
    }
    EXPECT_TRUE(seen);
}

TEST_F(TimelineSceneTest, LaunchesOfAWindowAreThoseOfWhatRunsInIt)
{
    const std::size_t stream = laneOf(query::Lane::Kind::Stream);
    const Track& row = timeline().lanes[stream].rows[0];
    const std::int64_t from = row.start(4);
    const std::int64_t to = row.end(9);
    const auto links =
        launchesWithin(session_->reader(), RunId{1}, timeline(), from, to, 100, testing::kNotCancelled);
    ASSERT_EQ(links.size(), 6U);
    for (std::size_t i = 0; i < links.size(); ++i)
        EXPECT_EQ(links[i].device, (query::TimelineItem{stream, 0, 4 + i}));
    EXPECT_TRUE(
        launchesWithin(session_->reader(), RunId{1}, timeline(), from, to, 5, testing::kNotCancelled).empty())
        << "too many to distinguish";
}

TEST_F(TimelineSceneTest, AnArrowGoesFromTheLaunchDownToTheKernelAndNotToAHiddenLane)
{
    const std::size_t stream = laneOf(query::Lane::Kind::Stream);
    const query::TimelineItem kernel{stream, 0, 3};
    const query::ItemLinks links = session_->links(RunId{1}, timeline(), kernel, testing::kNotCancelled);
    const std::vector<SceneLink> arrows{{SceneLink::Kind::Launch, {0, *links.launch}, {0, kernel}}};
    const std::vector<LinkLine> lines = linkLines(arrows, scene_, kWidth, kHeight);
    ASSERT_EQ(lines.size(), 1U);
    const QRect from = scene_.rectOf(arrows[0].from, kWidth, kHeight);
    const QRect to = scene_.rectOf(arrows[0].to, kWidth, kHeight);
    EXPECT_NEAR(lines[0].from.y(), from.bottom() + 1, 1.01);
    EXPECT_NEAR(lines[0].to.y(), to.top(), 1.01);
    EXPECT_GE(lines[0].from.x(), from.left() - 1);
    EXPECT_LE(lines[0].from.x(), from.right() + 1);
    EXPECT_EQ(linkLines({arrows[0], arrows[0]}, scene_, kWidth, kHeight).size(), 1U)
        << "lines on one another are one";
    for (LaneView& view : scene_.sections[0].lanes)
        view.hidden = view.lane == stream;
    layOutScene();
    EXPECT_TRUE(linkLines(arrows, scene_, kWidth, kHeight).empty());
}

TEST_F(TimelineSceneTest, InstancesAreVisitedInOrderOfTimeAndWrapAround)
{
    BoxSet set;
    std::vector<SectionItem> all;
    for (std::size_t s = 0; s < 2; ++s) {
        const std::size_t stream = laneOf(query::Lane::Kind::Stream, s);
        const Track& row = timeline(s).lanes[stream].rows[0];
        const std::string name = timeline(0).names[timeline(0).lanes[stream].rows[0].name(0)].text;
        ASSERT_TRUE(eachInstance(
            timeline(s), name,
            [&](const query::TimelineItem& item) {
                set.add(s, item);
                all.push_back({s, item});
                EXPECT_EQ(timeline(s).names[row.name(item.index)].text, name);
            },
            testing::kNotCancelled));
    }
    ASSERT_GT(all.size(), 2U);
    EXPECT_EQ(set.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(set.rank(scene_.sections, all[i]), i);
        EXPECT_EQ(set.neighbour(scene_.sections, all[i], 1), all[(i + 1) % all.size()]);
        EXPECT_EQ(set.neighbour(scene_.sections, all[i], -1), all[(i + all.size() - 1) % all.size()]);
    }
    EXPECT_EQ(set.neighbour(scene_.sections, {}, 1), all.front());
    EXPECT_EQ(set.neighbour(scene_.sections, {}, -1), all.back());
    EXPECT_FALSE(BoxSet().neighbour(scene_.sections, {}, 1));
}

TEST_F(TimelineSceneTest, AnArrangementIsRememberedForItsFileAndHoldsForItsOtherRuns)
{
    TimelineSection first = scene_.sections[0];
    std::rotate(first.lanes.begin(), first.lanes.end() - 1, first.lanes.end()); // memory on top
    first.lanes[1].hidden = true;
    first.lanes[2].tall = 2;
    const QString file = QString::fromStdString(file_.string());
    arrangementOf(first).write(file);
    EXPECT_EQ(LaneArrangement::read(file), arrangementOf(first));
    EXPECT_TRUE(LaneArrangement::read(file + QStringLiteral("x")).lanes.empty());
    TimelineSection second = scene_.sections[1];
    arrange(second, LaneArrangement::read(file));
    EXPECT_EQ(second.lanes, first.lanes);
}

TEST_F(TimelineSceneTest, ALaneThatAnArrangementDoesNotKnowKeepsItsPlace)
{
    LaneArrangement partial = arrangementOf(scene_.sections[0]);
    const std::string missing = partial.lanes[1].key;
    partial.lanes.erase(partial.lanes.begin() + 1);
    partial.lanes.push_back({"thread long gone", true, true, 9});
    TimelineSection section = scene_.sections[0];
    arrange(section, partial);
    ASSERT_EQ(section.lanes.size(), scene_.sections[0].lanes.size());
    EXPECT_EQ(laneKey(*section.timeline, section.lanes[1].lane), missing);
}

TEST_F(TimelineSceneTest, RangesOfEqualLengthEndTogetherWhateverTheyAreAlignedAt)
{
    Alignment alignment{timeline().steps[1].step, "step/forward/layers.0/attention", true};
    const AlignedSections aligned = alignedAt(scene_.sections, alignment);
    ASSERT_TRUE(aligned.window);
    const auto endOf = [&](std::size_t s) {
        const TimelineSection& section = aligned.sections[s];
        return section.toAxis(section.alignAt + double(section.alignedLength));
    };
    EXPECT_NEAR(endOf(0), endOf(1), 1);
    EXPECT_GT(aligned.sections[0].alignedLength, aligned.sections[1].alignedLength) << "flash is faster";
    EXPECT_EQ(aligned.sections[0].alignedAt, QStringLiteral("attention"));
    const auto none = alignedAt(scene_.sections, {kNoStep, {}, false});
    EXPECT_FALSE(none.window);
    EXPECT_EQ(none.sections[0].alignAt, 0);
}

TEST_F(TimelineSceneTest, TwoRunsAreDenseWhereTheyFitOnlySo)
{
    const double far = 10'000; // ns a pixel
    const int usual = layOut(scene_.sections, LaneSizes::of(LaneSizes::Density::Usual)).height;
    const int dense = layOut(scene_.sections, LaneSizes::of(LaneSizes::Density::Dense)).height;
    const int least = layOut(scene_.sections, LaneSizes::of(LaneSizes::Density::Least)).height;
    ASSERT_LT(dense, usual);
    ASSERT_LT(least, dense);
    const int frame = scene_.sizes.overview + scene_.sizes.ruler;
    const auto heightFor = [&](int height) {
        return layOut(scene_.sections, LaneSizes::forWindow(far, scene_.sections, height + frame)).height;
    };
    EXPECT_EQ(heightFor(usual), usual);
    for (int height = least; height < usual; height += 20) {
        EXPECT_LE(heightFor(height), height) << "fits";
        if (height >= dense) {
            EXPECT_GE(heightFor(height), dense);
        }
    }
    EXPECT_GT(heightFor(usual - 1), dense) << "no denser than it must be";
    EXPECT_GT(heightFor(dense - 1), least) << "nor here";
    EXPECT_LE(heightFor(least - 1), least - 1) << "a pair is seen whole";
    EXPECT_EQ(heightFor(dense / 4), usual) << "what must be scrolled anyway need not be small";
}

TEST_F(TimelineSceneTest, LanesOfRunsWithoutADeviceGrowAsFarAsTheyFitAtAnyZoom)
{
    useStudy();
    const int close = layOut(scene_.sections, LaneSizes::of(LaneSizes::Density::Close)).height;
    const int tall = layOut(scene_.sections, LaneSizes::of(LaneSizes::Density::Tall)).height;
    ASSERT_LT(close, tall);
    const int frame = scene_.sizes.overview + scene_.sizes.ruler;
    int before = 0;
    for (int height = close; height < tall + 100; height += 15) {
        int used = 0;
        for (const double perPixel : {10.0, 1000.0, 100'000.0}) {
            const LaneSizes sizes = LaneSizes::forWindow(perPixel, scene_.sections, height + frame);
            const int needed = layOut(scene_.sections, sizes).height;
            EXPECT_LE(needed, height);
            EXPECT_LT(height - needed, int(scene_.sections.size())) << "they fill it";
            EXPECT_TRUE(used == 0 || needed == used) << "a zoom changes no height";
            used = needed;
        }
        EXPECT_GE(used, before);
        before = used;
    }
    EXPECT_GT(before, tall);
    const LaneSizes high = LaneSizes::forWindow(1000, scene_.sections, 10 * tall);
    EXPECT_EQ(high.op, sizes().of(72)) << "rows higher than that say no more: memory has the rest";
    EXPECT_GT(high.spare, 0);
}

TEST_F(TimelineSceneTest, OpsOfTwoRunsWithoutADeviceHaveRoomForTheirNamesInALowWindow)
{
    useStudy();
    const int frame = scene_.sizes.overview + scene_.sizes.ruler;
    const double perPixel = scene_.window.length() / 800;
    for (const int height : {380, 500, 700}) {
        const LaneSizes sizes = LaneSizes::forWindow(perPixel, scene_.sections, height + frame);
        const TimelineLayout layout = layOut(scene_.sections, sizes);
        EXPECT_LE(layout.height, height);
        for (const Band& band : layout.bands) {
            if (band.kind != Band::Kind::Lane || scene_.sections[band.section].lanes[band.view].folded)
                continue;
            const query::Lane& lane =
                timeline(band.section).lanes[scene_.sections[band.section].lanes[band.view].lane];
            if (lane.kind != query::Lane::Kind::Thread)
                continue;
            for (std::size_t row = 0; row < lane.rows.size(); ++row) {
                const bool isSeen = double(lane.rows[row].longest()) >= 3 * perPixel;
                EXPECT_TRUE(!isSeen || band.heightOf(row) >= tilescope::ui::sizes().of(18)) << "row " << row;
                EXPECT_LE(band.rowTop(row) + band.heightOf(row), band.top + band.height);
            }
        }
    }
}

TEST_F(TimelineSceneTest, RowsOfOpsThatAreTooNarrowToBeSeenShareALowOne)
{
    LaneSizes sizes = LaneSizes::of(LaneSizes::Density::Usual);
    const int whole = layOut(scene_.sections, sizes).height;
    sizes.leastBox = 2 * scene_.window.length();
    const TimelineLayout layout = layOut(scene_.sections, sizes);
    EXPECT_LE(layout.height, whole);
    bool anyShared = false;
    for (const Band& band : layout.bands) {
        if (band.kind != Band::Kind::Lane || scene_.sections[band.section].lanes[band.view].folded)
            continue;
        const query::Lane& lane =
            timeline(band.section).lanes[scene_.sections[band.section].lanes[band.view].lane];
        if (lane.kind != query::Lane::Kind::Thread)
            continue;
        EXPECT_EQ(band.heightOf(0), band.rowHeight);
        for (std::size_t row = 1; row < lane.rows.size(); ++row) {
            anyShared = true;
            EXPECT_LT(band.heightOf(row), band.rowHeight);
            EXPECT_EQ(band.rowTop(row), band.rowTop(1));
            EXPECT_LE(band.rowTop(row) + band.heightOf(row), band.top + band.height);
            EXPECT_EQ(band.rowAt(band.rowTop(row)), 1);
        }
    }
    EXPECT_TRUE(anyShared);
}

TEST_F(TimelineSceneTest, BoxesWithRoomForTwoLinesShowTheirDuration)
{
    useStudy();
    scene_.sections.pop_back(); // the naive run has few ops
    scene_.window = fittingWindow(scene_.sections);
    const auto textsAt = [this](LaneSizes::Density density) {
        scene_.sizes = LaneSizes::of(density);
        scene_.layout = layOut(scene_.sections, scene_.sizes);
        TextRecorder recorder({kWidth, kHeight});
        QPainter painter(&recorder);
        TimelinePainter().paint(painter, scene_, kWidth, kHeight, true);
        painter.end();
        std::vector<QString> texts;
        for (const TextRecorder::Text& text : recorder.texts())
            texts.push_back(text.words);
        return texts;
    };
    const query::Lane& ops = timeline().lanes[laneOf(query::Lane::Kind::Thread)];
    const Track& row = ops.rows.front();
    std::size_t longest = 0;
    for (std::size_t i = 0; i < row.size(); ++i)
        if (row.length(i) > row.length(longest))
            longest = i;
    const QString name = QString::fromStdString(timeline().names[row.name(longest)].label);
    const QString duration = timeText(double(row.length(longest)));
    const std::vector<QString> tall = textsAt(LaneSizes::Density::Tall);
    const auto named = std::ranges::find(tall, name);
    ASSERT_NE(named, tall.end());
    EXPECT_NE(std::find(named, tall.end(), duration), tall.end());
    const std::vector<QString> close = textsAt(LaneSizes::Density::Close);
    EXPECT_NE(std::ranges::find(close, name), close.end());
    EXPECT_EQ(std::ranges::find(close, duration), close.end());
}

TEST_F(TimelineSceneTest, MemoryLanesOfAllRunsHaveOneRangeFromZero)
{
    std::int64_t most = 0;
    for (const TimelineSection& section : scene_.sections)
        for (const query::Lane& lane : section.timeline->lanes)
            if (lane.kind == query::Lane::Kind::Memory && !lane.allocated.empty())
                most = std::max(most, lane.allocated.value(lane.allocated.peak()));
    ASSERT_GT(most, 0);
    const MemoryRange range = scene_.memoryRange();
    EXPECT_DOUBLE_EQ(range.to, 1.1 * double(most));
    EXPECT_EQ(range.yOf(0, 100, 136), 135) << "nothing is at the foot";
    const int half = 135 - range.yOf(range.to / 2, 100, 136);
    EXPECT_NEAR(135 - range.yOf(range.to / 4, 100, 136), half / 2.0, 1) << "half the bytes, half the height";
}

TEST_F(TimelineSceneTest, CountersHaveOneRangeInAllRunsAndAValueUnderTheCursor)
{
    // The second run draws more power, and only it has a temperature.
    const auto withCounters = [](const query::Timeline& timeline, std::int64_t watts, bool isHot) {
        auto changed = std::make_shared<query::Timeline>(timeline);
        query::Lane power;
        power.kind = query::Lane::Kind::Counter;
        power.title = power.counter = "Power";
        power.unit = "W";
        power.values = query::StepCurve({0, changed->length / 2}, {watts * 1000, watts * 500});
        power.valuesEnd = changed->length;
        changed->lanes.push_back(power);
        if (isHot) {
            power.title = power.counter = "Temperature";
            power.unit = "°C";
            changed->lanes.push_back(power);
        }
        return makeSection(changed);
    };
    scene_.sections = {withCounters(timeline(0), 400, false), withCounters(timeline(1), 700, true)};
    layOutScene();
    const query::Lane& first = timeline(0).lanes.back();
    EXPECT_DOUBLE_EQ(scene_.rangeOf(first).to, 1.1 * 700'000);
    EXPECT_DOUBLE_EQ(scene_.rangeOf(timeline(1).lanes.back()).to, 1.1 * 700'000) << "by name, not by unit";
    EXPECT_EQ(scene_.rangeOf(first).to, scene_.rangeOf(timeline(1).lanes[timeline(1).lanes.size() - 2]).to);
    EXPECT_EQ(laneKey(timeline(0), timeline(0).lanes.size() - 1), "counter Power");

    const auto band = std::ranges::find_if(scene_.layout.bands, [&](const Band& each) {
        return each.kind == Band::Kind::Lane && each.section == 0 && &scene_.laneOf(each) == &first;
    });
    ASSERT_NE(band, scene_.layout.bands.end());
    EXPECT_GT(band->height, 10);
    const QRect plot = scene_.plot(kWidth, kHeight);
    const auto wordsAt = [&](double share) {
        const double axis = scene_.sections[0].toAxis(share * double(timeline(0).length));
        scene_.window = {axis - 1000, axis + 1000};
        scene_.scroll = std::max(0, band->top - plot.height() / 2);
        return curveWordsAt(scene_, {plot.center().x(), plot.top() + band->top - scene_.scroll + 3},
                            {kWidth, kHeight});
    };
    ASSERT_TRUE(wordsAt(0.25));
    EXPECT_EQ(wordsAt(0.25)->first, QStringLiteral("Power  400\u2009W"));
    EXPECT_EQ(wordsAt(0.75)->first, QStringLiteral("Power  200\u2009W"));
    EXPECT_FALSE(wordsAt(1.5)) << "behind the last reading";
    EXPECT_FALSE(wordsAt(-0.5)) << "before the first";
}

TEST_F(TimelineSceneTest, LanesThatAreMadeToFitAreAllSeenAndLieApart)
{
    std::size_t lanes = 0;
    for (const TimelineSection& section : scene_.sections)
        lanes += section.lanes.size();
    scene_.sections[0].lanes[1].folded = true;
    const int frame = scene_.sizes.overview + scene_.sizes.ruler;
    const int dense = layOut(scene_.sections, LaneSizes::of(LaneSizes::Density::Dense)).height;
    const int frames = 2 * scene_.sizes.header + scene_.sizes.difference;
    for (int height = frames + int(lanes) * 8; height < dense; height += 37) {
        const TimelineLayout layout =
            layOut(scene_.sections, LaneSizes::fitting(scene_.sections, height + frame));
        EXPECT_LE(layout.height, height);
        EXPECT_GT(layout.height, height - 4) << "no lower than it takes";
        std::size_t seen = 0;
        int end = 0;
        for (const Band& band : layout.bands) {
            EXPECT_GE(band.top, end);
            end = band.top + band.height;
            if (band.kind != Band::Kind::Lane)
                continue;
            ++seen;
            EXPECT_GE(band.height, 4);
            const TimelineSection& section = scene_.sections[band.section];
            const query::Lane& lane = section.timeline->lanes[section.lanes[band.view].lane];
            for (std::size_t row = 0; row < lane.rows.size(); ++row)
                EXPECT_LE(band.rowTop(row) + band.rowHeight, end) << "a row stays in its lane";
        }
        EXPECT_EQ(seen, lanes);
    }
    // Of one run, too, nothing is left over, at heights at which its lanes could be higher.
    scene_.sections.pop_back();
    const int close = layOut(scene_.sections, LaneSizes::of(LaneSizes::Density::Close)).height;
    for (int height = 150; height < close + 100; height += 13) {
        const int used = layOut(scene_.sections, LaneSizes::fitting(scene_.sections, height + frame)).height;
        if (used <= height) {
            EXPECT_GE(used, height - 1);
        }
    }
    // If there is no space for four pixels per lane, lanes have four pixels and scroll.
    const TimelineLayout least = layOut(scene_.sections, LaneSizes::fitting(scene_.sections, frame + 20));
    for (const Band& band : least.bands)
        EXPECT_TRUE(band.kind != Band::Kind::Lane || band.height >= 4);
}

TEST_F(TimelineSceneTest, PinnedLanesStayAtTheTopAndHeadersUntilTheirRunHasGone)
{
    const LaneSizes sizes = LaneSizes::of(LaneSizes::Density::Usual);
    scene_.sections[0].lanes[1].pinned = true;
    scene_.sections[1].lanes[2].pinned = true;
    const TimelineLayout layout = layOut(scene_.sections, sizes);
    int pinned = 0;
    int end = 0;
    for (const Band& band : layout.bands) {
        EXPECT_GE(band.top, end) << "bands lie apart";
        end = band.top + band.height;
        pinned += band.isPinned ? 1 : 0;
    }
    EXPECT_EQ(pinned, 2);
    for (int scroll = 0; scroll < layout.height; scroll += 7) {
        // What is seen at each pixel: the uppermost of what lies there.
        for (int y = 0; y < 400; ++y) {
            const Band* seen = layout.at(y, scroll);
            const auto isAt = [&](const Band& band) {
                const int top = layout.topOf(band, scroll);
                return y >= top && y < top + band.height;
            };
            if (seen == nullptr) {
                for (const Band& band : layout.bands)
                    EXPECT_FALSE(isAt(band) && (band.isPinned || y >= layout.pinnedHeight)) << y;
                continue;
            }
            EXPECT_TRUE(isAt(*seen)) << y;
            EXPECT_EQ(seen->isPinned, y < layout.pinnedHeight) << y;
        }
        for (const Band& band : layout.bands) {
            const int top = layout.topOf(band, scroll);
            if (band.isPinned) {
                EXPECT_EQ(top, band.top);
            } else if (band.kind != Band::Kind::Header) {
                EXPECT_EQ(top, band.top - scroll);
            } else if (band.end - scroll - band.height >= layout.pinnedHeight) {
                EXPECT_GE(top, layout.pinnedHeight) << "it is seen while a lane of its run is";
            } else {
                EXPECT_LT(top, layout.pinnedHeight) << "it leaves with its last lane";
            }
        }
    }
    const int room = layout.pinnedHeight - 1;
    int fit = 0;
    for (const Band& band : layOut(scene_.sections, sizes, room).bands)
        fit += band.isPinned ? 1 : 0;
    EXPECT_EQ(fit, 1) << "the rest would have no room";
}

TEST_F(TimelineSceneTest, PicturesOfPinnedLanesAreTheSameWhateverTheScroll)
{
    constexpr int kLow = 400;
    scene_.sections[0].lanes[1].pinned = true;
    scene_.sizes = LaneSizes::of(LaneSizes::Density::Close);
    scene_.layout = layOut(scene_.sections, scene_.sizes);
    ASSERT_GT(scene_.layout.height, kLow);
    const auto pinnedAt = [&](int scroll) {
        scene_.scroll = scroll;
        QImage image(kWidth, kLow, QImage::Format_RGB32);
        QPainter painter(&image);
        TimelinePainter timeline;
        timeline.paint(painter, scene_, kWidth, kLow);
        painter.end();
        return image.copy(0, scene_.plot(kWidth, kLow).top(), kWidth, scene_.layout.pinnedHeight);
    };
    const QImage first = pinnedAt(0);
    for (const int scroll : {5, 40, scene_.layout.height / 2})
        EXPECT_EQ(pinnedAt(scroll), first) << scroll;
}

} // namespace
} // namespace tilescope::ui
