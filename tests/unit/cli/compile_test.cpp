// `tilescope compile` with a fake engine; tests/studies/inductor compiles models.

#include "tests/support/json_schema.h"
#include "tests/unit/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace tilescope {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ProgramResult;

namespace {

namespace fs = std::filesystem;

class Compile : public CommandLine {
protected:
    void SetUp() override
    {
        CommandLine::SetUp();
        environment["XDG_CACHE_HOME"] = (folder / "cache").string();
        write("step.yaml", "workload: lm\nsize: tiny\nloss: cross_entropy\nsweep: {mode: [both, train, "
                           "forward], context: [16, 32]}\n");
    }

    nlohmann::json rowsOf(const ProgramResult& result) const
    {
        EXPECT_THAT(
            testing::schemaOffences(result.out, TILESCOPE_SOURCE_DIR "/resources/schema/compile.schema.json"),
            IsEmpty());
        return nlohmann::json::parse(result.out);
    }
};

} // namespace

TEST_F(Compile, RunsEachModelOnceAndPrintsItsErrors)
{
    const ProgramResult result =
        tilescope({"compile", "step.yaml", "--set", "compile=inductor", "--format", "json"});
    EXPECT_EQ(result.code, 0) << result.err;
    const nlohmann::json rows = rowsOf(result);
    std::vector<std::string> models;
    for (const nlohmann::json& row : rows)
        models.push_back(row["mode"].get<std::string>() + " " + std::to_string(row["context"].get<int>()));
    EXPECT_THAT(models, ::testing::UnorderedElementsAre("both 16", "both 32", "forward 16", "forward 32"))
        << "training and mode both share a model";
    EXPECT_EQ(rows[0]["compile_ms"], 1234);
    EXPECT_EQ(rows[0]["output_error"], 2e-7);
    EXPECT_EQ(rows[0]["gradient_error"], 3e-7);
    EXPECT_THAT(result.err, HasSubstr("model 4 of 4"));
}

TEST_F(Compile, PrintsATable)
{
    const ProgramResult result = tilescope({"compile", "step.yaml", "--set", "compile=inductor"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("gradient error"));
    EXPECT_THAT(result.out, HasSubstr("compiled in (s)"));
}

TEST_F(Compile, EndsWithFourWhereTheModelCannotBeCompiled)
{
    environment["FAKE_SCRIPT"] = "skipped";
    const std::vector<std::string> command{"compile", "step.yaml", "--set", "compile=inductor"};
    const ProgramResult table = tilescope(command);
    EXPECT_EQ(table.code, 4) << table.err;
    EXPECT_THAT(table.out, HasSubstr("skipped: this device cannot do it"));
    std::vector<std::string> asJson = command;
    asJson.insert(asJson.end(), {"--format", "json"});
    const nlohmann::json rows = rowsOf(tilescope(asJson));
    EXPECT_TRUE(rows[0]["compile_ms"].is_null());
    EXPECT_EQ(rows[0]["reason"], "this device cannot do it");
}

TEST_F(Compile, RefusesASpecWithNothingToCompile)
{
    const ProgramResult result = tilescope({"compile", "step.yaml"});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.err, "step.yaml: no point has compile: inductor; add --set compile=inductor\n");
    EXPECT_FALSE(engineStarted());
    EXPECT_EQ(tilescope({"compile"}).code, 2);
}

TEST_F(Compile, ItsModelsAreListedAndCleared)
{
    fs::create_directories(folder / "cache/tilescope/inductor");
    write("cache/tilescope/inductor/a.pt2", "package");
    write("cache/tilescope/inductor/a.note", "note");
    write("cache/tilescope/inductor/b.log", "log");
    EXPECT_THAT(tilescope({"cache"}).out, HasSubstr("1 model of compile: inductor, 14.0 B, in "));
    EXPECT_THAT(tilescope({"doctor"}).out, HasSubstr("1 model, 14.0 B, in "));
    EXPECT_THAT(tilescope({"cache", "clear"}).out, HasSubstr("and 1 model of compile: inductor (14.0 B)"));
    EXPECT_FALSE(fs::exists(folder / "cache/tilescope/inductor"));
}

} // namespace tilescope
