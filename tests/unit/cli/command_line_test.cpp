#include "command_line.h"
#include "core/store/run_reader.h"
#include "tests/support/json_schema.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

namespace tilescope {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ProgramResult;
using ::testing::StartsWith;

TEST_F(CommandLine, HelpShowsEveryVerbWithAnExample)
{
    const ProgramResult help = tilescope({"--help"});
    EXPECT_EQ(help.code, 0);
    for (const char* text :
         {"--batch", "tilescope run lm", "tilescope show a.tscope", "presets", "doctor", "exit codes"})
        EXPECT_THAT(help.out, HasSubstr(text));
    EXPECT_THAT(tilescope({"--version"}).out, StartsWith("Tilescope "));
    for (const char* verb : {"run", "presets", "doctor", "show"}) {
        const ProgramResult ofVerb = tilescope({verb, "--help"});
        EXPECT_EQ(ofVerb.code, 0) << verb;
        EXPECT_THAT(ofVerb.out, HasSubstr(std::string("usage: tilescope ") + verb)) << verb;
    }
    EXPECT_THAT(tilescope({"--batch", "--help"}).out, HasSubstr("example: tilescope --batch"));
}

TEST_F(CommandLine, RunsHelpKnowsEveryKeyOfTheWorkload)
{
    const ProgramResult lm = tilescope({"run", "lm", "--help"});
    EXPECT_THAT(lm.out, HasSubstr("rope_theta"));
    EXPECT_THAT(tilescope({"run", "attention", "--help"}).out, HasSubstr("tile_q"));
}

TEST_F(CommandLine, WhatIsMistypedGetsItsNearestSpelling)
{
    const ProgramResult verb = tilescope({"shwo", "a"});
    EXPECT_EQ(verb.code, 2);
    EXPECT_THAT(verb.err, HasSubstr("did you mean 'show'?"));
    const ProgramResult key = tilescope({"run", "attention", "--sqe-len", "64"});
    EXPECT_EQ(key.code, 2);
    EXPECT_EQ(key.err, "--sqe-len: unknown option; did you mean '--seq-len'?\n");
    const ProgramResult workload = tilescope({"run", "attentoin"});
    EXPECT_EQ(workload.code, 2);
    EXPECT_THAT(workload.err, HasSubstr("did you mean 'attention'?"));
    const ProgramResult value = tilescope({"run", "attention", "--backend", "flsh"});
    EXPECT_EQ(value.code, 2);
    EXPECT_THAT(value.err, HasSubstr("did you mean 'flash'?"));
    EXPECT_FALSE(engineStarted());
}

TEST_F(CommandLine, AWrongSpecStartsAndStoresNothing)
{
    write("bad.yaml", "workload: attention\nsteps: 3\nfixed:\n  bacth: 4\n");
    const ProgramResult bad = tilescope({"--batch", "bad.yaml", "-o", "a.tscope"});
    EXPECT_EQ(bad.code, 2);
    EXPECT_THAT(bad.err, StartsWith("bad.yaml:4:3: unknown key 'bacth'; did you mean 'batch'?"));
    EXPECT_THAT(bad.out, IsEmpty());
    EXPECT_FALSE(engineStarted());
    EXPECT_FALSE(std::filesystem::exists(folder / "a.tscope"));
}

TEST_F(CommandLine, ABatchTellsEventsThatKeepToTheirSchema)
{
    environment["FAKE_SCRIPT"] = "ok,segv";
    const ProgramResult run = tilescope({"-o", "a.tscope", "--format", "json", "--batch", "sweep.yaml"});
    EXPECT_EQ(run.code, 3) << run.err;
    const auto events = jsonLines(run.out);
    for (const nlohmann::json& event : events)
        EXPECT_THAT(testing::schemaOffences(event.dump(),
                                            TILESCOPE_SOURCE_DIR "/resources/schema/events.schema.json"),
                    IsEmpty())
            << event;
    EXPECT_EQ(events.front()["event"], "hello");
    EXPECT_EQ(events.front()["points"], 4);
    EXPECT_EQ(events.back()["event"], "done");
    EXPECT_EQ(events.back()["ok"], 2);
    EXPECT_EQ(events.back()["error"], 2);
    EXPECT_EQ(store::RunReader(folder / "a.tscope").runs().size(), 4U);
}

TEST_F(CommandLine, ABatchTellsAPersonALineAPointAndWhatWasLost)
{
    const ProgramResult run = tilescope({"--batch", "sweep.yaml", "-o", "a.tscope", "--set", "seq_len=64"});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("1/2  ok"));
    EXPECT_THAT(run.out, HasSubstr("2/2  ok"));
    EXPECT_THAT(run.out, HasSubstr("Nothing lost (42 records checked)"));
    EXPECT_THAT(run.out, HasSubstr("2 of 2 points: 2 ok"));
    EXPECT_THAT(run.err, IsEmpty());
}

TEST_F(CommandLine, ADryRunForetellsThePointsAndRunsNone)
{
    const ProgramResult dry = tilescope({"--batch", "sweep.yaml", "-o", "a.tscope", "--dry-run"});
    EXPECT_EQ(dry.code, 0);
    EXPECT_THAT(dry.out, HasSubstr("seq_len=64"));
    EXPECT_THAT(dry.out, HasSubstr("4 points on "));
    EXPECT_THAT(dry.out, HasSubstr("; nothing was run"));
    EXPECT_FALSE(engineStarted());
    EXPECT_FALSE(std::filesystem::exists(folder / "a.tscope"));
}

TEST_F(CommandLine, ADryRunMarksPointsThatDoNotFit)
{
    const std::vector<std::string> asked{"--batch",     "sweep.yaml", "--dry-run",
                                         "--capacity",  "512 MiB",    "--set",
                                         "device=cuda", "--set",      "seq_len=[64, 4096]"};
    const ProgramResult dry = tilescope(asked);
    EXPECT_EQ(dry.code, 0) << dry.err;
    EXPECT_THAT(dry.out, HasSubstr("out of memory in "));
    EXPECT_THAT(dry.out, HasSubstr("4 points on GPU, predicted peak "));

    std::vector<std::string> json = asked;
    json.insert(json.end(), {"--format", "json"});
    const auto lines = jsonLines(tilescope(json).out);
    ASSERT_EQ(lines.size(), 5U);
    for (const auto& line : lines)
        EXPECT_THAT(
            testing::schemaOffences(line.dump(), TILESCOPE_SOURCE_DIR "/resources/schema/events.schema.json"),
            IsEmpty())
            << line;
    std::int64_t tooLarge = 0;
    for (const auto& line : lines)
        if (line["event"] == "point" && line["params"]["seq_len"] == 4096)
            tooLarge += line["forecast"]["memory"]["out_of_memory"].is_object() ? 1 : 0;
    EXPECT_EQ(lines.back()["event"], "forecast");
    EXPECT_EQ(lines.back()["points"], 4);
    EXPECT_GE(lines.back()["out_of_memory"], tooLarge);
    EXPECT_GT(tooLarge, 0);
    EXPECT_TRUE(lines.back()["seconds"].is_null()) << "nothing was calibrated";
    EXPECT_THAT(tilescope({"--batch", "sweep.yaml", "--dry-run", "--capacity", "much"}).err,
                HasSubstr("--capacity"));
    EXPECT_THAT(tilescope({"--batch", "sweep.yaml", "--capacity", "1 GiB"}).err, HasSubstr("--dry-run"));
}

TEST_F(CommandLine, ARunWithoutAFileMakesOneAndSaysSo)
{
    const ProgramResult run =
        tilescope({"run", "attention", "--seq_len", "64", "--device", "cpu", "--steps", "3"});
    EXPECT_EQ(run.code, 0) << run.err;
    std::string made;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
        if (entry.path().extension() == ".tscope")
            made = entry.path().filename();
    EXPECT_THAT(made, StartsWith("tilescope-"));
    EXPECT_THAT(run.err, HasSubstr("recording into " + made));
}

TEST_F(CommandLine, WhatWasTypedIsKeptWithTheRun)
{
    ASSERT_EQ(tilescope({"run", "attention", "--seq-len", "[64]", "--name", "it's", "-o", "a.tscope"}).code,
              0);
    std::map<std::string, std::string> facts;
    for (const EnvironmentEntry& entry : store::RunReader(folder / "a.tscope").environment(RunId{1}))
        facts[entry.key] = entry.value;
    EXPECT_EQ(facts.at("command_line"),
              R"(tilescope run attention --seq-len '[64]' --name 'it'\''s' -o a.tscope)");
    EXPECT_EQ(facts.at("libtorch"), "fake");
    EXPECT_EQ(facts.at("seed"), "0");
    EXPECT_THAT(facts.at("spec"), HasSubstr("\"seq_len\":64"));
}

TEST_F(CommandLine, AMachineWithoutWhatWasAskedOutrightIsExitFour)
{
    const ProgramResult run = tilescope({"run", "attention", "--device", "cuda", "-o", "a.tscope"});
    EXPECT_EQ(run.code, 4);
    EXPECT_THAT(run.err, HasSubstr("no usable NVIDIA GPU"));
    EXPECT_FALSE(std::filesystem::exists(folder / "a.tscope"));
    environment["TILESCOPE_ENGINE"] = "/nonexistent/engine";
    EXPECT_EQ(tilescope({"run", "attention", "-o", "a.tscope"}).code, 4);
}

TEST_F(CommandLine, RunsAreAnnotatedDeletedAndTheirSpaceGivenBack)
{
    ASSERT_EQ(tilescope({"--batch", "sweep.yaml", "-o", "a.tscope"}).code, 0);
    EXPECT_EQ(tilescope({"note", "a.tscope", "2", "fan was loud"}).code, 0);
    EXPECT_EQ(tilescope({"tag", "a.tscope", "2", "baseline"}).code, 0);
    EXPECT_EQ(tilescope({"delete", "a.tscope", "1", "3"}).code, 0);
    EXPECT_EQ(tilescope({"compact", "a.tscope"}).code, 0);
    const auto runs = store::RunReader(folder / "a.tscope").runs();
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_EQ(runs[0].run, RunId{2});
    EXPECT_EQ(runs[0].note, "fan was loud");
    EXPECT_EQ(runs[0].tag, "baseline");
    EXPECT_EQ(runs[1].run, RunId{4});
    for (const char* wrong : {"99", "zero", "-1"})
        EXPECT_EQ(tilescope({"delete", "a.tscope", wrong}).code, 2) << wrong;
}

TEST_F(CommandLine, DoctorKeepsTheCeilingsItMeasured)
{
    const ProgramResult measured =
        tilescope({"doctor", "--ceilings", "--device", "cpu", "-o", "a.tscope", "--format", "json"});
    ASSERT_EQ(measured.code, 0) << measured.err;
    const auto rows = nlohmann::json::parse(measured.out);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0]["kind"], "matmul_fp32");
    const auto kept = store::RunReader(folder / "a.tscope").ceilings();
    ASSERT_EQ(kept.size(), 3U);
    EXPECT_EQ(kept[1].kind, "copy");
    EXPECT_EQ(kept[1].value, 2e10);
    EXPECT_THAT(kept[0].device, StartsWith("cpu:"));
    // Without a file they are the user's calibration.
    const ProgramResult calibrated = tilescope({"doctor", "--ceilings", "--device", "cpu"});
    EXPECT_THAT(calibrated.out, HasSubstr("1.00 TFLOP/s"));
    EXPECT_THAT(calibrated.err, HasSubstr("calibration"));
    EXPECT_EQ(store::RunReader(folder / "a.tscope").ceilings().size(), 3U);
}

TEST_F(CommandLine, ADryRunTellsTimeOfADeviceThatWasCalibrated)
{
    const std::vector<std::string> asked{"--batch", "sweep.yaml", "--dry-run", "--set", "device=cpu"};
    EXPECT_THAT(tilescope(asked).out, HasSubstr("Time is not predicted: no calibration"));
    ASSERT_EQ(tilescope({"doctor", "--ceilings", "--device", "cpu"}).code, 0);
    const ProgramResult dry = tilescope(asked);
    EXPECT_THAT(dry.out, ::testing::Not(HasSubstr("Time is not predicted"))) << dry.err;
    EXPECT_THAT(dry.out, ContainsRegex(", about .* ± [0-9]+ %; nothing was run"));
    std::vector<std::string> json = asked;
    json.insert(json.end(), {"--format", "json"});
    const auto lines = jsonLines(tilescope(json).out);
    double sum = 0;
    double off = 0;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        const double seconds = lines[i]["forecast"]["seconds"];
        sum += seconds;
        off += seconds * lines[i]["forecast"]["error"].get<double>();
    }
    EXPECT_GT(off, 0);
    EXPECT_NEAR(lines.back()["error"].get<double>(), off / sum, 1e-9);
    EXPECT_NEAR(lines.back()["seconds"].get<double>(), sum, 1e-9);
    EXPECT_GT(sum, 0);
}

TEST_F(CommandLine, DoctorSaysWhyCeilingsCannotBeMeasured)
{
    const ProgramResult noDevice = tilescope({"doctor", "--ceilings", "--device", "cuda"});
    EXPECT_EQ(noDevice.code, 4);
    EXPECT_THAT(noDevice.err, HasSubstr("no usable NVIDIA GPU"));
    EXPECT_EQ(tilescope({"doctor", "--ceilings", "--device", "gpu"}).code, 2);
    EXPECT_THAT(tilescope({"doctor", "-o", "a.tscope"}).err, HasSubstr("only --ceilings takes a file"));
    environment["FAKE_SCRIPT"] = "segv";
    const ProgramResult died = tilescope({"doctor", "--ceilings", "--device", "cpu"});
    EXPECT_EQ(died.code, 3);
    EXPECT_THAT(died.err, HasSubstr("SIGSEGV"));
}

TEST_F(CommandLine, FilesOpenTheWindow)
{
    write("window", "#!/bin/sh\necho window \"$@\"\n");
    chmod((folder / "window").c_str(), 0755);
    environment["TILESCOPE_GUI"] = (folder / "window").string();
    EXPECT_EQ(tilescope({"a.tscope", "b.tscope"}).out, "window a.tscope b.tscope\n");
    EXPECT_EQ(tilescope({}).out, "window\n");
    environment["TILESCOPE_GUI"] = "/nonexistent/window";
    const ProgramResult none = tilescope({"a.tscope"});
    EXPECT_EQ(none.code, 4);
    EXPECT_THAT(none.err, HasSubstr("/nonexistent/window: the window cannot be opened"));
}

TEST_F(CommandLine, PresetsTellTheirExactParameterCounts)
{
    const auto presets = nlohmann::json::parse(tilescope({"presets", "--format", "json"}).out);
    std::map<std::string, std::int64_t> counts;
    for (const nlohmann::json& preset : presets)
        counts[preset["size"]] = preset["parameters"];
    EXPECT_EQ(counts.at("small"), 128'625'408);
    EXPECT_EQ(counts.at("medium"), 423'183'360);
    EXPECT_EQ(counts.at("large"), 969'411'840);
    EXPECT_EQ(counts.at("xl"), 1'998'235'200);
    EXPECT_EQ(counts.at("2.7B"), 3'406'809'600);
}

TEST_F(CommandLine, AnUnknownStudyIsNamed)
{
    const ProgramResult run = tilescope({"--batch", "study:no-such-study", "-o", "a.tscope"});
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, HasSubstr("unknown study 'no-such-study'"));
}

} // namespace tilescope
