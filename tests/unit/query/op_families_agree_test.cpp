// Every page shows the same family for an op: a run of all ops with a rule, read by every page.

#include "core/analysis/work/op_families.h"
#include "core/analysis/work/op_work.h"
#include "core/query/overview/run_overview.h"
#include "core/query/runs/traced_pieces.h"
#include "core/query/timeline/timeline_reader.h"
#include "core/query/work/work_tables.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <map>

namespace tilescope::query {
namespace {

constexpr std::int64_t kEach = 10; // ns of each op

std::vector<std::string> allOps()
{
    std::vector<std::string> ops{"aten::gelu_backward", "TanhBackward0", "aten::softmax", "aten::no_such_op",
                                 "aten::clone"};
    for (const std::string_view op : analysis::opsWithRules())
        ops.emplace_back(op);
    return ops;
}

class OpFamiliesAgree : public ::testing::Test {
protected:
    void SetUp() override
    {
        StringTable strings;
        store::RunWriter writer(file_, strings);
        writer.beginRun({"test", "lm", "{}", "hash", "test"});
        testing::FakeTrace trace(strings);
        trace.step(0, 0, kEach * static_cast<std::int64_t>(allOps().size()));
        std::int64_t at = 0;
        for (const std::string& op : allOps()) {
            trace.op(op, at, at + kEach).at("step/forward");
            at += kEach;
            expected_[analysis::familyOfOp(op)] += kEach;
        }
        writer.write(trace.batch());
        writer.endRun({});
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "a.tscope";
    std::map<Hue, std::int64_t> expected_;
};

} // namespace

TEST_F(OpFamiliesAgree, InTheOverview)
{
    const store::RunReader reader(file_);
    const RunOverview overview = runOverview(reader, RunId{1}, [] { return false; });
    ASSERT_EQ(overview.families.size(), expected_.size());
    for (const FamilyShare& share : overview.families)
        EXPECT_EQ(share.perStep, double(expected_.at(share.hue))) << hueWord(share.hue);
}

TEST_F(OpFamiliesAgree, InTheRoofline)
{
    const store::RunReader reader(file_);
    std::map<Hue, std::int64_t> found;
    for (const RooflineRow& row : roofline(reader, {.run = RunId{1}, .grouping = Grouping::Family}).rows)
        found[hueOfFamily(row.key)] += row.time.count();
    EXPECT_EQ(found, expected_);
}

TEST_F(OpFamiliesAgree, InTheAnswers)
{
    const store::RunReader reader(file_);
    std::map<Hue, std::int64_t> found;
    for (const Piece& piece : tracedPieces(reader, RunId{1}).pieces)
        found[piece.family] += piece.time.count();
    EXPECT_EQ(found, expected_);
}

TEST_F(OpFamiliesAgree, InTheTimeline)
{
    const store::RunReader reader(file_);
    const auto timeline = readTimeline(reader, RunId{1}, [] { return false; });
    ASSERT_TRUE(timeline);
    std::map<Hue, std::int64_t> found;
    for (const Lane& lane : timeline->lanes)
        if (lane.kind == Lane::Kind::Thread)
            for (const Track& row : lane.rows)
                for (std::size_t i = 0; i < row.size(); ++i)
                    found[row.hue(i)] += kEach;
    EXPECT_EQ(found, expected_);
}

} // namespace tilescope::query
