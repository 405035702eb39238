// Unattended sweeps: stopped, killed, resumed, read while running, written by a second process, split over
// machines.

#include "command_line.h"
#include "core/exchange/tables/text.h"
#include "core/store/run_reader.h"

#include <gmock/gmock.h>

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <iterator>
#include <set>

namespace tilescope {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Program;
using testing::ProgramResult;

class Sweep : public CommandLine {
protected:
    /// A sweep whose first point runs until it is stopped. It leads its own process group, like a shell's
    /// foreground job.
    std::unique_ptr<Program> endless(const std::string& behaviour = "slow")
    {
        environment["FAKE_SCRIPT"] = behaviour;
        auto words =
            command({"--batch", "sweep.yaml", "-o", "a.tscope", "--set", "steps=100000", "--format", "json"});
        words.insert(words.begin(), "/usr/bin/setsid");
        return std::make_unique<Program>(words, folder.path(), environment);
    }

    std::vector<std::string> statusesShown() const
    {
        const ProgramResult shown = tilescope({"show", "a.tscope", "runs", "--format", "json"});
        EXPECT_EQ(shown.code, 0) << shown.err;
        std::vector<std::string> statuses;
        for (const nlohmann::json& run : nlohmann::json::parse(shown.out))
            statuses.push_back(run["status"]);
        return statuses;
    }

    std::vector<RunStatus> statusesStored() const
    {
        std::vector<RunStatus> statuses;
        for (const store::RunRecord& record : store::RunReader(folder / "a.tscope").runs())
            statuses.push_back(record.result.status);
        return statuses;
    }
};

TEST_F(Sweep, ASignalFinishesTheStepCommitsAndExits130)
{
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        std::filesystem::remove(folder / "a.tscope");
        const auto running = endless();
        ASSERT_TRUE(running->waitFor(R"("step":9)"));
        kill(running->pid(), signal);
        const ProgramResult result = running->wait();
        EXPECT_EQ(result.code, 130);
        EXPECT_EQ(jsonLines(result.out).back()["cancelled"], 1);
        EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Cancelled));
        EXPECT_GE(store::RunReader(folder / "a.tscope").samples(RunId{1}).size(), 10U);
    }
}

TEST_F(Sweep, ControlCAtATerminalAlsoReachesTheEngineAndStillFinishesTheStep)
{
    const auto running = endless();
    ASSERT_TRUE(running->waitFor(R"("step":9)"));
    kill(-running->pid(), SIGINT);
    EXPECT_EQ(running->wait().code, 130);
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Cancelled));
    EXPECT_EQ(store::RunReader(folder / "a.tscope").run(RunId{1})->result.reason, "stopped on request");
    EXPECT_GE(store::RunReader(folder / "a.tscope").samples(RunId{1}).size(), 10U);
}

TEST_F(Sweep, ASecondSignalStopsAtOnceAndKeepsCommittedData)
{
    const auto running = endless("hang");
    ASSERT_TRUE(running->waitFor(R"("state":"measure")"));
    kill(running->pid(), SIGTERM);
    // The second signal counts only after the program has handled the first; without it, a minute passes
    // before it is killed.
    ASSERT_TRUE(running->takes(SIGTERM));
    kill(running->pid(), SIGTERM);
    EXPECT_EQ(running->wait().code, 130);
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Cancelled));
    const store::RunReader reader(folder / "a.tscope");
    EXPECT_THAT(reader.run(RunId{1})->result.reason, HasSubstr("stopped at once"));
    EXPECT_EQ(reader.samples(RunId{1}).size(), 1U) << "the warm-up was committed when its state ended";
}

TEST_F(Sweep, AReaderSeesRunningRunsTheirCommittedDataAndInterruptedOnes)
{
    const auto running = endless();
    ASSERT_TRUE(running->waitFor(R"("step":3)"));
    EXPECT_THAT(statusesShown(), ElementsAre("running"));
    const ProgramResult samples = tilescope({"show", "a.tscope", "samples", "--format", "json"});
    EXPECT_EQ(samples.code, 0) << samples.err;
    EXPECT_GE(nlohmann::json::parse(samples.out).size(), 1U) << "the warm-up is over";
    kill(-running->pid(), SIGKILL);
    EXPECT_EQ(running->wait().code, -SIGKILL);
    EXPECT_THAT(statusesShown(), ElementsAre("interrupted"));
    environment["FAKE_SCRIPT"] = "ok";
    EXPECT_EQ(tilescope({"--batch", "sweep.yaml", "-o", "a.tscope", "--resume"}).code, 0);
    EXPECT_THAT(statusesShown(), ElementsAre("interrupted", "ok", "ok", "ok", "ok"));
}

TEST_F(Sweep, RunWithResumeRunsWhatIsMissing)
{
    const std::vector<std::string> words{"run",    "attention", "--steps", "3",
                                         "--seed", "[0, 1, 2]", "-o",      "a.tscope"};
    environment["FAKE_SCRIPT"] = "ok,segv,ok";
    EXPECT_EQ(tilescope(words).code, 3);
    environment["FAKE_SCRIPT"] = "ok";
    std::vector<std::string> again = words;
    again.emplace_back("--resume");
    const ProgramResult result = tilescope(again);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(statusesShown(), ElementsAre("ok", "error", "ok", "ok"));
    EXPECT_EQ(tilescope(again).code, 0);
    EXPECT_EQ(statusesShown().size(), 4U) << "nothing is missing";
    EXPECT_THAT(tilescope({"run", "attention", "--resume"}).err, HasSubstr("name it with -o"));
}

TEST_F(Sweep, ASecondWriterIsRefusedInOneSentenceAndTheFirstContinues)
{
    const auto running = endless();
    ASSERT_TRUE(running->waitFor(R"("step":3)"));
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"--batch", "sweep.yaml", "-o", "a.tscope"},
          {"--batch", "sweep.yaml", "-o", "a.tscope", "--resume"},
          {"run", "attention", "-o", "a.tscope"},
          {"note", "a.tscope", "1", "me too"},
          {"delete", "a.tscope", "1"},
          {"compact", "a.tscope"}}) {
        const ProgramResult refused = tilescope(words);
        EXPECT_EQ(refused.code, 2) << words[0];
        EXPECT_THAT(refused.err,
                    ::testing::MatchesRegex("a.tscope: is being written by process [0-9]+ on [^ ]+; "
                                            "wait until it has finished, or name another file\n"))
            << words[0];
    }
    EXPECT_EQ(tilescope({"merge", "a.tscope", "-o", "b.tscope"}).err,
              "a.tscope: is being written; merge it when its run has ended\n");
    ASSERT_TRUE(running->waitFor(R"("step":50)"));
    kill(running->pid(), SIGTERM);
    EXPECT_EQ(running->wait().code, 130);
    EXPECT_THAT(statusesStored(), ElementsAre(RunStatus::Cancelled));
    EXPECT_EQ(tilescope({"verify", "a.tscope"}).code, 0);
}

TEST_F(Sweep, AFileOnANetworkDiskIsWrittenLocallyAndEveryPointIsCopiedOnce)
{
    const auto local = folder / "local";
    std::filesystem::create_directory(local);
    environment["TILESCOPE_SCRATCH"] = "always";
    environment["TMPDIR"] = local.string();
    // Engine and supervisor are killed: their data is only on the local disk.
    const auto running = endless("ok,slow");
    ASSERT_TRUE(running->waitFor(R"("status":"ok")"));
    kill(-running->pid(), SIGKILL);
    running->wait();
    EXPECT_FALSE(std::filesystem::is_empty(local));

    // If only the engine is killed, the supervisor marks the point in the same copy.
    environment["FAKE_SCRIPT"] = "ok,segv";
    const std::vector<std::string> resume{"--batch",      "sweep.yaml", "-o",       "a.tscope", "--set",
                                          "steps=100000", "--resume",   "--format", "json"};
    EXPECT_EQ(tilescope(resume).code, 3);
    environment["FAKE_SCRIPT"] = "ok";
    const ProgramResult last = tilescope(resume);
    EXPECT_EQ(last.code, 0) << last.err;
    EXPECT_THAT(last.out, HasSubstr("a.tscope is written to " + local.string()));
    std::map<std::string, int> ok;
    for (const store::RunRecord& record : store::RunReader(folder / "a.tscope").runs())
        ok[record.specHash] += record.result.status == RunStatus::Ok ? 1 : 0;
    EXPECT_THAT(ok, ::testing::SizeIs(4));
    EXPECT_THAT(ok, ::testing::Each(::testing::Pair(::testing::_, 1)));
    EXPECT_EQ(tilescope({"verify", "a.tscope"}).code, 0);
    EXPECT_TRUE(std::filesystem::is_empty(local)) << "the copy is removed";
}

TEST_F(Sweep, AFileThatCannotBeCopiedBackIsNamedAndCopiedLater)
{
    const auto local = folder / "local";
    const auto network = folder / "network";
    std::filesystem::create_directory(local);
    std::filesystem::create_directory(network);
    environment["TILESCOPE_SCRATCH"] = "always";
    environment["TMPDIR"] = local.string();
    environment["FAKE_SCRIPT"] = "ok,slow";
    const std::vector<std::string> batch{"--batch",   "sweep.yaml", "-o",   "network/a.tscope", "--set",
                                         "steps=500", "--format",   "json", "--resume"};
    Program running(command(batch), folder.path(), environment);
    ASSERT_TRUE(running.waitFor(R"("step":3)"));
    std::filesystem::rename(network, folder / "unplugged");
    kill(running.pid(), SIGTERM);
    const ProgramResult result = running.wait();
    EXPECT_EQ(result.code, 3) << result.out;
    EXPECT_THAT(result.err, HasSubstr("everything is in " + local.string()));
    EXPECT_THAT(result.err, HasSubstr("run with --resume on this machine"));

    std::filesystem::rename(folder / "unplugged", network);
    environment["FAKE_SCRIPT"] = "ok";
    EXPECT_EQ(tilescope(batch).code, 0);
    std::map<std::string, int> ok;
    for (const store::RunRecord& record : store::RunReader(network / "a.tscope").runs())
        ok[record.specHash] += record.result.status == RunStatus::Ok ? 1 : 0;
    EXPECT_THAT(ok, ::testing::SizeIs(4));
    EXPECT_THAT(ok, ::testing::Each(::testing::Pair(::testing::_, 1)));
    EXPECT_TRUE(std::filesystem::is_empty(local));
}

TEST_F(Sweep, AQuickEditionHasNoPointTwice)
{
    write("steps.yaml", "workload: attention\nsweep: {steps: [2, 10, 100], seq_len: [4096, 8192]}\n");
    const auto points =
        jsonLines(tilescope({"--batch", "steps.yaml", "--quick", "--dry-run", "--format", "json"}).out);
    ASSERT_EQ(points.size(), 5U) << "including the total";
    EXPECT_EQ(points[0]["of"], 4);
    EXPECT_EQ(points[3]["params"]["steps"], 3);
    EXPECT_EQ(points[3]["params"]["seq_len"], 512);
    ASSERT_EQ(tilescope({"--batch", "steps.yaml", "--quick", "-o", "a.tscope"}).code, 0);
    EXPECT_THAT(tilescope({"--batch", "steps.yaml", "--quick", "-o", "a.tscope", "--resume"}).out,
                HasSubstr("4 of 4 points already in the file; nothing was run"));
}

/// The lines that the program prints on a terminal of a width.
std::vector<std::string> linesOnTerminal(std::vector<std::string> command,
                                         const std::map<std::string, std::string>& environment, int width)
{
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
        for (const auto& [name, value] : environment)
            setenv(name.c_str(), value.c_str(), 1);
        setenv("COLUMNS", std::to_string(width).c_str(), 1);
        setenv("NO_COLOR", "1", 1);
        std::vector<char*> words;
        for (std::string& word : command)
            words.push_back(word.data());
        words.push_back(nullptr);
        execv(words.front(), words.data());
        _exit(127);
    }
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = read(terminal, buffer.data(), buffer.size())) > 0;)
        text.append(buffer.data(), static_cast<std::size_t>(count));
    close(terminal);
    waitpid(child, nullptr, 0);
    std::erase(text, '\r');
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

std::vector<std::string> wordsOf(const std::string& line)
{
    std::istringstream in(line);
    return {std::istream_iterator<std::string>(in), {}};
}

TEST_F(Sweep, ADryRunOnANarrowTerminalShowsWholeKeys)
{
    const auto dryRun = [this](int width) {
        return linesOnTerminal(
            command({"--batch", "study:all", "--quick", "--set", "device=cpu", "--dry-run"}), environment,
            width);
    };
    std::set<std::string> pairs;
    for (const std::string& line : dryRun(1000))
        for (const std::string& word : wordsOf(line))
            if (word.find('=') != std::string::npos)
                pairs.insert(word);
    ASSERT_GT(pairs.size(), 20u);
    for (const int width : {40, 60, 80}) {
        std::size_t elided = 0;
        for (const std::string& line : dryRun(width)) {
            if (line.starts_with("Columns not shown"))
                break; // the sentences below the table
            EXPECT_LE(exchange::displayWidth(line), static_cast<std::size_t>(width)) << line;
            elided += line.find("\u2026 +") != std::string::npos ? 1 : 0;
            for (const std::string& word : wordsOf(line))
                EXPECT_TRUE(word.find('=') == std::string::npos || pairs.contains(word) ||
                            word.ends_with("\u2026"))
                    << width << ": " << line;
        }
        EXPECT_GT(elided, 0u) << width;
    }
}

TEST_F(Sweep, AResumedSweepContainsEveryPointOnce)
{
    environment["FAKE_SCRIPT"] = "segv,ok"; // seed 0 dies
    EXPECT_EQ(tilescope({"--batch", "sweep.yaml", "-o", "a.tscope"}).code, 3);
    environment["FAKE_SCRIPT"] = "ok";
    const ProgramResult resumed = tilescope({"--batch", "sweep.yaml", "-o", "a.tscope", "--resume"});
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_THAT(resumed.out, HasSubstr("2 of 2 points: 2 ok"));
    std::map<std::string, int> okBySpec;
    for (const store::RunRecord& record : store::RunReader(folder / "a.tscope").runs())
        okBySpec[record.specHash] += record.result.status == RunStatus::Ok ? 1 : 0;
    EXPECT_EQ(okBySpec.size(), 4U);
    for (const auto& [spec, ok] : okBySpec)
        EXPECT_EQ(ok, 1);
    EXPECT_THAT(tilescope({"--batch", "sweep.yaml", "-o", "a.tscope", "--resume"}).out,
                HasSubstr("4 of 4 points already in the file; nothing was run"));
}

TEST_F(Sweep, ResumingWithAnotherTorchDeviceOrProgramIsRefusedUnlessForced)
{
    const std::vector<std::string> resume{"--batch", "sweep.yaml", "-o", "a.tscope", "--resume"};
    environment["FAKE_TORCH"] = "2.10.0";
    environment["FAKE_PROCESSOR"] = "Old CPU";
    environment["FAKE_SCRIPT"] = "ok,segv";
    ASSERT_EQ(tilescope(resume).code, 3);
    environment["FAKE_SCRIPT"] = "ok";

    environment["FAKE_TORCH"] = "2.11.0";
    const ProgramResult torch = tilescope(resume);
    EXPECT_EQ(torch.code, 2);
    EXPECT_EQ(torch.err, "a.tscope: holds points of this sweep that were made with torch 2.10.0; here it is "
                         "torch 2.11.0; resume with that torch, or mix them on purpose with --force\n");
    environment["FAKE_TORCH"] = "2.10.0";
    environment["FAKE_PROCESSOR"] = "New CPU";
    const ProgramResult processor = tilescope(resume);
    EXPECT_EQ(processor.code, 2);
    EXPECT_EQ(processor.err,
              "a.tscope: holds points of this sweep that ran on Old CPU; device auto is New CPU "
              "here; resume on such a machine, or mix them on purpose with --force\n");
    auto elsewhere = resume;
    elsewhere.insert(elsewhere.end(), {"--set", "device=cpu"});
    const ProgramResult device = tilescope(elsewhere);
    EXPECT_EQ(device.code, 2);
    EXPECT_EQ(device.err, "a.tscope: holds points of this sweep on device auto; it now asks for device cpu; "
                          "resume with that device, or mix them on purpose with --force\n");
    EXPECT_EQ(store::RunReader(folder / "a.tscope").runs().size(), 4U) << "nothing was run";

    elsewhere = resume;
    elsewhere.emplace_back("--force");
    EXPECT_THAT(tilescope(elsewhere).out, HasSubstr("2 of 2 points: 2 ok"));
    // Nothing is left to run, so nothing can be mixed.
    EXPECT_EQ(tilescope(resume).code, 0);
}

TEST_F(Sweep, ShardsMergeIntoTheSweepInItsOrder)
{
    for (const char* shard : {"2", "0", "1"})
        EXPECT_EQ(tilescope({"--batch", "sweep.yaml", "-o", std::string("s") + shard + ".tscope", "--shard",
                             std::string(shard) + "/3"})
                      .code,
                  0);
    const std::vector<std::string> merge{"merge", "s2.tscope", "s0.tscope", "s1.tscope", "-o", "all.tscope"};
    EXPECT_THAT(tilescope(merge).out, HasSubstr("4 runs added"));
    EXPECT_THAT(tilescope(merge).out, HasSubstr("0 runs added, 4 already in the file"));
    const ProgramResult verified = tilescope({"verify", "all.tscope"});
    EXPECT_EQ(verified.code, 0);
    EXPECT_THAT(verified.out, HasSubstr("no damage"));
    EXPECT_EQ(tilescope({"--batch", "sweep.yaml", "-o", "whole.tscope"}).code, 0);
    const auto hashes = [this](const char* file) {
        std::vector<std::string> result;
        for (const store::RunRecord& record : store::RunReader(folder / file).runs())
            result.push_back(record.specHash);
        return result;
    };
    EXPECT_EQ(hashes("all.tscope"), hashes("whole.tscope"));
    for (const char* wrong : {"3/3", "-1/3", "1", "a/b", "1/0"}) {
        const ProgramResult refused =
            tilescope({"--batch", "sweep.yaml", "-o", "x.tscope", std::string("--shard=") + wrong});
        EXPECT_EQ(refused.code, 2) << wrong;
        EXPECT_THAT(refused.err, HasSubstr("is not a shard")) << wrong;
    }
}

} // namespace tilescope
