// Sweeps one after the other in fake engines, without a window.

#include "ui/experiment/sweep_queue.h"

#include "core/store/run_reader.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/timeouts.h"

#include <QTest>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace tilescope::ui {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using State = SweepQueue::State;

constexpr std::chrono::seconds kFlood{2}; // many times as long as a full list of events takes

class Queue : public ::testing::Test {
protected:
    void SetUp() override
    {
        setenv("TILESCOPE_ENGINE", FAKE_ENGINE, 1);
        setenv("FAKE_SCRIPT", "ok", 1);
        unsetenv("FAKE_START");
        setenv("FAKE_GATE", (folder / "gate").c_str(), 1);
        QObject::connect(&queue, &SweepQueue::reported, [this](const std::vector<session::Event>& events) {
            reported += int(events.size());
            largest = std::max(largest, events.size());
            for (const session::Event& event : events) {
                if (const auto* point = std::get_if<session::PointEvent>(&event)) {
                    begun.push_back(point->index);
                    if (onPoint)
                        onPoint(point->index);
                }
                if (const auto* result = std::get_if<session::ResultEvent>(&event))
                    statuses.push_back(result->status);
            }
        });
        QObject::connect(&queue, &SweepQueue::began,
                         [this] { names.push_back(queue.current()->name.toStdString()); });
        QObject::connect(&queue, &SweepQueue::ended, [this](const SweepEnd& end) { ends.push_back(end); });
    }

    /// A sweep with one point per seed.
    SweepJob job(const char* name, std::initializer_list<std::int64_t> seeds,
                 const char* file = "a.tscope") const
    {
        std::vector<ExperimentSpec> specs;
        for (const std::int64_t seed : seeds) {
            ExperimentSpec spec;
            spec.name = name;
            spec.device = {DeviceRequest::Kind::Cpu};
            spec.steps = 3;
            spec.seed = seed;
            specs.push_back(spec);
        }
        SweepJob made;
        made.name = QString::fromLatin1(name);
        made.points =
            std::make_shared<const std::vector<session::SweepPoint>>(session::numbered(std::move(specs)));
        made.file = QString::fromStdString((folder / file).string());
        return made;
    }

    /// Lets points of the behaviour `gate` go on.
    void openGate() const { std::ofstream(folder / "gate"); }

    bool waitFor(State state)
    {
        return QTest::qWaitFor([&] { return queue.state() == state; }, kTimeoutMs);
    }

    std::vector<RunStatus> stored(const char* file = "a.tscope") const
    {
        std::vector<RunStatus> list;
        for (const store::RunRecord& record : store::RunReader(folder / file).runs())
            list.push_back(record.result.status);
        return list;
    }

    testing::TemporaryFolder folder;
    SweepQueue queue;
    std::function<void(std::int64_t)> onPoint;
    int reported = 0;
    std::size_t largest = 0;
    std::vector<std::int64_t> begun;
    std::vector<std::string> statuses;
    std::vector<std::string> names;
    std::vector<SweepEnd> ends;
};

TEST_F(Queue, RunsSweepsInTheOrderInWhichTheyStand)
{
    queue.add(job("first", {0}));
    const int second = queue.add(job("second", {0}));
    const int third = queue.add(job("third", {0}));
    const int fourth = queue.add(job("fourth", {0}));
    EXPECT_EQ(queue.state(), State::Running);
    EXPECT_EQ(queue.current()->name, "first");
    const SweepJob known = job("fourth", {0});
    EXPECT_TRUE(queue.holds(known.file, known.points->front().spec));
    EXPECT_FALSE(queue.holds(known.file, job("fourth", {1}).points->front().spec));
    EXPECT_FALSE(queue.holds(QStringLiteral("other.tscope"), known.points->front().spec));
    EXPECT_FALSE(queue.move(second, -1)) << "it is the first that waits";
    EXPECT_TRUE(queue.move(third, -1));
    EXPECT_TRUE(queue.remove(fourth));
    EXPECT_FALSE(queue.remove(fourth));
    EXPECT_FALSE(queue.holds(known.file, known.points->front().spec));
    ASSERT_TRUE(waitFor(State::Idle));
    EXPECT_THAT(names, ElementsAre("first", "third", "second"));
    EXPECT_EQ(ends.size(), 3U);
    EXPECT_EQ(stored().size(), 3U);
    EXPECT_EQ(queue.current(), nullptr);
}

TEST_F(Queue, PausesAfterThePointThatRunsAndGoesOnWithTheRest)
{
    onPoint = [this](std::int64_t index) {
        if (index != 1)
            return;
        queue.pause();
        openGate();
    };
    setenv("FAKE_SCRIPT", "ok,gate,ok", 1);
    queue.add(job("paused", {0, 1, 2, 3}));
    queue.add(job("next", {0}));
    ASSERT_TRUE(waitFor(State::Held));
    EXPECT_EQ(statuses.size(), 2U);
    ASSERT_EQ(ends.size(), 1U);
    ASSERT_NE(ends[0].left, nullptr);
    EXPECT_EQ(ends[0].left->front().index, 2);
    EXPECT_EQ(queue.current()->name, "paused");
    EXPECT_EQ(stored().size(), 2U) << "the file is whole while the sweep is paused";
    const double seconds = queue.activeSeconds();
    QTest::qWait(100);
    EXPECT_EQ(queue.activeSeconds(), seconds);

    onPoint = nullptr;
    queue.resume();
    ASSERT_TRUE(waitFor(State::Idle));
    EXPECT_THAT(begun, ElementsAre(0, 1, 2, 3, 0));
    EXPECT_THAT(names, ElementsAre("paused", "next"));
    EXPECT_GT(queue.activeSeconds(), 0);
}

TEST_F(Queue, CancelsAPausedSweepWithoutAnEngine)
{
    onPoint = [this](std::int64_t) {
        queue.pause();
        openGate();
    };
    setenv("FAKE_SCRIPT", "gate", 1);
    queue.add(job("paused", {0, 1}));
    ASSERT_TRUE(waitFor(State::Held));
    queue.cancel();
    EXPECT_EQ(queue.state(), State::Idle);
    EXPECT_TRUE(ends.back().cancelled);
    EXPECT_EQ(stored().size(), 1U);
}

TEST_F(Queue, GoesOnWithTheNextSweepAfterACancel)
{
    setenv("FAKE_SCRIPT", "slow,ok", 1);
    SweepJob slow = job("slow", {0});
    auto specs = *slow.points;
    specs[0].spec.steps = 100'000;
    slow.points = std::make_shared<const std::vector<session::SweepPoint>>(specs);
    onPoint = [this](std::int64_t) {
        if (statuses.empty())
            queue.cancel();
    };
    queue.add(slow);
    queue.add(job("next", {1}));
    ASSERT_TRUE(waitFor(State::Idle));
    EXPECT_THAT(statuses, ElementsAre("cancelled", "ok"));
    EXPECT_TRUE(ends[0].cancelled);
}

TEST_F(Queue, HoldsWhatWaitsWhereAnEngineCannotBeStarted)
{
    setenv("TILESCOPE_ENGINE", "/no/such/engine", 1);
    queue.add(job("first", {0}));
    queue.add(job("second", {0}));
    ASSERT_TRUE(waitFor(State::Held));
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_THAT(ends[0].failure.toStdString(), HasSubstr("/no/such/engine"));
    EXPECT_EQ(queue.waiting().size(), 1U);
    setenv("TILESCOPE_ENGINE", FAKE_ENGINE, 1);
    queue.resume();
    ASSERT_TRUE(waitFor(State::Idle));
    EXPECT_THAT(names, ElementsAre("first", "second"));
    EXPECT_THAT(statuses, ElementsAre("ok"));
}

TEST_F(Queue, SaysHowAnEngineThatDoesNotStartDied)
{
    setenv("FAKE_START", "crash", 1);
    queue.add(job("crash", {0, 1}));
    ASSERT_TRUE(waitFor(State::Idle));
    EXPECT_THAT(statuses, ElementsAre("error"));
    EXPECT_THAT(stored(), ElementsAre(RunStatus::Error));
}

TEST_F(Queue, KeepsWhatACrashedEngineHadStored)
{
    setenv("FAKE_SCRIPT", "ok,segv,ok", 1);
    queue.add(job("crash", {0, 1, 2}));
    ASSERT_TRUE(waitFor(State::Idle));
    EXPECT_THAT(statuses, ElementsAre("ok", "error", "ok"));
    EXPECT_THAT(stored(), ElementsAre(RunStatus::Ok, RunStatus::Error, RunStatus::Ok));
}

TEST_F(Queue, TakesNoMoreOfAFloodThanAWindowCanShow)
{
    setenv("FAKE_SCRIPT", "samples", 1);
    SweepJob flood = job("flood", {0});
    auto specs = *flood.points;
    specs[0].spec.timeoutSeconds = 0.5;
    flood.points = std::make_shared<const std::vector<session::SweepPoint>>(specs);
    queue.setTimeouts({.pastTimeout = kFlood});
    queue.add(flood);
    QTest::qSleep(1000); // nobody takes anything out
    ASSERT_TRUE(waitFor(State::Idle));
    EXPECT_LE(largest, 10'100U);
    EXPECT_THAT(statuses, ElementsAre("error"));
}

TEST_F(Queue, RunsOnlyWhatTheFileLacks)
{
    queue.add(job("half", {0, 2}));
    ASSERT_TRUE(waitFor(State::Idle));
    std::vector<std::int64_t> held;
    QObject::connect(&queue, &SweepQueue::passedOver,
                     [&](const std::vector<std::int64_t>& all) { held = all; });
    begun.clear();
    SweepJob whole = job("half", {0, 1, 2, 3});
    whole.onlyMissing = true;
    queue.add(whole);
    ASSERT_TRUE(waitFor(State::Idle));
    EXPECT_THAT(held, ElementsAre(0, 2));
    EXPECT_THAT(begun, ElementsAre(1, 3));
    EXPECT_EQ(stored().size(), 4U);
}

TEST_F(Queue, EndsItsEngineWhenItGoes)
{
    setenv("FAKE_SCRIPT", "slow", 1);
    auto own = std::make_unique<SweepQueue>();
    SweepJob slow = job("slow", {0}, "b.tscope");
    auto specs = *slow.points;
    specs[0].spec.steps = 100'000;
    slow.points = std::make_shared<const std::vector<session::SweepPoint>>(specs);
    bool begins = false;
    QObject::connect(own.get(), &SweepQueue::reported, [&](const std::vector<session::Event>& events) {
        for (const session::Event& event : events)
            begins = begins || std::holds_alternative<session::SampleEvent>(event);
    });
    own->add(slow);
    ASSERT_TRUE(QTest::qWaitFor([&] { return begins; }, kTimeoutMs));
    own.reset();
    EXPECT_THAT(stored("b.tscope"), ElementsAre(RunStatus::Cancelled));
}

} // namespace
} // namespace tilescope::ui
