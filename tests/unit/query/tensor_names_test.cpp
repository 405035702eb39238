#include "core/query/memory/tensor_names.h"

#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::query {

namespace {

using ::testing::ElementsAre;
using testing::FakeTrace;

constexpr const char* kForward = "step/forward/attention";
constexpr const char* kBackward = "step/backward/attention";

/// A step of attention, allocation by allocation.
class AttentionTrace {
public:
    AttentionTrace() { trace_.step(0, 0, 100'000); }

    /// \param shapes  of the op's operands
    void alloc(const char* op, const std::string& shapes, const char* path, std::int64_t bytes,
               std::uint64_t address, const char* category = "temporaries")
    {
        time_ += 10;
        trace_.op(op, time_, time_ + 5).at(path).shaped(shapes);
        trace_.alloc(address, bytes, time_ + 1).at(path).category(category);
        ops_.push_back(trace_.lastOp());
    }
    void free(std::uint64_t address, std::int64_t bytes)
    {
        time_ += 10;
        trace_.free(address, bytes, time_);
    }

    NamedMemory named(const std::string& spec = "{}", const std::vector<MemoryBlock>& older = {})
    {
        TraceBatch batch = trace_.batch();
        auto op = ops_.begin();
        for (AllocEvent& event : batch.allocEvents)
            if (event.action == AllocAction::Alloc)
                event.op = *op++;
        const std::filesystem::path file = folder_ / "a.tscope";
        {
            store::RunWriter writer(file, trace_.strings());
            writer.beginRun({"a", "attention", spec, "h", "Tilescope test"});
            writer.write(batch);
            MemoryFacts facts;
            facts.blocks = older;
            for (MemoryBlock& block : facts.blocks)
                block.device = DeviceIndex{0};
            writer.writeMemory(facts);
            writer.endRun({});
        }
        return namedMemory(memoryHistory(store::RunReader(file), RunId{1}), {});
    }

private:
    testing::TemporaryFolder folder_;
    FakeTrace trace_;
    std::vector<OpId> ops_;
    std::int64_t time_ = 0;
};

std::vector<std::string> namesOf(const NamedMemory& named)
{
    std::vector<std::string> names;
    for (const NamedBlock& row : named.rows)
        names.push_back(row.name);
    return names;
}

/// Forward and backward of naive attention as PyTorch runs it, over `n` queries and `m` keys of `d`
/// dimensions.
void naiveAttention(AttentionTrace& trace, int n, int m, int d)
{
    const auto shape = [](int a, int b) {
        return "f32[2, " + std::to_string(a) + ", " + std::to_string(b) + "] ";
    };
    const std::int64_t scores = 8LL * n * m;
    const std::int64_t queries = 8LL * n * d;
    const std::int64_t keys = 8LL * m * d;
    trace.alloc("aten::baddbmm", "f32[1] " + shape(n, d) + shape(d, m), kForward, scores, 0x100000);
    trace.alloc("aten::_softmax", shape(n, m), kForward, scores, 0x200000, "activations");
    trace.free(0x100000, scores);
    trace.alloc("aten::bmm", shape(n, m) + shape(m, d), kForward, queries, 0x300000);
    trace.alloc("aten::bmm", shape(n, m) + shape(m, d), kForward, 4711, 0x380000);
    trace.alloc("aten::bmm", shape(m, n) + shape(n, d), kBackward, keys, 0x400000, "gradients");
    trace.alloc("aten::bmm", shape(n, d) + shape(d, m), kBackward, scores, 0x100000);
    trace.alloc("aten::_softmax_backward_data", shape(n, m) + shape(n, m), kBackward, scores, 0x500000);
    trace.alloc("aten::mul", shape(n, m) + shape(n, m), kBackward, scores, 0x600000);
    trace.alloc("aten::bmm", shape(n, m) + shape(m, d), kBackward, queries, 0x700000);
    trace.alloc("aten::mul", shape(n, d) + "f64[]", kBackward, queries, 0x800000, "gradients");
    trace.alloc("aten::bmm", shape(d, n) + shape(n, m), kBackward, keys, 0x900000);
    trace.alloc("aten::mul", shape(d, m) + "f64[]", kBackward, keys, 0xa00000);
    trace.alloc("aten::empty_strided", "", kBackward, keys, 0xb00000, "gradients");
}

const std::vector<std::string> kNaive{"S",
                                      "P",
                                      "O",
                                      "workspace of aten::bmm",
                                      "dV",
                                      "dP",
                                      "dS",
                                      "P * dP",
                                      "dQ before scaling",
                                      "dQ",
                                      "dK before scaling",
                                      "dK as computed",
                                      "dK"};

} // namespace

TEST(TensorNames, FollowNaiveAttentionFromOpsAndShapes)
{
    AttentionTrace trace;
    naiveAttention(trace, 96, 64, 32);
    const NamedMemory named = trace.named();
    EXPECT_EQ(namesOf(named), kNaive);
    EXPECT_EQ(named.rows[0].shape, "[2, 96, 64]");
    EXPECT_EQ(named.rows[3].shape, "") << "a workspace has none";
    EXPECT_EQ(named.rows[4].shape, "[2, 64, 32]");
    EXPECT_EQ(named.rows[5].reuses, "S") << "dP reuses the memory of the scores";
    EXPECT_EQ(named.rows[6].reuses, "");
    EXPECT_EQ(named.unknown, 0);
}

TEST(TensorNames, EqualShapesAreDistinguishedByOrder)
{
    AttentionTrace trace;
    naiveAttention(trace, 64, 64, 64);
    EXPECT_EQ(namesOf(trace.named()), kNaive);
}

TEST(TensorNames, TensorsFromBeforeTheTraceHaveLetters)
{
    AttentionTrace trace;
    trace.alloc("aten::empty_strided", "", kForward, 4096, 0x2000, "activations");
    trace.alloc("aten::empty", "", kForward, 64, 0x4000, "activations");
    for (const std::uint64_t address : {0x6000, 0x8000, 0xa000})
        trace.alloc("aten::empty_strided", "", kBackward, 4096, address, "gradients");
    trace.alloc("tilescope::attention_backward", "", kBackward, 100, 0xc000);
    const std::vector<MemoryBlock> older{
        {.address = 0x10000, .bytes = 4096, .size = 4096, .category = MemoryCategory::Inputs, .name = "q"},
        {.address = 0x20000,
         .bytes = 4096,
         .size = 4096,
         .category = MemoryCategory::Inputs,
         .name = "grad_o"},
        {.address = 0x6000, .bytes = 4096, .size = 4096, .category = MemoryCategory::Gradients, .name = "v"},
        {.address = 0x40000,
         .bytes = 512,
         .size = 512,
         .category = MemoryCategory::Workspace,
         .name = "cuBLAS"}};
    const NamedMemory named = trace.named(R"({"backend":"flash"})", older);
    EXPECT_THAT(namesOf(named), ElementsAre("Q", "dO", "dV", "cuBLAS workspace", "O", "LSE", "dQ", "dK", "dV",
                                            "workspace of tilescope::attention_backward"));
    EXPECT_EQ(named.rows[6].reuses, "dV of the step before");
    // The order of allocations of other fused ops is unknown.
    AttentionTrace other;
    other.alloc("aten::empty_strided", "", kBackward, 4096, 0x2000, "gradients");
    EXPECT_THAT(namesOf(other.named(R"({"backend":"sdpa"})")), ElementsAre("dQ, dK or dV"));
}

TEST(TensorNames, OnlyAttentionIsNamedSeparatelyForEachModule)
{
    AttentionTrace trace;
    for (const char* path : {"step/forward/layers.0/attention/scores", "step/forward/layers.1/attention"}) {
        trace.alloc("aten::bmm", "f32[2, 8, 4] f32[2, 4, 8]", path, 512, 0x1000);
        trace.alloc("aten::_softmax", "f32[2, 8, 8]", path, 512, 0x2000);
    }
    trace.alloc("aten::bmm", "f32[2, 8, 4] f32[2, 4, 8]", "step/forward/layers.1/ffn", 512, 0x3000);
    trace.alloc("aten::bmm", "f32[2, 8, 4] f32[2, 4, 8]", "step/forward/layers.1/attention_norm", 512,
                0x4000);
    EXPECT_THAT(namesOf(trace.named()), ElementsAre("S", "P", "S", "P", "", ""));
}

} // namespace tilescope::query
