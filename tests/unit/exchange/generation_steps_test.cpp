// Imports find the iterations of programs that generate text.

#include "core/exchange/import/importer.h"
#include "core/query/generation/generation_table.h"
#include "core/query/steps/step_tables.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace tilescope::exchange {
namespace {

using nlohmann::json;

class GenerationSteps : public ::testing::Test {
protected:
    json& add(const char* category, const std::string& name, std::int64_t start, std::int64_t length)
    {
        events_.push_back({{"ph", "X"},
                           {"cat", category},
                           {"name", name},
                           {"pid", 10},
                           {"tid", 10},
                           {"ts", start},
                           {"dur", length},
                           {"args", json::object()}});
        return events_.back()["args"];
    }
    void addKernel(const std::string& name, std::int64_t launch, std::int64_t start, std::int64_t length)
    {
        const auto correlation = static_cast<std::int64_t>(events_.size());
        add("cuda_runtime", "cudaLaunchKernel", launch, 2)["correlation"] = correlation;
        json& args = add("kernel", name, start, length);
        args = {{"device", 0}, {"stream", 7}, {"context", 1}, {"correlation", correlation}};
        events_.back()["pid"] = 0;
        events_.back()["tid"] = 7;
    }
    /// A call of a model, with the shapes that PyTorch's profiler records.
    void addCall(std::int64_t start, std::int64_t sequences, std::int64_t tokens, std::int64_t context)
    {
        add("python_function", "nn.Module: LlamaForCausalLM_0", start, 60)["Python id"] = start;
        json& embedding = add("cpu_op", "aten::embedding", start + 5, 3);
        embedding["Input Dims"] = {
            {8192, 768}, {sequences, tokens}, json::array(), json::array(), json::array()};
        embedding["Input type"] = {"c10::BFloat16", "long int", "Scalar", "Scalar", "Scalar"};
        json& attention = add("cpu_op", "aten::scaled_dot_product_attention", start + 20, 10);
        attention["Input Dims"] = {
            {sequences, 12, tokens, 64}, {sequences, 12, context, 64}, {sequences, 12, context, 64}};
        attention["Input type"] = {"c10::BFloat16", "c10::BFloat16", "c10::BFloat16"};
        addKernel("flash_fwd_splitkv_kernel", start + 22, start + 30, 8);
        addKernel("reduce_kernel_argmax", start + 70, start + 75, 4);
    }
    store::RunReader imported()
    {
        const std::filesystem::path trace = folder_.path() / "trace.json";
        std::ofstream(trace) << json{{"schemaVersion", 1},
                                     {"deviceProperties", {{{"id", 0}, {"name", "NVIDIA H200"}}}},
                                     {"traceEvents", events_}};
        importFiles(std::vector{trace}, folder_.path() / "a.tscope");
        return store::RunReader(folder_.path() / "a.tscope");
    }

    testing::TemporaryFolder folder_;
    json events_ = json::array();
};

TEST_F(GenerationSteps, CallsOfAModelWithShapesAreSteps)
{
    for (int i = 0; i < 6; ++i)
        addCall(1000 + 100 * i, 2, i == 0 ? 64 : 1, 64 + i);
    for (int i = 0; i < 4; ++i)
        addCall(5000 + 100 * i, 2, i == 0 ? 32 : 1, 32 + i);
    const store::RunReader reader = imported();
    const query::StepsTable steps = query::steps(reader, {});
    ASSERT_EQ(steps.rows.size(), 10U);
    EXPECT_EQ(steps.rows[0].type, StepType::Prefill);
    EXPECT_EQ(steps.rows[1].type, StepType::Decode);
    EXPECT_EQ(steps.rows[6].type, StepType::Prefill);
    EXPECT_EQ(steps.rows[1].source, "range");
    EXPECT_FALSE(steps.choice.areInferred);
    const query::GenerationTable table = query::generation(reader, {});
    ASSERT_EQ(table.rows.size(), 10U);
    EXPECT_EQ(table.source, query::IterationSource::ModelShapes);
    EXPECT_EQ(table.marks, "LlamaForCausalLM_0");
    EXPECT_EQ(table.rows[2].iteration.sequences, 2);
    EXPECT_EQ(table.rows[2].iteration.context, 66);
    EXPECT_EQ(table.rows[2].part(query::GenerationPart::Attention), Nanoseconds(8000));
    EXPECT_EQ(table.rows[2].part(query::GenerationPart::Sampling), Nanoseconds(4000))
        << "launched after the call";
    EXPECT_EQ(table.rows[9].iteration.generation, 1);
    ASSERT_TRUE(table.firstToken);
    EXPECT_EQ(table.firstToken->n, 2);
}

TEST_F(GenerationSteps, CallsOnWholeTextsAreNoGeneration)
{
    for (int i = 0; i < 6; ++i)
        addCall(1000 + 100 * i, 2, 64, 64);
    EXPECT_TRUE(query::generation(imported(), {}).rows.empty());
}

TEST_F(GenerationSteps, RangesOfTheProgramNameThem)
{
    add("user_annotation", "prefill", 1000, 400);
    addKernel("nvjet_sm90", 1010, 1020, 300);
    for (int i = 0; i < 5; ++i) {
        add("user_annotation", "decode", 2000 + 100 * i, 90);
        addKernel("nvjet_sm90", 2010 + 100 * i, 2020 + 100 * i, 30);
    }
    const query::GenerationTable table = query::generation(imported(), {});
    ASSERT_EQ(table.rows.size(), 6U);
    EXPECT_EQ(table.rows[0].iteration.type, StepType::Prefill);
    EXPECT_EQ(table.perToken->n, 5);
    EXPECT_FALSE(table.rows[1].iteration.sequences) << "nothing tells the batch";
    EXPECT_FALSE(table.rows[1].tokensPerSecond());
}

TEST_F(GenerationSteps, RangesNamedDecodeAloneMayBeOfImages)
{
    for (int i = 0; i < 5; ++i) {
        add("user_annotation", "decode", 2000 + 100 * i, 90);
        addKernel("nvjpeg_idct", 2010 + 100 * i, 2020 + 100 * i, 30);
    }
    EXPECT_TRUE(query::generation(imported(), {}).rows.empty());
}

TEST_F(GenerationSteps, RangesThatDoNotSayWhatTheyDoHaveNoType)
{
    for (int i = 0; i < 5; ++i) {
        add("user_annotation", "llama_decode", 2000 + 100 * i, 90);
        addKernel("mul_mat_vec_q", 2010 + 100 * i, 2020 + 100 * i, 30);
    }
    const query::GenerationTable table = query::generation(imported(), {});
    ASSERT_EQ(table.rows.size(), 5U);
    EXPECT_EQ(table.rows[0].iteration.type, StepType::Other);
    EXPECT_NE(table.rows[0].iteration.why.find("llama_decode"), std::string::npos);
    EXPECT_FALSE(table.perToken);
}

} // namespace
} // namespace tilescope::exchange
