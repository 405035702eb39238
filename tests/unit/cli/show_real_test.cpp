// Every section of `show` for a recording of the real engine on a CPU, checked against its schema.

#include "tests/support/json_schema.h"
#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>

namespace tilescope {

namespace {

using nlohmann::json;
using testing::ProgramResult;

struct Section {
    std::vector<std::string> arguments;
    std::string schema;
    bool mayBeEmpty = false;
};

std::vector<Section> sections()
{
    return {{{"runs"}, "runs"},
            {{"samples"}, "samples"},
            {{"steps"}, "steps"},
            {{"ranks"}, "ranks"},
            {{"collectives"}, "collectives", true},
            {{"path"}, "path"},
            {{"path", "--step", "0"}, "path-segments"},
            {{"what-if", "--scale", "matmul=0.5"}, "what-if"},
            {{"what-if", "--remove", "softmax"}, "what-if"},
            {{"kernels"}, "kernels", true},
            {{"kernels", "--group", "family"}, "kernels-by-family", true},
            {{"ops"}, "ops"},
            {{"ops", "--group", "range"}, "ops-by-range"},
            {{"ops", "--group", "phase"}, "ops-by-phase"},
            {{"ops", "--group", "module"}, "ops-by-module"},
            {{"ranges"}, "ranges"},
            {{"tree"}, "tree"},
            {{"tree", "--invert", "--weight", "host", "--from", "0"}, "tree"},
            {{"tree", "--weight", "allocated"}, "tree-allocated"},
            {{"tree", "--weight", "flops"}, "tree-flops", true},
            {{"tree", "--weight", "bytes"}, "tree-bytes", true},
            {{"tree", "--against", "a.tscope:1"}, "tree-against"},
            {{"memory"}, "memory"},
            {{"memory", "--group", "category"}, "memory-groups"},
            {{"memory", "--group", "range"}, "memory-groups"},
            {{"memory", "--group", "phase"}, "memory-groups"},
            {{"memory", "--group", "module"}, "memory-groups"},
            {{"memory", "--group", "op"}, "memory-groups"},
            {{"memory", "--at", "peak"}, "memory-live"},
            {{"memory", "--group", "step"}, "memory-groups"},
            {{"memory", "--at", "ever"}, "memory-live"},
            {{"memory", "--names"}, "memory-names"},
            {{"memory", "--names", "--at", "peak"}, "memory-names"},
            {{"saved"}, "saved", true},
            {{"saved", "--group", "layer"}, "saved-groups", true},
            {{"oom"}, "oom", true},
            {{"roofline"}, "roofline"},
            {{"roofline", "--group", "op"}, "roofline-by-op"},
            {{"roofline", "--group", "shape"}, "roofline-by-shape"},
            {{"roofline", "--group", "range"}, "roofline-by-range"},
            {{"roofline", "--group", "phase"}, "roofline-by-phase"},
            {{"roofline", "--group", "module"}, "roofline-by-module"},
            {{"mfu"}, "mfu"},
            {{"answers"}, "answers"},
            {{"advice"}, "advice"},
            {{"ceilings"}, "ceilings"},
            {{"losses"}, "losses", true},
            {{"environment"}, "environment"}};
}

class ShowReal : public ::testing::Test {
protected:
    static void SetUpTestSuite()
    {
        folder = std::make_unique<testing::TemporaryFolder>();
        const std::vector<std::string> common{"--device", "cpu",      "--trace", "full",          "--steps",
                                              "4",        "--warmup", "1",       "--trace-steps", "2",
                                              "--batch",  "2",        "-o",      "a.tscope"};
        const auto record = [&common](std::vector<std::string> arguments) {
            arguments.insert(arguments.end(), common.begin(), common.end());
            const ProgramResult result = tilescope(arguments);
            ASSERT_EQ(result.code, 0) << result.err;
        };
        const std::vector<std::string> lm{"run",       "lm", "--d-model", "32",    "--d-ff",  "48",
                                          "--layers",  "2",  "--heads",   "2",     "--vocab", "100",
                                          "--context", "16", "--mode",    "train", "--size",  "tiny"};
        record(lm);
        std::vector<std::string> shaped = lm;
        shaped.insert(shaped.end(), {"--shapes", "true"});
        record(shaped);
        record({"run", "attention", "--seq-len", "32", "--d-head", "16", "--heads", "2", "--shapes", "true",
                "--annotate-attention", "true"});
        const ProgramResult ceilings =
            tilescope({"doctor", "--ceilings", "--device", "cpu", "-o", "a.tscope", "--format", "json"});
        ASSERT_EQ(ceilings.code, 0) << ceilings.err;
        check(ceilings.out, "ceilings", "doctor --ceilings");
    }
    static void TearDownTestSuite() { folder.reset(); }

    static ProgramResult tilescope(std::vector<std::string> arguments)
    {
        arguments.insert(arguments.begin(), TILESCOPE_PROGRAM);
        return testing::runProgram(arguments, folder->path(), {{"TILESCOPE_ENGINE", ENGINE_PROGRAM}});
    }

    static json check(const std::string& text, const std::string& schema, const std::string& what)
    {
        EXPECT_THAT(testing::schemaOffences(text, std::string(TILESCOPE_SOURCE_DIR) +
                                                      "/resources/schema/show-" + schema + ".schema.json"),
                    ::testing::IsEmpty())
            << what;
        return json::parse(text);
    }

    static json show(const std::string& run, std::vector<std::string> arguments, const std::string& schema)
    {
        arguments.insert(arguments.begin(), {"show", "a.tscope"});
        arguments.insert(arguments.end(), {"--run", run, "--format", "json"});
        const ProgramResult result = tilescope(arguments);
        EXPECT_EQ(result.code, 0) << result.err;
        return check(result.out, schema, "run " + run + " " + arguments[2]);
    }

    static std::unique_ptr<testing::TemporaryFolder> folder;
};

std::unique_ptr<testing::TemporaryFolder> ShowReal::folder;

} // namespace

TEST_F(ShowReal, EverySectionOfEveryRunKeepsItsSchema)
{
    for (const char* run : {"1", "2", "3"})
        for (const Section& section : sections()) {
            const json rows = show(run, section.arguments, section.schema);
            EXPECT_TRUE(section.mayBeEmpty || !rows.empty()) << run << ' ' << section.schema;
        }
}

TEST_F(ShowReal, APathIsAsLongAsItsStepAndNoChangePredictsIt)
{
    const json paths = show("2", {"path"}, "path");
    ASSERT_EQ(paths.size(), 2U);
    for (const json& path : paths) {
        std::int64_t sum = 0;
        for (const char* part : {"host_ns", "launch_ns", "compute_ns", "memory_ns", "communication_ns",
                                 "data_loading_ns", "synchronization_ns", "unexplained_ns"})
            sum += path[part].get<std::int64_t>();
        EXPECT_EQ(sum, path["wall_ns"]);
        EXPECT_GT(path["compute_ns"], 0);
        EXPECT_GT(path["memory_ns"], 0);
    }
    for (const json& step : show("2", {"what-if", "--scale", "matmul=1"}, "what-if")[0]["per_step"])
        EXPECT_EQ(step["predicted_ns"], step["wall_ns"]);
    const json halved = show("2", {"what-if", "--scale", "matmul=0.5"}, "what-if")[0];
    std::int64_t saved = 0;
    for (const json& step : halved["per_step"])
        saved += step["wall_ns"].get<std::int64_t>() - step["predicted_ns"].get<std::int64_t>();
    // One thread: all of the work is on the path. Each stretch of an op rounds by half a nanosecond.
    EXPECT_NEAR(static_cast<double>(saved), halved["changed_ns"].get<double>() / 2, 2'000);
}

TEST_F(ShowReal, AnOpOfARecordingIsMeasuredAlone)
{
    const json rows = show("2", {"roofline", "--group", "shape"}, "roofline-by-shape");
    const auto product = std::ranges::find_if(
        rows, [](const json& row) { return row["family"] == "matmul" && row["flops"] > 0; });
    ASSERT_NE(product, rows.end());
    const std::vector<std::string> command{
        "replay", "a.tscope", "--run", "2", "--op", (*product)["first_op"].dump(), "--device", "cpu"};
    std::vector<std::string> asJson = command;
    asJson.insert(asJson.end(), {"--format", "json"});
    const ProgramResult replayed = tilescope(asJson);
    ASSERT_EQ(replayed.code, 0) << replayed.err;
    EXPECT_THAT(testing::schemaOffences(replayed.out, std::string(TILESCOPE_SOURCE_DIR) +
                                                          "/resources/schema/replay.schema.json"),
                ::testing::IsEmpty());
    const json row = json::parse(replayed.out)[0];
    EXPECT_EQ(row["op"], (*product)["op"]);
    EXPECT_GT(row["measured_ns"]["median"], 0);
    EXPECT_EQ(row["flops"].get<std::int64_t>() * (*product)["instances"].get<std::int64_t>(),
              (*product)["flops"]);
    const ProgramResult printed = tilescope(command);
    EXPECT_THAT(printed.out, ::testing::HasSubstr("measured alone"));
    EXPECT_THAT(printed.out, ::testing::HasSubstr("in the recording"));
    // Ops that change their arguments are refused before an engine is started.
    const auto copy =
        std::ranges::find_if(rows, [](const json& each) { return each["op"] == "aten::copy_"; });
    if (copy != rows.end()) {
        const ProgramResult refused =
            tilescope({"replay", "a.tscope", "--run", "2", "--op", (*copy)["first_op"].dump()});
        EXPECT_EQ(refused.code, 2);
        EXPECT_THAT(refused.err, ::testing::HasSubstr("aten::copy_ changes its arguments"));
    }
}

TEST_F(ShowReal, WhereSetUpRanOutOfMemoryEveryHolderIsNamed)
{
    // 0.5 MB each: the embedding, lm_head and two moments of each. The second moment of lm_head does not fit.
    const ProgramResult recorded =
        tilescope({"run",      "lm",      "--size",      "tiny",     "--d-model",
                   "32",       "--d-ff",  "48",          "--layers", "1",
                   "--heads",  "2",       "--vocab",     "4000",     "--context",
                   "16",       "--batch", "1",           "--mode",   "train",
                   "--device", "cpu",     "--steps",     "1",        "--memory-limit",
                   "3MB",      "-o",      "setup.tscope"});
    ASSERT_EQ(recorded.code, 0) << recorded.err;
    const ProgramResult shown = tilescope({"show", "setup.tscope", "oom", "--format", "json"});
    const json report = check(shown.out, "oom", "oom of set-up");
    ASSERT_EQ(report.size(), 1u);
    EXPECT_EQ(report[0]["phase"], "setup");
    EXPECT_EQ(report[0]["path"], "setup/optimizer/lm_head second moment");
    EXPECT_EQ(report[0]["requested"], 512'000);
    ASSERT_EQ(report[0]["holders"].size(), 10u);
    std::map<std::string, std::string> categories;
    for (const json& holder : report[0]["holders"]) {
        ASSERT_TRUE(holder["name"].is_string()) << holder;
        categories[holder["name"]] = holder["category"];
    }
    EXPECT_EQ(categories["embedding"], "parameters");
    EXPECT_EQ(categories["lm_head"], "parameters");
    EXPECT_EQ(categories["embedding first moment"], "optimizer");
    EXPECT_EQ(categories["embedding second moment"], "optimizer");
    EXPECT_EQ(categories["lm_head first moment"], "optimizer");
    EXPECT_FALSE(report[0]["categories"].contains("unattributed")) << report;
    const json live =
        check(tilescope({"show", "setup.tscope", "memory", "--at", "peak", "--format", "json"}).out,
              "memory-live", "memory of set-up");
    for (const json& block : live) {
        EXPECT_TRUE(block["name"].is_string()) << block;
        EXPECT_TRUE(block["code"].is_string()) << block;
    }
}

TEST_F(ShowReal, EverySectionIsATableAndCsvToo)
{
    for (const Section& section : sections()) {
        std::vector<std::string> arguments = section.arguments;
        arguments.insert(arguments.begin(), {"show", "a.tscope"});
        const ProgramResult table = tilescope(arguments);
        EXPECT_EQ(table.code, 0) << table.err;
        EXPECT_FALSE(table.out.empty()) << section.schema;
        arguments.insert(arguments.end(), {"--format", "csv"});
        EXPECT_EQ(tilescope(arguments).code, 0) << section.schema;
    }
}

TEST_F(ShowReal, ShapesAndSpecAgreeOnTheMatmulsOfAStep)
{
    const auto matmulOf = [](const std::string& run) {
        for (const json& family : show(run, {"roofline"}, "roofline"))
            if (family["family"] == "matmul")
                return family;
        ADD_FAILURE() << "run " << run << " has no matmuls";
        return json();
    };
    const json fromSpec = matmulOf("1");
    const json fromShapes = matmulOf("2");
    EXPECT_EQ(fromSpec["flops"], fromShapes["flops"]);
    // By hand: 32 tokens through 2 (4 x 32^2 + 3 x 32 x 48) + 32 x 100 weights, and naive attention over all
    // 16 x 16 pairs of 4 heads of 16 in 2 layers; backward needs twice that; 2 traced steps.
    const std::int64_t maps = 2 * 32 * (2 * (4 * 32 * 32 + 3 * 32 * 48) + 32 * 100);
    const std::int64_t attention = 2 * 4 * (2 * 2) * 16 * 16 * 16;
    EXPECT_EQ(fromShapes["flops"], 2 * 3 * (maps + attention));
    EXPECT_EQ(show("2", {"mfu"}, "mfu")[0]["hardware_flops"], 3 * (maps + attention));
    EXPECT_GT(fromShapes["percent_of_measured"], 0);
}

TEST_F(ShowReal, TwoRunsCompareBySchema)
{
    const ProgramResult result = tilescope({"compare", "a.tscope:1", "a.tscope:2", "--format", "json"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(
        testing::schemaOffences(result.out, TILESCOPE_SOURCE_DIR "/resources/schema/compare.schema.json"),
        ::testing::IsEmpty());
}

} // namespace tilescope
