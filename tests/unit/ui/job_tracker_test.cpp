// Background work: delivered in the owner's thread, once, and not at all if it is stale or has no owner.

#include "ui/jobs/job_tracker.h"

#include <QCoreApplication>
#include <QTest>
#include <QThread>

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stdexcept>

namespace tilescope::ui {
namespace {

constexpr int kTimeoutMs = 90'000;

void nobodyFails(const QString& sentence)
{
    ADD_FAILURE() << sentence.toStdString();
}

TEST(JobTracker, WorksElsewhereAndDeliversHere)
{
    QObject owner;
    JobTracker jobs(&owner);
    QThread* worked = nullptr;
    QThread* delivered = nullptr;
    std::string value;
    jobs.start(
        [&worked](const auto&) {
            worked = QThread::currentThread();
            return std::string("made");
        },
        [&](std::string made) {
            value = std::move(made);
            delivered = QThread::currentThread();
        },
        nobodyFails);
    ASSERT_TRUE(QTest::qWaitFor([&] { return delivered != nullptr; }, kTimeoutMs));
    EXPECT_EQ(value, "made");
    EXPECT_EQ(delivered, QThread::currentThread());
    EXPECT_NE(worked, QThread::currentThread());
}

TEST(JobTracker, ExceptionsOfAJobAreReported)
{
    QObject owner;
    JobTracker jobs(&owner);
    QString message;
    jobs.start([](const auto&) -> int { throw std::runtime_error("no such file"); },
               [](int) { ADD_FAILURE(); }, [&message](const QString& sentence) { message = sentence; });
    ASSERT_TRUE(QTest::qWaitFor([&] { return !message.isEmpty(); }, kTimeoutMs));
    EXPECT_TRUE(message.contains("no such file")) << message.toStdString();
}

TEST(JobTracker, ANewJobMakesTheOneBeforeStale)
{
    QObject owner;
    JobTracker jobs(&owner);
    std::atomic<bool> began = false;
    std::atomic<bool> sawIt = false;
    std::optional<int> value;
    jobs.start(
        [&began, &sawIt](const auto& cancelled) {
            began = true;
            while (!cancelled())
                QThread::yieldCurrentThread();
            sawIt = true;
            return 1;
        },
        [&value](int made) { value = made; }, nobodyFails);
    ASSERT_TRUE(QTest::qWaitFor([&] { return began.load(); }, kTimeoutMs));
    jobs.start([](const auto&) { return 2; }, [&value](int made) { value = made; }, nobodyFails);
    ASSERT_TRUE(QTest::qWaitFor([&] { return value.has_value(); }, kTimeoutMs));
    finishBackgroundWork();
    QCoreApplication::processEvents();
    EXPECT_EQ(value, 2);
    EXPECT_TRUE(sawIt);
}

TEST(JobTracker, AStoppedReadingSaysSo)
{
    QObject owner;
    JobTracker reading(&owner);
    JobTracker other(&owner);
    std::atomic<bool> began = false;
    std::atomic<bool> mayEnd = false;
    QString sentence;
    std::optional<int> value;
    reading.start(
        [&began](const auto& cancelled) {
            store::ReadCount::add(512);
            began = true;
            while (!cancelled())
                QThread::yieldCurrentThread();
            return 1;
        },
        [](int) { ADD_FAILURE(); }, [&sentence](const QString& said) { sentence = said; });
    other.start(
        [&mayEnd](const auto& cancelled) {
            while (!mayEnd)
                QThread::yieldCurrentThread();
            return cancelled() ? 3 : 2;
        },
        [&value](int made) { value = made; }, nobodyFails);
    ASSERT_TRUE(QTest::qWaitFor([&] { return began.load(); }, kTimeoutMs));
    ASSERT_TRUE(RunningJobs::all().reading());
    EXPECT_EQ(RunningJobs::all().reading()->events, 512);
    RunningJobs::all().stopReading(); // not the one that reads nothing
    mayEnd = true;
    ASSERT_TRUE(QTest::qWaitFor([&] { return !sentence.isEmpty() && value; }, kTimeoutMs));
    EXPECT_EQ(sentence, stoppedSentence());
    EXPECT_EQ(value, 2);
    finishBackgroundWork();
    EXPECT_TRUE(RunningJobs::all().isEmpty());
    reading.start([](const auto&) { return 4; }, [&value](int made) { value = made; }, nobodyFails);
    EXPECT_TRUE(QTest::qWaitFor([&] { return value == 4; }, kTimeoutMs));
}

TEST(JobTracker, AStoppedReadingThatThrowsSaysThatItWasStopped)
{
    QObject owner;
    JobTracker reading(&owner);
    std::atomic<bool> began = false;
    QString sentence;
    reading.start(
        [&began](const auto& cancelled) -> int {
            store::ReadCount::add(512);
            began = true;
            while (!cancelled())
                QThread::yieldCurrentThread();
            throw std::runtime_error("the reading was cancelled");
        },
        [](int) { ADD_FAILURE(); }, [&sentence](const QString& said) { sentence = said; });
    ASSERT_TRUE(QTest::qWaitFor([&] { return began.load(); }, kTimeoutMs));
    RunningJobs::all().stopReading();
    ASSERT_TRUE(QTest::qWaitFor([&] { return !sentence.isEmpty(); }, kTimeoutMs));
    EXPECT_EQ(sentence, stoppedSentence());
}

TEST(JobTracker, WhatIsOnItsWayWhenTheTrackerGoesIsDropped)
{
    QObject owner;
    bool delivered = false;
    {
        JobTracker jobs(&owner);
        jobs.start([](const auto&) { return 1; }, [&delivered](int) { delivered = true; }, nobodyFails);
        finishBackgroundWork(); // posted, not yet delivered
    }
    QCoreApplication::processEvents();
    EXPECT_FALSE(delivered);
}

TEST(JobTracker, MayGoWhileItDelivers)
{
    QObject owner;
    auto jobs = std::make_unique<JobTracker>(&owner);
    bool delivered = false;
    jobs->start([](const auto&) { return 1; },
                [&](int) {
                    jobs.reset();
                    delivered = true;
                },
                nobodyFails);
    ASSERT_TRUE(QTest::qWaitFor([&] { return delivered; }, kTimeoutMs));
}

} // namespace
} // namespace tilescope::ui
