#include "core/session/protocol/point_line.h"

#include "core/base/error.h"

#include <gtest/gtest.h>

namespace tilescope::session {

TEST(PointLine, CarriesEveryKeyOfASpec)
{
    PointLine point{3, 12, {}};
    point.spec.name = "scaling \"quoted\"";
    point.spec.workload = Workload::Attention;
    point.spec.backend = Backend::FlashTorch;
    point.spec.device = {DeviceRequest::Kind::Cuda, 1};
    point.spec.precision = Precision::Bf16;
    point.spec.headDim = 32;
    point.spec.memoryLimit = Bytes{1 << 30};
    const std::string line = pointLine(point);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const PointLine read = parsePointLine(line);
    EXPECT_EQ(read.index, 3);
    EXPECT_EQ(read.of, 12);
    EXPECT_EQ(read.spec, point.spec);
}

TEST(PointLine, CarriesTheDescriptionOfARank)
{
    PointLine point{1, 1, {}};
    point.spec.name = "ranks";
    point.spec.workload = Workload::Attention;
    EXPECT_FALSE(parsePointLine(pointLine(point)).rankInfo);
    point.rankInfo = RankInfo{.rank = 1,
                              .size = 4,
                              .group = "m-1",
                              .memory = "/proc/7/fd/9",
                              .timeout = std::chrono::duration<double>(2.5)};
    EXPECT_EQ(parsePointLine(pointLine(point)).rankInfo, point.rankInfo);
    point.rankInfo->node = 1;
    point.rankInfo->localRank = 1;
    point.rankInfo->localSize = 2;
    point.rankInfo->hub = {.hosts = {"node1", "10.0.0.1"}, .port = 40'000, .secret = "s"};
    EXPECT_EQ(parsePointLine(pointLine(point)).rankInfo, point.rankInfo);
}

TEST(JoinLine, NamesTheRunsOfTheOtherRanks)
{
    const auto read =
        parseJoinLine(joinLine({{{.rank = 1, .pid = 7, .file = "/tmp/a b/rank1.tscope", .run = RunId{3}},
                                 {.rank = 2, .pid = 0, .file = {}, .run = {}}}}));
    ASSERT_TRUE(read && read->ranks.size() == 2);
    EXPECT_EQ(read->ranks[0].rank, 1);
    EXPECT_EQ(read->ranks[0].pid, 7);
    EXPECT_EQ(read->ranks[0].file, "/tmp/a b/rank1.tscope");
    EXPECT_EQ(read->ranks[0].run, RunId{3});
    EXPECT_FALSE(parseJoinLine(pointLine({})));
    EXPECT_THROW(parseJoinLine(R"({"join":[{"rank":1}]})"), Error);
}

TEST(CeilingsLine, NamesADevice)
{
    EXPECT_EQ(parseCeilingsLine(ceilingsLine("cuda:1")), (DeviceRequest{DeviceRequest::Kind::Cuda, 1}));
    EXPECT_EQ(parseCeilingsLine(ceilingsLine("auto")), DeviceRequest{});
    EXPECT_FALSE(parseCeilingsLine(pointLine({})));
    EXPECT_FALSE(parseCeilingsLine("no JSON"));
    EXPECT_THROW(parseCeilingsLine(ceilingsLine("gpu")), Error);
}

TEST(PointLine, RefusesInvalidLines)
{
    for (const char* line : {"", "{}", R"({"index":0,"of":1})", R"({"index":0,"of":1,"params":[]})",
                             R"({"index":0,"of":1,"params":{"workload":"lm","bacth":1}})"})
        EXPECT_THROW(parsePointLine(line), Error) << line;
}

} // namespace tilescope::session
