#include "command_line.h"
#include "core/store/run_reader.h"
#include "tests/support/json_schema.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <sstream>

namespace tilescope {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
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

TEST_F(CommandLine, HelpOfAVerbIsThatOfItsOption)
{
    const std::string whole = tilescope({"--help"}).out;
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"help"}, {"help", "help"}, {"help", "--help"}})
        EXPECT_EQ(tilescope(words).out, whole);
    int verbs = 0;
    std::istringstream lines(whole);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string verb;
        words >> verb;
        // The line of a verb is followed by its example.
        if (!line.starts_with("  ") || line.starts_with("   ") || verb == "help" || verb == "--version" ||
            verb == "--color")
            continue;
        ++verbs;
        const ProgramResult asked = tilescope({"help", verb});
        EXPECT_EQ(asked.code, 0) << verb;
        EXPECT_EQ(asked.out, tilescope({verb, "--help"}).out);
        EXPECT_THAT(asked.out, StartsWith("usage: tilescope " + verb));
    }
    EXPECT_GE(verbs, 16);
    EXPECT_EQ(tilescope({"help", "batch"}).out, tilescope({"--batch", "--help"}).out);
    EXPECT_EQ(tilescope({"help", "run", "lm"}).out, tilescope({"run", "lm", "--help"}).out);
    EXPECT_EQ(tilescope({"-V"}).out, tilescope({"--version"}).out);
}

TEST_F(CommandLine, ALineThatIsTypedIsCompleted)
{
    // Which files fit, and words without their help.
    const auto suggestions = [this](const std::string& line) {
        const testing::ProgramResult result = tilescope({"completion", "--line", line});
        EXPECT_EQ(result.code, 0) << line << result.err;
        std::vector<std::string> words;
        std::istringstream lines(result.out);
        for (std::string word; std::getline(lines, word);)
            words.push_back(word.substr(0, word.find('\t')));
        return words;
    };
    const std::pair<const char*, std::vector<std::string>> lines[] = {
        {"tilescope sho", {"files *.tscope", "show"}},
        {"tilescope help compi", {"none", "compile"}},
        {"tilescope show a", {"files *.tscope"}},
        {"tilescope show a.tscope ker", {"none", "kernels"}},
        {"tilescope show 'a b.tscope' kernels --gro", {"none", "--group"}},
        {"tilescope show a.tscope saved --group ", {"none", "layer", "module", "range", "phase"}},
        {"tilescope show a.tscope saved --group=m", {"none", "--group=module"}},
        {"tilescope show a.tscope runs --group ", {"none"}},
        {"tilescope show --format j", {"none", "json"}},
        {"tilescope show --wrong x --format j", {"none", "json"}},
        {"tilescope run att", {"none", "attention"}},
        {"tilescope run lm --rope", {"none", "--rope_theta"}},
        {"tilescope run lm --rope-", {"none", "--rope-theta"}},
        {"tilescope run attention --causal ", {"none", "true", "false"}},
        {"tilescope run lm -o ", {"files *"}},
        {"tilescope -o a.tscope --batch study:attention-g", {"files *.yaml", "study:attention-grid"}},
        {"tilescope --batch s.yaml --shard ", {"none"}},
        {"tilescope record -o a.tscope -- python tr", {"files *"}},
        {"tilescope hosts ch", {"none", "check"}},
        {"tilescope completion f", {"none", "fish"}},
        {"tilescope a.tscope b", {"files *.tscope"}},
        {"tilescope show \"a", {"files *.tscope"}},
    };
    for (const auto& [line, expected] : lines)
        EXPECT_EQ(suggestions(line), expected) << line;
}

TEST_F(CommandLine, BashCompletesByTheProgramsScript)
{
    write("with space.tscope", "");
    write("train.py", "");
    const auto completed = [this](const std::string& line, const std::string& breaks = " :=") {
        const std::string script =
            "COMP_WORDBREAKS='" + breaks +
            "'; source <('" TILESCOPE_PROGRAM "' completion bash); COMP_WORDS=('" TILESCOPE_PROGRAM
            "'); COMP_LINE=$1; COMP_POINT=${#1}; _tilescope; printf '%s|' \"${COMPREPLY[@]}\"";
        return testing::runProgram({"/bin/bash", "-c", script, "bash", line}, folder.path(), environment).out;
    };
    EXPECT_EQ(completed("tilescope show with"), "with space.tscope|");
    EXPECT_EQ(completed("tilescope show a.tscope ker"), "kernels|");
    EXPECT_EQ(completed("tilescope --batch study:attention-g"),
              "attention-grid|"); // bash replaces what follows the colon
    EXPECT_EQ(completed("tilescope --batch study:attention-g", " "), "study:attention-grid|");
    EXPECT_EQ(completed("tilescope show a.tscope --format=j"), "json|");
    EXPECT_EQ(completed("tilescope show a.tscope --format=j", " :"), "--format=json|");
    EXPECT_EQ(completed("tilescope record -- python tr"), "train.py|");
}

TEST_F(CommandLine, RunsHelpKnowsEveryKeyOfTheWorkload)
{
    const ProgramResult all = tilescope({"run", "--help"});
    EXPECT_THAT(all.out, HasSubstr("attention, lm, accumulation, dtypes, products or collective"));
    // Without its line breaks, whose places depend on the words before.
    const auto helpOf = [this](const char* workload) {
        std::string words;
        std::istringstream text(tilescope({"run", workload, "--help"}).out);
        for (std::string word; text >> word;)
            words += word + " ";
        return words;
    };
    EXPECT_THAT(helpOf("attention"), HasSubstr("forward, backward, both"));
    EXPECT_THAT(helpOf("attention"), ::testing::Not(HasSubstr("both, train")));
    EXPECT_THAT(helpOf("lm"), HasSubstr("both, train"));
    EXPECT_EQ(tilescope({"run", "dtypes", "--help"}).code, 0);
    const ProgramResult lm = tilescope({"run", "lm", "--help"});
    EXPECT_THAT(lm.out, HasSubstr("rope_theta"));
    EXPECT_THAT(tilescope({"run", "attention", "--help"}).out, HasSubstr("tile_q"));
}

TEST_F(CommandLine, AMistypedWordGetsASuggestion)
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

TEST_F(CommandLine, TheEventsOfABatchFollowTheirSchema)
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

TEST_F(CommandLine, ABatchPrintsOneLinePerPointAndTheLosses)
{
    const ProgramResult run = tilescope({"--batch", "sweep.yaml", "-o", "a.tscope", "--set", "seq_len=64"});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("1/2  ok"));
    EXPECT_THAT(run.out, HasSubstr("2/2  ok"));
    EXPECT_THAT(run.out, HasSubstr("Nothing lost (42 records checked)"));
    EXPECT_THAT(run.out, HasSubstr("2 of 2 points: 2 ok"));
    EXPECT_THAT(run.err, IsEmpty());
}

TEST_F(CommandLine, ADryRunPredictsThePointsAndRunsNone)
{
    const ProgramResult dry = tilescope({"--batch", "sweep.yaml", "-o", "a.tscope", "--dry-run"});
    EXPECT_EQ(dry.code, 0);
    EXPECT_THAT(dry.out, HasSubstr("seq_len=64"));
    EXPECT_THAT(dry.out, HasSubstr("4 points on "));
    EXPECT_THAT(dry.out, HasSubstr("; nothing was run"));
    EXPECT_FALSE(engineStarted());
    EXPECT_FALSE(std::filesystem::exists(folder / "a.tscope"));
}

TEST_F(CommandLine, RunPredictsTooAndReportsAMissingFile)
{
    const ProgramResult run = tilescope({"run", "attention", "--seq-len", "[64, 128]", "--dry-run"});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("2 points on "));
    EXPECT_THAT(run.out, HasSubstr("; nothing was run"));
    EXPECT_THAT(run.err, IsEmpty());
    EXPECT_EQ(tilescope({"run", "lm", "--dry-run", "--capacity", "80 GiB", "--device", "cuda"}).code, 0);
    const ProgramResult missing = tilescope({"--batch", "sweep.yaml", "-o", "a.tscope", "--dry-run"});
    EXPECT_EQ(missing.code, 0);
    EXPECT_THAT(missing.err, StartsWith("a.tscope: no such file yet"));
    EXPECT_FALSE(engineStarted());
}

TEST_F(CommandLine, ABatchReadsItsSpecFromStandardInput)
{
    const auto piped = [this](const std::string& spec) {
        write("input", spec);
        const std::string line = "exec " TILESCOPE_PROGRAM " --batch - -o a.tscope --set steps=2 < input";
        return testing::runProgram({"/bin/sh", "-c", line}, folder.path(), environment);
    };
    const ProgramResult run = piped("workload: attention\nsweep: {seq_len: [64, 128]}\n");
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("2 of 2 points: 2 ok"));
    EXPECT_EQ(store::RunReader(folder / "a.tscope").runs()[0].name, "attention");
    const ProgramResult wrong = piped("workload: attention\nsteps: 3\nfixed:\n  bacth: 4\n");
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.err, StartsWith("<stdin>:4:3: unknown key 'bacth'; did you mean 'batch'?"));
    EXPECT_EQ(piped("").code, 2);
}

TEST_F(CommandLine, ResumingAFinishedSweepRunsNothing)
{
    const std::vector<std::string> sweep{"--batch", "sweep.yaml", "-o", "a.tscope", "--resume"};
    ASSERT_EQ(tilescope(sweep).code, 0);
    const ProgramResult again = tilescope(sweep);
    EXPECT_EQ(again.code, 0);
    EXPECT_EQ(again.out, "4 of 4 points already in the file; nothing was run -> a.tscope\n");
    std::vector<std::string> dry = sweep;
    dry.emplace_back("--dry-run");
    EXPECT_THAT(tilescope(dry).out, EndsWith("0 points; 4 already in the file; nothing was run\n"));
    ASSERT_EQ(tilescope({"delete", "a.tscope", "2"}).code, 0);
    EXPECT_THAT(tilescope(sweep).out,
                ContainsRegex("1 of 1 point: 1 ok in .*; 3 more already in the file -> a.tscope"));
}

TEST_F(CommandLine, ASmallStackIsSufficient)
{
    const std::string line = "ulimit -s 64 && exec " TILESCOPE_PROGRAM " --batch sweep.yaml -o a.tscope";
    for (const char* more : {" --dry-run", ""}) {
        const ProgramResult ended =
            testing::runProgram({"/bin/sh", "-c", line + more}, folder.path(), environment);
        EXPECT_EQ(ended.code, 0) << more << ended.err;
    }
}

TEST_F(CommandLine, AStudySkipsThePointsThatTheChosenDeviceCannotRun)
{
    const ProgramResult all =
        tilescope({"--batch", "study:all", "--quick", "--set", "device=cpu", "--dry-run"});
    EXPECT_EQ(all.code, 0) << all.err;
    EXPECT_THAT(all.out, HasSubstr("skipped: compile graph is a CUDA graph, and device is cpu"));
    EXPECT_THAT(all.out, HasSubstr(" skipped; nothing was run"));
    const ProgramResult run = tilescope({"--batch", "study:compiled", "--quick", "--set", "device=cpu",
                                         "--set", "backend=naive", "-o", "c.tscope"});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("skipped"));
    EXPECT_THAT(run.out, HasSubstr("compile graph is a CUDA graph, and device is cpu"));
    const ProgramResult own =
        tilescope({"run", "lm", "--compile", "graph", "--device", "cpu", "-o", "d.tscope"});
    EXPECT_EQ(own.code, 2) << "an error in the user's spec";
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
    EXPECT_TRUE(lines.back()["seconds"].is_null()) << "the device is not calibrated";
    EXPECT_THAT(tilescope({"--batch", "sweep.yaml", "--dry-run", "--capacity", "much"}).err,
                HasSubstr("--capacity"));
    EXPECT_THAT(tilescope({"--batch", "sweep.yaml", "--capacity", "1 GiB"}).err, HasSubstr("--dry-run"));
}

TEST_F(CommandLine, ARunWithoutAFileCreatesAndNamesOne)
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

TEST_F(CommandLine, TheCommandLineIsStoredWithTheRun)
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

TEST_F(CommandLine, AMachineThatLacksARequestedDeviceIsExitFour)
{
    const ProgramResult run = tilescope({"run", "attention", "--device", "cuda", "-o", "a.tscope"});
    EXPECT_EQ(run.code, 4);
    EXPECT_THAT(run.err, HasSubstr("no usable NVIDIA GPU"));
    EXPECT_FALSE(std::filesystem::exists(folder / "a.tscope"));
    environment["TILESCOPE_ENGINE"] = "/nonexistent/engine";
    EXPECT_EQ(tilescope({"run", "attention", "-o", "a.tscope"}).code, 4);
}

TEST_F(CommandLine, SqlPrintsRowsAndSaysWhatItLeavesOut)
{
    ASSERT_EQ(tilescope({"--batch", "sweep.yaml", "-o", "a.tscope"}).code, 0);
    const auto json = tilescope(
        {"sql", "a.tscope", "select run, run, null as unknown from runs order by run", "--format", "json"});
    EXPECT_EQ(json.code, 0);
    const auto rows = nlohmann::json::parse(json.out);
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[3], (nlohmann::json{{"run", 4}, {"run_2", 4}, {"unknown", nullptr}}));
    const auto csv = tilescope(
        {"sql", "a.tscope", "select run from runs order by run", "--format", "csv", "--limit", "2"});
    EXPECT_EQ(csv.out, "run\r\n1\r\n2\r\n");
    EXPECT_THAT(csv.err, HasSubstr("more than these 2 rows"));
    EXPECT_THAT(tilescope({"sql", "a.tscope"}).out, HasSubstr("kernels"));
    EXPECT_EQ(tilescope({"sql", "a.tscope", "delete from run"}).code, 2);
    EXPECT_EQ(tilescope({"sql", "a.tscope", "select 1", "--limit", "-1"}).code, 2);
    EXPECT_EQ(store::RunReader(folder / "a.tscope").runs().size(), 4U);
}

TEST_F(CommandLine, RunsAreAnnotatedDeletedAndTheirSpaceReclaimed)
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
    // Without a file, the ceilings become the user's calibration.
    const ProgramResult calibrated = tilescope({"doctor", "--ceilings", "--device", "cpu"});
    EXPECT_THAT(calibrated.out, HasSubstr("1.00 TFLOP/s"));
    EXPECT_THAT(calibrated.err, HasSubstr("calibration"));
    EXPECT_EQ(store::RunReader(folder / "a.tscope").ceilings().size(), 3U);
}

TEST_F(CommandLine, ACalibrationOfABusyHostNeedsForceAndIsMarked)
{
    const std::vector<std::string> measure{"doctor", "--ceilings", "--device", "cpu"};
    const std::vector<std::string> predict{"--batch", "sweep.yaml", "--dry-run", "--set", "device=cpu"};
    const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
        words.insert(words.end(), more.begin(), more.end());
        return words;
    };
    environment["FAKE_WAITING"] = "23.4";
    const ProgramResult refused = tilescope(measure);
    EXPECT_EQ(refused.code, 4);
    EXPECT_THAT(refused.out, HasSubstr("busy"));
    EXPECT_THAT(refused.err,
                ContainsRegex("^doctor --ceilings: not saved as calibration: a thread waited 23 % of the "
                              "time for a CPU \\(load .*\\); .* --force\n$"));
    EXPECT_FALSE(std::filesystem::exists(environment["TILESCOPE_CALIBRATION"]));

    ASSERT_EQ(tilescope(with(measure, {"--force"})).code, 0);
    EXPECT_THAT(tilescope(predict).out, HasSubstr("calibrated while its host was busy"));
    const auto marked = jsonLines(tilescope(with(predict, {"--format", "json"})).out);
    EXPECT_EQ(marked[0]["forecast"]["busy_host"], true);

    // A named file stores them with a mark; the table shows it.
    const ProgramResult named = tilescope(with(measure, {"-o", "a.tscope"}));
    EXPECT_EQ(named.code, 0);
    EXPECT_THAT(named.err, HasSubstr("the host was busy"));
    const ProgramResult shown = tilescope({"show", "a.tscope", "ceilings", "--format", "json"});
    EXPECT_THAT(testing::schemaOffences(shown.out,
                                        TILESCOPE_SOURCE_DIR "/resources/schema/show-ceilings.schema.json"),
                IsEmpty());
    EXPECT_EQ(nlohmann::json::parse(shown.out)[0]["busy_host"], true);

    // A later measurement on a quiet host replaces them.
    environment["FAKE_WAITING"] = "0.5";
    ASSERT_EQ(tilescope(measure).code, 0);
    EXPECT_THAT(tilescope(predict).out, ::testing::Not(HasSubstr("busy")));
    EXPECT_EQ(jsonLines(tilescope(with(predict, {"--format", "json"})).out)[0]["forecast"]["busy_host"],
              false);
    EXPECT_EQ(tilescope({"doctor", "--force"}).code, 2);
}

TEST_F(CommandLine, ADryRunPredictsTimeOnACalibratedDevice)
{
    const std::vector<std::string> asked{"--batch", "sweep.yaml", "--dry-run", "--set", "device=cpu"};
    EXPECT_THAT(tilescope(asked).out, HasSubstr("Time is not predicted: this device is not calibrated"));
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

TEST_F(CommandLine, DoctorGivesTheReasonIfCeilingsCannotBeMeasured)
{
    const ProgramResult noDevice = tilescope({"doctor", "--ceilings", "--device", "cuda"});
    EXPECT_EQ(noDevice.code, 4);
    EXPECT_THAT(noDevice.err, HasSubstr("no usable NVIDIA GPU"));
    EXPECT_EQ(tilescope({"doctor", "--ceilings", "--device", "gpu"}).code, 2);
    EXPECT_THAT(tilescope({"doctor", "-o", "a.tscope"}).err,
                HasSubstr("-o, --device and --force require --ceilings"));
    environment["FAKE_SCRIPT"] = "segv";
    const ProgramResult died = tilescope({"doctor", "--ceilings", "--device", "cpu"});
    EXPECT_EQ(died.code, 3);
    EXPECT_THAT(died.err, HasSubstr("SIGSEGV"));
}

TEST_F(CommandLine, SqlTellsInfiniteNumbersFromMissingOnes)
{
    ASSERT_EQ(tilescope({"--batch", "sweep.yaml", "-o", "a.tscope"}).code, 0);
    const auto printed = [this](const char* format) {
        return tilescope({"sql", "a.tscope", "select 9e999 as a, -9e999 as b, null as c", "--format", format})
            .out;
    };
    EXPECT_EQ(nlohmann::json::parse(printed("json")),
              nlohmann::json::parse(R"([{"a": "inf", "b": "-inf", "c": null}])"));
    EXPECT_EQ(printed("csv"), "a,b,c\r\ninf,-inf,\r\n");
    EXPECT_THAT(printed("table"), HasSubstr("inf  -inf  -"));
}

TEST_F(CommandLine, SqlNamesTheFileThatIsDamaged)
{
    ASSERT_EQ(tilescope({"--batch", "sweep.yaml", "-o", "a.tscope"}).code, 0);
    std::fstream file(folder / "a.tscope", std::ios::binary | std::ios::in | std::ios::out);
    constexpr std::streamoff kPage = 4096;
    file.seekp(3 * kPage) << std::string(8 * kPage, '\0'); // the first pages stay: it is a recording still
    file.close();
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"sql", "a.tscope", "select * from runs"}, {"sql", "a.tscope"}}) {
        const ProgramResult refused = tilescope(words);
        EXPECT_EQ(refused.code, 2);
        EXPECT_THAT(refused.err, StartsWith("a.tscope: the file is damaged"));
    }
}

TEST_F(CommandLine, LongWordsAreShortenedInErrors)
{
    const std::string word(70'000, 'x');
    for (const std::vector<std::string>& words : {std::vector<std::string>{word},
                                                  {"show", word},
                                                  {"show", "a.tscope", word},
                                                  {"run", word},
                                                  {"run", "attention", "--backend", word},
                                                  {"--batch", "sweep.yaml", "--set", "backend=" + word}}) {
        const ProgramResult refused = tilescope(words);
        EXPECT_EQ(refused.code, 2);
        EXPECT_LT(refused.err.size(), 3000U) << words.front().substr(0, 20);
        EXPECT_THAT(refused.err, HasSubstr("\u2026"));
    }
}

TEST_F(CommandLine, AnUnknownUseOfScratchIsRefused)
{
    environment["TILESCOPE_SCRATCH"] = "maybe";
    const ProgramResult refused = tilescope({"--batch", "sweep.yaml", "-o", "a.tscope"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, StartsWith("TILESCOPE_SCRATCH: "));
    EXPECT_FALSE(std::filesystem::exists(folder / "a.tscope"));
    EXPECT_FALSE(engineStarted());
}

TEST_F(CommandLine, ASpecWithoutADisplayLeadsToTheCommandThatRunsIt)
{
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
        environment[name] = "";
    const ProgramResult refused = tilescope({"sweep.yaml"});
    EXPECT_EQ(refused.code, 4);
    EXPECT_EQ(refused.err, "sweep.yaml: there is no display to open a spec in the window; run it here: "
                           "tilescope --batch sweep.yaml -o FILE.tscope\n");
    EXPECT_THAT(tilescope({"none.yaml"}).err, HasSubstr("none.yaml"));
    EXPECT_EQ(tilescope({"none/there.yaml"}).code, 2) << "there is no such file";
}

TEST_F(CommandLine, FilesOpenTheWindow)
{
    write("window", "#!/bin/sh\necho window \"$@\"\n");
    chmod((folder / "window").c_str(), 0755);
    environment["TILESCOPE_GUI"] = (folder / "window").string();
    write("a.tscope", "");
    write("b.tscope", "");
    EXPECT_EQ(tilescope({"a.tscope", "b.tscope"}).out, "window a.tscope b.tscope\n");
    EXPECT_EQ(tilescope({}).out, "window\n");
    EXPECT_EQ(tilescope({"a.tscope", "--runs", "1,2"}).out, "window a.tscope --runs 1,2\n");
    for (const std::vector<std::string>& missing :
         {std::vector<std::string>{"c.tscope"}, {"a.tscope", "c.tscope"}}) {
        const ProgramResult refused = tilescope(missing);
        EXPECT_EQ(refused.code, 2);
        EXPECT_THAT(refused.err, StartsWith("c.tscope: no such file; "));
    }
    environment["TILESCOPE_GUI"] = "/nonexistent/window";
    const ProgramResult none = tilescope({"a.tscope"});
    EXPECT_EQ(none.code, 4);
    EXPECT_THAT(none.err, HasSubstr("/nonexistent/window: the window cannot be opened"));
}

TEST_F(CommandLine, PresetsShowTheirExactParameterCounts)
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
