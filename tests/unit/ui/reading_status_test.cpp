// The status bar while pages read: silent at first, then the events read and a way to stop.

#include "ui/window/reading_status.h"

#include "core/store/rows/read_count.h"
#include "tests/ui/timeouts.h"
#include "ui/jobs/job_tracker.h"

#include <QLabel>
#include <QPushButton>
#include <QTest>

#include <gtest/gtest.h>

#include <atomic>

namespace tilescope::ui {
namespace {

class ReadingStatusTest : public ::testing::Test {
protected:
    ReadingStatusTest() { parent_.show(); }
    ~ReadingStatusTest() override
    {
        mayEnd_ = true;
        finishBackgroundWork();
    }

    /// A job that has read these events and goes on until it is cancelled or may end.
    void read(std::int64_t events)
    {
        jobs_.start(
            [this, events](const auto& cancelled) {
                store::ReadCount::add(events);
                while (!cancelled() && !mayEnd_)
                    QThread::yieldCurrentThread();
                return 1;
            },
            [this](int) { isDone_ = true; }, [this](const QString& said) { sentence_ = said; });
    }
    QString words() const { return status_.findChild<QLabel*>()->text(); }
    bool showsWithin()
    {
        return QTest::qWaitFor([this] { return status_.isVisible(); }, kTimeoutMs);
    }

    QWidget parent_;
    ReadingStatus status_{&parent_};
    std::atomic<bool> mayEnd_ = false;
    bool isDone_ = false;
    QString sentence_;
    JobTracker jobs_{&parent_};
};

TEST_F(ReadingStatusTest, SaysHowMuchWasReadUntilTheJobEnds)
{
    EXPECT_FALSE(status_.isVisible());
    read(12'480);
    ASSERT_TRUE(showsWithin());
    EXPECT_EQ(words(), QStringLiteral("12\u2009480 events read"));
    mayEnd_ = true;
    ASSERT_TRUE(QTest::qWaitFor([this] { return isDone_ && !status_.isVisible(); }, kTimeoutMs));
}

TEST_F(ReadingStatusTest, StopsReading)
{
    read(7);
    ASSERT_TRUE(showsWithin());
    QTest::mouseClick(status_.findChild<QPushButton*>(), Qt::LeftButton);
    ASSERT_TRUE(QTest::qWaitFor([this] { return !sentence_.isEmpty(); }, kTimeoutMs));
    EXPECT_EQ(sentence_, stoppedSentence());
    EXPECT_TRUE(QTest::qWaitFor([this] { return !status_.isVisible(); }, kTimeoutMs));
    EXPECT_FALSE(isDone_);
}

TEST_F(ReadingStatusTest, IsSilentWhereNothingIsRead)
{
    read(0);
    constexpr auto kUntilSaid = ReadingStatus::kSilence + 2 * ReadingStatus::kBetweenLooks;
    QTest::qWait(int(kUntilSaid.count())); // by then it would say that a job reads
    EXPECT_FALSE(status_.isVisible());
    mayEnd_ = true;
    ASSERT_TRUE(QTest::qWaitFor([this] { return isDone_; }, kTimeoutMs));
}

} // namespace
} // namespace tilescope::ui
