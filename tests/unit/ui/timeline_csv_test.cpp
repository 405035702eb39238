// A window of timelines as a table: every event of it, or buckets that say that they are buckets.

#include "core/query/file_session.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/fixture.h"
#include "ui/timeline/timeline_csv.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

namespace tilescope::ui {
namespace {

class TimelineCsvTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        const std::filesystem::path file = folder_ / "lm.tscope";
        test::writeLmFile(file);
        session_ = std::make_unique<query::FileSession>(file);
        timeline_ = session_->timeline(RunId{1}, [] { return false; });
    }

    TimelineExcerpt excerpt(std::int64_t from, std::int64_t to) const
    {
        TimelineExcerpt made{QStringLiteral("lm #1, naive"), timeline_, from, to,
                             timeline_->steps[0].start,      {}};
        made.lanes.resize(timeline_->lanes.size());
        std::iota(made.lanes.begin(), made.lanes.end(), std::size_t{0});
        return made;
    }

    // Lines without the header, by fields; quoted ones keep their commas.
    static std::vector<QStringList> linesOf(const TableText& csv)
    {
        std::vector<QStringList> lines;
        for (const QString& line :
             QString::fromUtf8(csv.text).split(QStringLiteral("\r\n"), Qt::SkipEmptyParts)) {
            QStringList fields{QString()};
            bool quoted = false;
            for (const QChar c : line) {
                if (c == QLatin1Char('"'))
                    quoted = !quoted;
                else if (c == QLatin1Char(',') && !quoted)
                    fields << QString();
                else
                    fields.back() += c;
            }
            lines.push_back(fields);
        }
        lines.erase(lines.begin());
        return lines;
    }

    testing::TemporaryFolder folder_;
    std::unique_ptr<query::FileSession> session_;
    std::shared_ptr<const query::Timeline> timeline_;
};

TEST_F(TimelineCsvTest, HoldsEveryEventThatTouchesTheWindowWhole)
{
    const auto [start, end] = std::pair(timeline_->steps[0].start, timeline_->steps[0].end);
    const std::int64_t from = start + (end - start) / 4;
    const std::int64_t to = start + (end - start) / 2;
    const TableText csv = timelineCsv({excerpt(from, to)});
    std::map<QString, int> expected; // by lane, depth and start; unique
    for (const query::Lane& lane : timeline_->lanes)
        for (std::size_t depth = 0; depth < lane.rows.size(); ++depth)
            for (std::size_t i = 0; i < lane.rows[depth].size(); ++i)
                if (lane.rows[depth].start(i) < to && lane.rows[depth].end(i) > from)
                    ++expected[QStringLiteral("%1/%2/%3/%4")
                                   .arg(QString::fromStdString(lane.title))
                                   .arg(depth)
                                   .arg(lane.rows[depth].start(i) - start)
                                   .arg(lane.rows[depth].length(i))];
    int events = 0;
    int changes = 0;
    for (const QStringList& line : linesOf(csv)) {
        ASSERT_EQ(line.size(), 11) << line.join(QLatin1Char('|')).toStdString();
        EXPECT_EQ(line[0], QStringLiteral("lm #1, naive"));
        if (line[3] == QLatin1String("memory")) {
            ++changes;
            EXPECT_FALSE(line[10].isEmpty());
            continue;
        }
        EXPECT_EQ(line[3], QStringLiteral("event"));
        EXPECT_FALSE(line[4].isEmpty());
        const QString key = QStringLiteral("%1/%2/%3/%4").arg(line[1], line[2], line[6], line[7]);
        EXPECT_EQ(expected.count(key), 1U) << key.toStdString();
        ++events;
    }
    EXPECT_EQ(events, int(std::accumulate(expected.begin(), expected.end(), 0,
                                          [](int sum, const auto& one) { return sum + one.second; })));
    EXPECT_GT(events, 20);
    EXPECT_GT(changes, 0) << "what is allocated in the window";
    EXPECT_TRUE(csv.holds.contains(QStringLiteral("events of the window"))) << csv.holds.toStdString();
}

TEST_F(TimelineCsvTest, AboveItsLimitItHasBucketsThatCoverWhatTheEventsDo)
{
    const auto [from, to] = timeline_->interesting();
    const TableText csv = timelineCsv({excerpt(from, to)}, ',', 200);
    EXPECT_TRUE(csv.holds.contains(QStringLiteral("level-of-detail buckets"))) << csv.holds.toStdString();
    EXPECT_TRUE(csv.holds.contains(QStringLiteral("more than 200"))) << csv.holds.toStdString();
    std::map<std::pair<QString, QString>, std::int64_t> covered;
    for (const QStringList& line : linesOf(csv)) {
        EXPECT_EQ(line[3], QStringLiteral("level-of-detail bucket"));
        if (!line[9].isEmpty())
            covered[{line[1], line[2]}] += line[9].toLongLong();
    }
    int rows = 0;
    for (const query::Lane& lane : timeline_->lanes)
        for (std::size_t depth = 0; depth < lane.rows.size(); ++depth) {
            const auto found = covered.find({QString::fromStdString(lane.title), QString::number(depth)});
            const std::int64_t got = found == covered.end() ? 0 : found->second;
            EXPECT_EQ(got, lane.rows[depth].covered(from, to)) << lane.title << ' ' << depth;
            ++rows;
        }
    EXPECT_GT(rows, 5);
}

TEST_F(TimelineCsvTest, ATabPartsTheColumnsOfWhatIsCopied)
{
    const auto [from, to] = timeline_->interesting();
    const QString text = QString::fromUtf8(timelineCsv({excerpt(from, to)}, '\t').text);
    const QStringList lines = text.split(QStringLiteral("\r\n"), Qt::SkipEmptyParts);
    ASSERT_GT(lines.size(), 20);
    for (const QString& line : lines)
        EXPECT_EQ(line.count(QLatin1Char('\t')), 10) << line.toStdString();
}

} // namespace
} // namespace tilescope::ui
