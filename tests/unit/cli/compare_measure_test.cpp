// compare --measure: runs specs and commands in turn. Commands are scripts that print their own step times, so that no
// verdict depends on this machine.

#include "command_line.h"
#include "core/store/run_reader.h"

#include <gmock/gmock.h>

namespace tilescope {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ProgramResult;

class CompareMeasure : public CommandLine {
protected:
    /// A script that prints ten steps of about `ms`, and its name into the file `order`.
    std::string script(const std::string& name, int ms)
    {
        std::string text = "echo " + name + " >> order\n";
        for (int step = 0; step < 10; ++step)
            text += "echo 'step_ms: " + std::to_string(ms) + "." + std::to_string(step) + "'\n";
        write(name + ".sh", text);
        return "sh " + name + ".sh";
    }

    ProgramResult measure(const std::string& a, const std::string& b,
                          std::vector<std::string> options = {}) const
    {
        options.insert(options.begin(), {"compare", "--measure", a, b});
        return tilescope(std::move(options));
    }

    std::string fileText(const std::string& name) const
    {
        std::ifstream stream(folder / name);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
};

TEST_F(CompareMeasure, CommandsThatPrintTheirStepsAreRunInTurnAndKept)
{
    const std::string a = script("a", 100);
    const std::string b = script("b", 200);
    const ProgramResult result = measure(a, b, {"--repeat", "3", "-o", "kept.tscope", "--format", "json"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(fileText("order"), "a\nb\nb\na\nb\na\n");
    const json compared = json::parse(result.out);
    EXPECT_EQ(compared["verdict"], "slower") << compared["sentence"];
    EXPECT_NEAR(compared["ratio"]["value"].get<double>(), 200.45 / 100.45, 1e-6);
    EXPECT_EQ(compared["between_runs"]["in_turn"], true);
    EXPECT_EQ(compared["a"]["runs"], json({1, 4, 6}));
    EXPECT_EQ(compared["b"]["runs"], json({2, 3, 5}));
    EXPECT_THAT(result.err,
                HasSubstr("To compare them again: tilescope compare kept.tscope:1,4,6 kept.tscope:2,3,5"));
    const ProgramResult again =
        tilescope({"compare", "kept.tscope:1,4,6", "kept.tscope:2,3,5", "--format", "json"});
    EXPECT_EQ(again.out, result.out) << "the answer is in the file";
    EXPECT_EQ(tilescope({"verify", "kept.tscope"}).code, 0);
}

TEST_F(CompareMeasure, TheGateDecidesTheExitCode)
{
    const std::string a = script("a", 100);
    const std::string b = script("b", 110);
    EXPECT_EQ(measure(a, b, {"--repeat", "3", "--gate", "3%"}).code, 1);
    EXPECT_EQ(measure(a, a, {"--repeat", "3", "--gate", "3%"}).code, 0);
    const ProgramResult temporary = measure(a, a, {"--repeat", "2", "--gate", "3%"});
    EXPECT_THAT(temporary.err, HasSubstr("The runs are in /"));
}

TEST_F(CompareMeasure, SpecsAreRunInTurnByOneEngine)
{
    write("a.yaml", "workload: attention\nsteps: 8\nseq_len: 64\nrepeat: 7\n");
    write("b.yml", "workload: attention\nsteps: 8\nseq_len: 128\n");
    const ProgramResult result =
        measure("a.yaml", "b.yml", {"--repeat", "2", "-o", "m.tscope", "--format", "json"});
    ASSERT_EQ(result.code, 0) << result.err;
    std::vector<std::int64_t> lengths;
    for (const store::RunRecord& run : store::RunReader(folder / "m.tscope").runs())
        lengths.push_back(json::parse(run.specJson)["seq_len"]);
    EXPECT_THAT(lengths, ElementsAre(64, 128, 128, 64));
    EXPECT_EQ(json::parse(result.out)["verdict"], "no-difference")
        << "the fake engine takes a millisecond for both";
    EXPECT_EQ(fileText("starts").size(), 1U);
    const ProgramResult alike =
        measure("a.yaml", "a.yaml", {"--repeat", "2", "-o", "m.tscope", "--format", "json"});
    EXPECT_EQ(json::parse(alike.out)["a"]["runs"], json({5, 8}))
        << "one spec against itself, in a file that has runs";
}

TEST_F(CompareMeasure, ShortRunsAreRepeatedMoreOften)
{
    write("a.yaml", "workload: attention\nsteps: 8\n");
    write("b.yaml", "workload: attention\nsteps: 8\nseq_len: 128\n");
    const ProgramResult result = measure("a.yaml", "b.yaml", {"-o", "m.tscope", "--format", "json"});
    ASSERT_EQ(result.code, 0) << result.err;
    const json compared = json::parse(result.out);
    EXPECT_EQ(compared["a"]["runs"].size(), 20U) << "the fake engine takes 8 ms for a run";
    EXPECT_EQ(compared["b"]["runs"].size(), 20U);
    EXPECT_EQ(compared["between_runs"]["in_turn"], true);
    EXPECT_EQ(measure("a.yaml", "b.yaml", {"--repeat", "5", "-o", "five.tscope"}).code, 0);
    EXPECT_EQ(store::RunReader(folder / "five.tscope").runs().size(), 10U);
}

TEST_F(CompareMeasure, ASpecAndACommandMayBeCompared)
{
    write("a.yaml", "workload: attention\nsteps: 8\n");
    const ProgramResult result = measure("a.yaml", script("b", 5), {"--repeat", "2", "--format", "json"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(json::parse(result.out)["verdict"], "slower");
}

TEST_F(CompareMeasure, MistakesAreFoundBeforeAnythingRuns)
{
    const std::string a = script("a", 100);
    const auto refused = [&](const ProgramResult& result, const std::string& sentence) {
        EXPECT_EQ(result.code, 2);
        EXPECT_THAT(result.err, HasSubstr(sentence));
        EXPECT_EQ(fileText("order"), "");
    };
    refused(measure(a, "none.yaml"), "none.yaml: no such file; check the path");
    refused(measure(a, "sweep.yaml"),
            "sweep.yaml: has 4 points, and each side is one; give every key one value");
    refused(measure(a, ""), "needs two specs or commands");
    refused(measure(a, "cat a | b"), "|");
    refused(measure(a, "sh 'a.sh"), "'");
    refused(measure(a, a, {"--repeat", "1"}), "--repeat");
    refused(measure(a, a, {"--gate", "much"}), "is not a fraction");
    refused(measure(a, a, {"--from", "0"}), "--measure: compares whole steps; leave out --from and --to");
    refused(tilescope({"compare", "a.tscope", "b.tscope", "--repeat", "5"}), "--repeat: is about --measure");
    write("notes.tscope", "not a recording");
    refused(measure(a, a, {"-o", "notes.tscope"}), "notes.tscope");
    EXPECT_EQ(fileText("notes.tscope"), "not a recording");
}

TEST_F(CompareMeasure, ACommandThatFailsEndsTheMeasurementAndTheRunsStay)
{
    const std::string a = script("a", 100);
    write("b.sh", "echo 'step_ms: 5'\ntest ! -e failed || exit 7\ntouch failed\n");
    const ProgramResult failed = measure(a, "sh b.sh", {"-o", "m.tscope"});
    EXPECT_EQ(failed.code, 3);
    EXPECT_THAT(failed.err,
                HasSubstr("sh b.sh: ended with exit code 7; see its output above; 1 run of A and 1 run of B "
                          "are in m.tscope"));
    EXPECT_EQ(store::RunReader(folder / "m.tscope").runIds().size(), 2U);
    EXPECT_NE(measure(a, "./no-such-program").code, 0);
    write("wrong.sh", "echo step_ms: fast\n");
    const ProgramResult wrong = measure(a, "sh wrong.sh");
    EXPECT_EQ(wrong.code, 3);
    EXPECT_THAT(wrong.err, HasSubstr("printed 'step_ms: fast', which is no time in milliseconds"));
    const ProgramResult silent = measure(a, "true");
    EXPECT_EQ(silent.code, 3);
    EXPECT_THAT(silent.err, HasSubstr("shows no steps: it printed no line step_ms: NUMBER"));
    write("once.sh", "test -e once || echo step_ms: 5\ntouch once\n");
    EXPECT_THAT(measure(a, "sh once.sh").err,
                HasSubstr("printed no line step_ms: NUMBER this time, but did before"));
}

TEST_F(CompareMeasure, ASpecThatFailsEndsTheMeasurement)
{
    write("a.yaml", "workload: attention\nsteps: 8\n");
    environment["FAKE_SCRIPT"] = "skipped";
    const ProgramResult skipped = measure("a.yaml", "a.yaml", {"-o", "m.tscope"});
    EXPECT_EQ(skipped.code, 3);
    EXPECT_THAT(skipped.err, HasSubstr("a.yaml: run 1 is skipped: this device cannot do it"));
}

TEST_F(CompareMeasure, ControlCEndsTheCommandAndKeepsTheRuns)
{
    const std::string a = script("a", 100);
    write("b.sh", "kill -INT 0\nsleep 60\n"); // the signal of a terminal: to every process of the group
    std::vector<std::string> words = command({"compare", "--measure", a, "sh b.sh", "-o", "m.tscope"});
    words.insert(words.begin(), "/usr/bin/setsid");
    const ProgramResult stopped = testing::runProgram(words, folder.path(), environment);
    EXPECT_EQ(stopped.code, 130);
    EXPECT_EQ(stopped.out, "");
    EXPECT_THAT(stopped.err, HasSubstr("stopped: 1 run of A and 0 runs of B are in m.tscope"));
    EXPECT_EQ(store::RunReader(folder / "m.tscope").runIds().size(), 1U);
}

} // namespace tilescope
