#include "core/config/varying_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::config {

using ::testing::ElementsAre;

namespace {

std::vector<std::string> labels(const std::vector<KeyTexts>& points)
{
    std::vector<std::string> texts;
    VaryingKeys keys;
    for (const KeyTexts& point : points)
        keys.add(point);
    for (const KeyTexts& point : points)
        texts.push_back(labelOf(keys.of(point)));
    return texts;
}

} // namespace

TEST(VaryingKeys, AreThoseThatDiffer)
{
    EXPECT_THAT(labels({{{"batch", "8"}, {"seq_len", "256"}}, {{"batch", "8"}, {"seq_len", "512"}}}),
                ElementsAre("seq_len=256", "seq_len=512"));
    EXPECT_THAT(labels({{{"batch", "8"}}}), ElementsAre(""));
    EXPECT_THAT(labels({}), ElementsAre());
}

TEST(VaryingKeys, LeaveOutTilesOfAnotherBackend)
{
    EXPECT_THAT(
        labels({{{"backend", "naive"}, {"tile_q", "64"}},
                {{"backend", "flash-torch"}, {"tile_q", "64"}},
                {{"backend", "flash-torch"}, {"tile_q", "128"}}}),
        ElementsAre("backend=naive", "backend=flash-torch tile_q=64", "backend=flash-torch tile_q=128"));
    EXPECT_THAT(labels({{{"backend", "naive"}, {"tile_q", "64"}}, {{"backend", "sdpa"}, {"tile_q", "128"}}}),
                ElementsAre("backend=naive", "backend=sdpa"));
}

TEST(VaryingKeys, LeaveOutBucketsThatRanksDoNotHave)
{
    EXPECT_THAT(labels({{{"parallel", "ddp"}, {"bucket", "1"}},
                        {{"parallel", "zero1"}, {"bucket", "2"}},
                        {{"parallel", "fsdp"}, {"bucket", "1"}}}),
                ElementsAre("parallel=ddp bucket=1", "parallel=zero1 bucket=2", "parallel=fsdp"));
}

TEST(VaryingKeys, LeaveOutWhatOnlyFollowsAnotherKey)
{
    EXPECT_THAT(labels({{{"seq_len", "256"}, {"kv_len", "256"}}, {{"seq_len", "512"}, {"kv_len", "512"}}}),
                ElementsAre("seq_len=256", "seq_len=512"));
    EXPECT_THAT(labels({{{"size", "tiny"}, {"d_model", "128"}, {"heads", "4"}},
                        {{"size", "small"}, {"d_model", "768"}, {"heads", "12"}}}),
                ElementsAre("size=tiny", "size=small"));
    EXPECT_THAT(
        labels({{{"mode", "train"}, {"loss", "cross_entropy"}}, {{"mode", "forward"}, {"loss", "sum"}}}),
        ElementsAre("mode=train", "mode=forward"));
}

TEST(VaryingKeys, KeepWhatVariesByItself)
{
    EXPECT_THAT(labels({{{"seq_len", "256"}, {"kv_len", "256"}}, {{"seq_len", "256"}, {"kv_len", "512"}}}),
                ElementsAre("kv_len=256", "kv_len=512"));
    EXPECT_THAT(labels({{{"size", "tiny"}, {"layers", "2"}}, {{"size", "tiny"}, {"layers", "4"}}}),
                ElementsAre("layers=2", "layers=4"));
    EXPECT_THAT(labels({{{"heads", "4"}, {"seq_len", "256"}}, {{"heads", "8"}, {"seq_len", "256"}}}),
                ElementsAre("heads=4", "heads=8"));
}

TEST(VaryingKeys, ComparePointsOfOneWorkload)
{
    EXPECT_THAT(
        labels({{{"workload", "lm"}, {"batch", "4"}, {"context", "128"}},
                {{"workload", "attention"}, {"batch", "8"}, {"seq_len", "64"}},
                {{"workload", "attention"}, {"batch", "8"}, {"seq_len", "128"}}}),
        ElementsAre("workload=lm", "workload=attention seq_len=64", "workload=attention seq_len=128"));
}

} // namespace tilescope::config
