// The command line with --on HOST and HOST:PATH, over a real sshd, with a fake engine there.

#include "core/model/text.h"
#include "core/store/run_reader.h"
#include "tests/unit/hosts/sshd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

namespace tilescope {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Program;
using testing::ProgramResult;
namespace fs = std::filesystem;

/// One server for all tests: copying the programs of a build there takes seconds.
class OnHost : public ::testing::Test {
protected:
    static void SetUpTestSuite()
    {
        if (testing::Sshd::whyMissing().empty())
            sshd = std::make_unique<testing::Sshd>();
    }
    static void TearDownTestSuite()
    {
        if (sshd)
            testing::runProgram({"/bin/sh", "-c", "ssh -O exit gpubox"}, sshd->home(), sshd->environment());
        sshd.reset();
    }
    void SetUp() override
    {
        if (!sshd)
            GTEST_SKIP() << testing::Sshd::whyMissing();
        environment = sshd->environment();
        engineDoes("ok");
    }

    static void usual()
    {
        sshd->setForcedCommand("exec env -i HOME=" + sshd->remote().string() +
                               " PATH=/usr/bin:/bin /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"");
    }
    /// What the engine there does, by the seed of a point.
    void engineDoes(const std::string& script)
    {
        fs::remove(sshd->remote() / "gate");
        const ProgramResult added = tilescope(
            {"hosts", "add", "gpubox", "--set-up", std::string("export TILESCOPE_ENGINE=") + FAKE_ENGINE,
             "--set-up", "export FAKE_SCRIPT=" + script, "--set-up", "export FAKE_GATE=$HOME/gate",
             "--set-up", "echo this is printed by a start file"});
        ASSERT_EQ(added.code, 0) << added.err;
    }
    std::vector<std::string> command(std::vector<std::string> words) const
    {
        words.insert(words.begin(), TILESCOPE_PROGRAM);
        return words;
    }
    ProgramResult tilescope(std::vector<std::string> words) const
    {
        return testing::runProgram(command(std::move(words)), folder.path(), environment);
    }
    std::vector<std::string> sweep(const std::string& seeds, const std::string& file,
                                   const std::string& steps = "3") const
    {
        return {"run", "attention", "--on", "gpubox",   "--steps", steps, "--seq-len",
                "64",  "--seed",    seeds,  "--format", "json",    "-o",  file};
    }
    std::vector<std::string> statuses(const std::string& file) const
    {
        std::vector<std::string> words;
        const store::RunReader reader(folder / file);
        for (const store::RunRecord& run : reader.runs())
            words.emplace_back(wordOf(run.result.status));
        return words;
    }
    std::size_t jobsThere() const
    {
        std::error_code none;
        const fs::directory_iterator jobs(sshd->remote() / ".cache/tilescope/jobs", none);
        return none ? 0 : std::size_t(std::distance(begin(jobs), end(jobs)));
    }
    static bool enginesRunThere()
    {
        return testing::runProgram(
                   {"/usr/bin/pgrep", "-f", (sshd->remote() / ".cache/tilescope/jobs").string()},
                   sshd->home())
                   .code == 0;
    }

    static inline std::unique_ptr<testing::Sshd> sshd;
    testing::TemporaryFolder folder;
    std::map<std::string, std::string> environment;
};

TEST_F(OnHost, RunsASweepAndBringsItHome)
{
    const ProgramResult first = tilescope(sweep("[0, 1]", "a.tscope"));
    ASSERT_EQ(first.code, 0) << first.err;
    EXPECT_THAT(first.err, HasSubstr("2 runs of gpubox added to a.tscope"));
    std::istringstream lines(first.out);
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(nlohmann::json::parse(line)["file"], "a.tscope");
    EXPECT_EQ(statuses("a.tscope"), (std::vector<std::string>{"ok", "ok"}));
    EXPECT_EQ(tilescope({"verify", "a.tscope"}).code, 0);
    EXPECT_EQ(jobsThere(), 0u);

    const ProgramResult second = tilescope(sweep("[2]", "a.tscope"));
    ASSERT_EQ(second.code, 0) << second.err;
    EXPECT_THAT(second.err, Not(HasSubstr("copying Tilescope")));
    EXPECT_EQ(statuses("a.tscope").size(), 3u);

    std::ofstream(folder / "sweep.yaml")
        << "workload: attention\nsteps: 3\nsweep: {seed: [0, 1, 2, 3]}\nfixed: {seq_len: 64}\n";
    const ProgramResult third =
        tilescope({"--batch", "sweep.yaml", "-o", "a.tscope", "--resume", "--on", "gpubox"});
    ASSERT_EQ(third.code, 0) << third.err;
}

TEST_F(OnHost, GivesTheExitCodeOfItsPoints)
{
    engineDoes("ok,segv");
    const ProgramResult ended = tilescope(sweep("[0, 1]", "a.tscope"));
    EXPECT_EQ(ended.code, 3) << ended.err;
    EXPECT_EQ(statuses("a.tscope"), (std::vector<std::string>{"ok", "error"}));
}

TEST_F(OnHost, LosesAndDoublesNothingWhenConnectionsBreak)
{
    engineDoes("ok,gate,ok,gate");
    Program running(command(sweep("[0, 1, 2, 3]", "a.tscope")), folder.path(), environment);
    ASSERT_TRUE(running.waitFor("\"index\":1"));
    for (int cut = 0; cut < 3; ++cut)
        sshd->cut();
    sshd->stop();
    std::ofstream(sshd->remote() / "gate") << "open";
    sshd->start();
    const ProgramResult ended = running.wait();
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("; trying again"));
    EXPECT_EQ(statuses("a.tscope"), (std::vector<std::string>{"ok", "ok", "ok", "ok"}));
    std::size_t results = 0;
    std::istringstream lines(ended.out);
    for (std::string line; std::getline(lines, line);)
        results += nlohmann::json::parse(line)["event"] == "result" ? 1 : 0;
    EXPECT_EQ(results, 4u) << ended.out;
    EXPECT_EQ(jobsThere(), 0u);
}

// Cuts at random moments until the sweep has ended. TILESCOPE_CUT_ROUNDS sets the number of sweeps, TILESCOPE_CUT_SEED
// the moments.
TEST_F(OnHost, SurvivesCutsAtAnyMoment)
{
    const auto numberOf = [](const char* name, unsigned usual) {
        const char* text = std::getenv(name);
        return text ? unsigned(std::stoul(text)) : usual;
    };
    const unsigned seed = numberOf("TILESCOPE_CUT_SEED", 1);
    std::mt19937 random(seed);
    for (unsigned round = 0; round < numberOf("TILESCOPE_CUT_ROUNDS", 1); ++round) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
        const std::string file = "cut" + std::to_string(round) + ".tscope";
        std::atomic<bool> hasEnded = false;
        std::atomic<int> cuts = 0;
        std::thread cutting([&] {
            constexpr int kMostCuts = 4; // so that it comes to an end on a slow machine
            while (!hasEnded && cuts < kMostCuts) {
                std::this_thread::sleep_for(std::chrono::milliseconds(random() % 1500));
                sshd->cut();
                ++cuts;
            }
        });
        const ProgramResult ended = tilescope(sweep("[0, 1, 2]", file));
        hasEnded = true;
        cutting.join();
        ASSERT_EQ(ended.code, 0) << ended.err;
        EXPECT_EQ(statuses(file), (std::vector<std::string>{"ok", "ok", "ok"}));
        EXPECT_EQ(jobsThere(), 0u);
        std::cout << "round " << round << ": " << cuts << " cuts\n";
    }
}

TEST_F(OnHost, CancelsThere)
{
    engineDoes("slow");
    Program running(command(sweep("[0, 1, 2]", "a.tscope", "100000")), folder.path(), environment);
    ASSERT_TRUE(running.waitFor("\"sample\""));
    kill(running.pid(), SIGINT);
    const ProgramResult ended = running.wait();
    EXPECT_EQ(ended.code, 130) << ended.err;
    EXPECT_EQ(statuses("a.tscope"), (std::vector<std::string>{"cancelled"}));
    EXPECT_EQ(jobsThere(), 0u);
    EXPECT_FALSE(enginesRunThere());
}

TEST_F(OnHost, GoesOnWithoutItsClientAndIsAttachedTo)
{
    engineDoes("gate");
    {
        Program running(command(sweep("[0, 1]", "a.tscope")), folder.path(), environment);
        ASSERT_TRUE(running.waitFor("\"index\":0"));
        kill(running.pid(), SIGKILL);
        running.wait();
    }
    std::ofstream(sshd->remote() / "gate") << "open";
    const ProgramResult listed = tilescope({"hosts", "jobs", "gpubox", "--format", "json"});
    ASSERT_EQ(listed.code, 0) << listed.err;
    const auto jobs = nlohmann::json::parse(listed.out);
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0]["output"], (fs::canonical(folder.path()) / "a.tscope").string());
    const ProgramResult attached = tilescope({"hosts", "attach", "gpubox", jobs[0]["job"]});
    EXPECT_EQ(attached.code, 0) << attached.err;
    EXPECT_THAT(attached.out, HasSubstr("2 of 2 points: 2 ok"));
    EXPECT_THAT(attached.out, HasSubstr("seed=1"));
    EXPECT_EQ(statuses("a.tscope"), (std::vector<std::string>{"ok", "ok"}));
    EXPECT_EQ(jobsThere(), 0u);
}

TEST_F(OnHost, KeepsTheRunsThereUntilTheLocalFileHasThem)
{
    engineDoes("gate");
    Program running(command(sweep("[0, 1]", "a.tscope")), folder.path(), environment);
    ASSERT_TRUE(running.waitFor("\"index\":0"));
    std::ofstream(folder / "a.tscope") << "this is no recording";
    std::ofstream(sshd->remote() / "gate") << "open";
    const ProgramResult ended = running.wait();
    EXPECT_NE(ended.code, 0);
    EXPECT_THAT(ended.err, HasSubstr("the runs stay there; fetch them with: tilescope hosts attach gpubox "));
    ASSERT_EQ(jobsThere(), 1u);
    std::ifstream kept(folder / "a.tscope");
    std::string text;
    std::getline(kept, text);
    EXPECT_EQ(text, "this is no recording") << "nothing or all";

    fs::remove(folder / "a.tscope");
    const auto jobs = nlohmann::json::parse(tilescope({"hosts", "jobs", "gpubox", "--format", "json"}).out);
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(tilescope({"hosts", "attach", "gpubox", jobs[0]["job"]}).code, 0);
    EXPECT_EQ(statuses("a.tscope"), (std::vector<std::string>{"ok", "ok"}));
    EXPECT_EQ(jobsThere(), 0u);
}

TEST_F(OnHost, ReadsFilesOfTheHost)
{
    ASSERT_EQ(tilescope(sweep("[0, 1]", "a.tscope")).code, 0);
    fs::create_directory(sshd->remote() / "runs of me");
    fs::copy_file(folder / "a.tscope", sshd->remote() / "runs of me/it's.tscope");
    const std::string there = "gpubox:runs of me/it's.tscope";
    const ProgramResult here = tilescope({"show", "a.tscope", "--format", "csv"});
    const ProgramResult shown = tilescope({"show", there, "--format", "csv"});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_EQ(shown.out, here.out);
    EXPECT_EQ(tilescope({"verify", there}).code, 0);
    EXPECT_THAT(tilescope({"compare", there + ":1", "a.tscope:2"}).code, AnyOf(0, 1));
    const ProgramResult absolute =
        tilescope({"sql", "gpubox:" + (sshd->remote() / "runs of me/it's.tscope").string(),
                   "select count(*) from runs", "--format", "csv"});
    EXPECT_THAT(absolute.out, HasSubstr("2")) << absolute.err;

    const ProgramResult missing = tilescope({"show", "gpubox:no/such.tscope"});
    EXPECT_EQ(missing.code, 2);
    EXPECT_THAT(missing.err, HasSubstr("gpubox:no/such.tscope: no such file there; "));
    // A local file with a colon in its name is a local file.
    fs::copy_file(folder / "a.tscope", folder / "gpubox:a.tscope");
    EXPECT_EQ(tilescope({"show", "gpubox:a.tscope", "--format", "csv"}).out, here.out);
}

TEST_F(OnHost, ReadsTracesFoldersAndSpecsOfTheHost)
{
    const fs::path traces = sshd->remote() / "traces of $me";
    fs::create_directory(traces);
    for (const char* name : {"ddp_rank0.json.gz", "ddp_rank1.json.gz"})
        fs::copy_file(fs::path(TILESCOPE_SOURCE_DIR) / "tests/data/kineto" / name, traces / name);
    std::ofstream(traces / "notes.txt") << "no trace\n";
    const std::string there = "gpubox:traces of $me";
    const ProgramResult here = tilescope({"import", traces.string(), "-o", "here.tscope"});
    ASSERT_EQ(here.code, 0) << here.err;
    const ProgramResult imported = tilescope({"import", there, "-o", "there.tscope"});
    ASSERT_EQ(imported.code, 0) << imported.err;
    const auto kernels = [&](const std::string& file) {
        return tilescope({"show", file, "kernels", "--format", "csv"}).out;
    };
    EXPECT_THAT(kernels("here.tscope"), HasSubstr(","));
    EXPECT_EQ(kernels("there.tscope"), kernels("here.tscope"));
    EXPECT_EQ(kernels(there), kernels("here.tscope"));
    EXPECT_EQ(kernels(there + "/ddp_rank0.json.gz"), kernels((traces / "ddp_rank0.json.gz").string()));
    fs::create_directory(sshd->remote() / "empty");
    EXPECT_THAT(tilescope({"show", "gpubox:empty"}).err,
                HasSubstr("gpubox:empty: the folder there has no file with a name that traces have"));
    EXPECT_THAT(tilescope({"verify", "gpubox:empty"}).err, HasSubstr("is a folder there"));

    std::ofstream(sshd->remote() / "sweep.yaml")
        << "workload: attention\nsteps: 3\nsweep: {seed: [0, 1]}\nfixed: {seq_len: 64}\n";
    const ProgramResult swept =
        tilescope({"--batch", "gpubox:sweep.yaml", "-o", "a.tscope", "--on", "gpubox"});
    ASSERT_EQ(swept.code, 0) << swept.err;
    EXPECT_EQ(statuses("a.tscope").size(), 2u);
    std::ofstream(sshd->remote() / "wrong.yaml") << "workload: attention\nstepz: 3\n";
    EXPECT_THAT(tilescope({"--batch", "gpubox:wrong.yaml", "-o", "a.tscope"}).err,
                HasSubstr("gpubox:wrong.yaml"));

    fs::copy_file(folder / "a.tscope", sshd->remote() / "a.tscope", fs::copy_options::overwrite_existing);
    const ProgramResult recording = tilescope({"import", "gpubox:a.tscope", "-o", "b.tscope"});
    EXPECT_EQ(recording.code, 2);
    EXPECT_EQ(recording.err,
              "gpubox:a.tscope: is a recording of Tilescope, which needs no import; copy its runs: "
              "tilescope merge gpubox:a.tscope -o OUT.tscope\n");
}

TEST_F(OnHost, WritesToNoFileOfAHost)
{
    ASSERT_EQ(tilescope(sweep("[0]", "a.tscope")).code, 0);
    fs::copy_file(folder / "a.tscope", sshd->remote() / "kept.tscope");
    const std::vector<std::vector<std::string>> changing{{"note", "gpubox:kept.tscope", "1", "words"},
                                                         {"tag", "gpubox:kept.tscope", "1", "word"},
                                                         {"delete", "gpubox:kept.tscope", "1"},
                                                         {"compact", "gpubox:kept.tscope"}};
    for (const std::vector<std::string>& words : changing) {
        const ProgramResult refused = tilescope(words);
        EXPECT_EQ(refused.code, 2) << words.front();
        EXPECT_THAT(refused.err, HasSubstr("copy its runs first: tilescope merge gpubox:kept.tscope -o "));
    }
    const std::vector<std::vector<std::string>> writing{
        {"merge", "a.tscope", "-o", "gpubox:b.tscope"},
        {"export", "a.tscope", "--perfetto", "gpubox:b.pftrace"},
        {"share", "a.tscope", "-o", "gpubox:b.html"},
        {"run", "attention", "--on", "gpubox", "-o", "gpubox:b.tscope"},
        {"record", "--on", "gpubox", "-o", "gpubox:b.tscope", "--", "/bin/true"}};
    for (const std::vector<std::string>& words : writing) {
        const ProgramResult refused = tilescope(words);
        EXPECT_EQ(refused.code, 2) << words.front();
        EXPECT_THAT(refused.err, HasSubstr("output is written on this one")) << words.front();
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
    EXPECT_EQ(tilescope({"merge", "a.tscope", "-o", "./gpubox:b.tscope"}).code, 0);

    const ProgramResult unknown = tilescope({"show", "gpubux:a.tscope"});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("gpubux:a.tscope: no such file, and no host of the name gpubux"));
    EXPECT_THAT(tilescope({"compare", "a.tscope:1", "gpubux:a.tscope:1"}).err,
                HasSubstr("no host of the name gpubux"));
    EXPECT_THAT(tilescope({"compare", "a.tscope:1", "missing.tscope:1"}).err,
                HasSubstr("no such file; check"));
}

// Everything that the server's commands print goes through a file. A file that is no recording is fetched all the same.
TEST_F(OnHost, FetchesOnlyPiecesThatChanged)
{
    constexpr std::uintmax_t kMiB = 1 << 20;
    const fs::path file = sshd->remote() / "big";
    {
        std::ofstream big(file);
        for (std::uintmax_t i = 0; i < 5 * kMiB / 8; ++i)
            big << std::setw(7) << i << '\n';
    }
    const auto traffic = [&] {
        fs::remove(sshd->remote() / "traffic");
        const ProgramResult ended = tilescope({"verify", "gpubox:big"});
        EXPECT_EQ(ended.code, 2) << ended.err;
        EXPECT_THAT(ended.err, HasSubstr("gpubox:big: not a recording"));
        return fs::file_size(sshd->remote() / "traffic");
    };
    // With the exit code of the command, not that of tee.
    sshd->setForcedCommand("{ env -i HOME=" + sshd->remote().string() +
                           " PATH=/usr/bin:/bin /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"; echo $? >code.$$; } | "
                           "tee -a traffic; exit $(cat code.$$)");
    EXPECT_GT(traffic(), 5 * kMiB);
    EXPECT_LT(traffic(), 10'000u) << "nothing changed";
    std::ofstream(file, std::ios::app) << std::string(100'000, 'x');
    EXPECT_LT(traffic(), 200'000u) << "only the last piece is new";
    std::fstream(file) << "changed in the first piece";
    EXPECT_THAT(traffic(), ::testing::AllOf(::testing::Gt(kMiB), ::testing::Lt(kMiB + 100'000)));
    fs::resize_file(file, 2 * kMiB);
    EXPECT_LT(traffic(), 10'000u) << "shorter, with the same pieces";
    usual();
}

#ifdef RECORDED_PROGRAM
// The working files only grow: a later state needs their new bytes, rounded up to pieces.
TEST_F(OnHost, OpensARecordingThatGrows)
{
    const fs::path there = sshd->remote();
    std::map<std::string, std::string> recording = environment;
    recording["HOME"] = there.string();
    Program growing({TILESCOPE_PROGRAM, "record", "--no-memory", "-o", (there / "grows.tscope").string(),
                     "--", RECORDED_PROGRAM, "watched"},
                    there, recording);
    ASSERT_TRUE(growing.waitFor("turn 20"));
    const auto traffic = [&] { return fs::file_size(there / "traffic"); };
    sshd->setForcedCommand("{ env -i HOME=" + there.string() +
                           " PATH=/usr/bin:/bin /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"; echo $? >code.$$; } | "
                           "tee -a traffic; exit $(cat code.$$)");
    const auto kernels = [&] {
        fs::remove(there / "traffic");
        const ProgramResult shown = tilescope({"show", "gpubox:grows.tscope", "kernels", "--format", "json"});
        EXPECT_EQ(shown.code, 0) << shown.err;
        std::int64_t sum = 0;
        if (shown.code == 0)
            for (const auto& row : nlohmann::json::parse(shown.out))
                sum += row["instances"].get<std::int64_t>();
        return sum;
    };
    const std::int64_t first = kernels();
    EXPECT_GT(first, 0);
    ASSERT_TRUE(growing.waitFor("turn 200"));
    const std::int64_t second = kernels();
    EXPECT_GT(second, first);
    EXPECT_THAT(tilescope({"show", "gpubox:grows.tscope", "environment"}).out,
                HasSubstr("a process still runs"));
    std::ofstream(there / "end") << "end";
    EXPECT_EQ(growing.wait().code, 0);
    EXPECT_GT(kernels(), second);
    EXPECT_GT(traffic(), fs::file_size(there / "grows.tscope"));
    EXPECT_GT(kernels(), second);
    EXPECT_LT(traffic(), 10'000u) << "nothing changed";
    usual();
}
#endif

TEST_F(OnHost, RunsProgramsAndDoctorThere)
{
    fs::create_directory(sshd->remote() / "work");
    const ProgramResult recorded =
        tilescope({"record", "--on", "gpubox", "--cwd", "work", "-o", "a.tscope", "--", "/bin/sh", "-c",
                   "echo \"out of $PWD\"; echo 'to err' >&2; exit 7"});
    EXPECT_EQ(recorded.code, 7) << recorded.err;
    EXPECT_THAT(recorded.out, HasSubstr("out of " + (sshd->remote() / "work").string() + "\n"));
    EXPECT_THAT(recorded.err, HasSubstr("to err\n"));
    EXPECT_EQ(jobsThere(), 0u);
    const ProgramResult elsewhere =
        tilescope({"record", "--on", "gpubox", "--cwd", "nowhere", "--", "/bin/true"});
    EXPECT_EQ(elsewhere.code, 2);
    EXPECT_THAT(elsewhere.err, HasSubstr("no such folder there"));
    const ProgramResult doctor = tilescope({"doctor", "--on", "gpubox", "--format", "json"});
    EXPECT_THAT(doctor.code, AnyOf(0, 4)) << doctor.err;
    EXPECT_GT(nlohmann::json::parse(doctor.out).size(), 5u);
}

// The commands of Slurm are scripts: the tasks wait until squeue has been asked about them.
TEST_F(OnHost, SubmitsAnArrayToSlurmAndSaysWhyItWaits)
{
    fs::create_directory(sshd->remote() / "slurm");
    const auto script = [&](const std::string& name, const std::string& text) {
        sshd->write("remote/slurm/" + name, "#!/bin/sh\n" + text);
        fs::permissions(sshd->remote() / "slurm" / name, fs::perms::owner_all);
    };
    script("sbatch", "for w in \"$@\"; do case $w in --array=0-*) n=${w#*=0-};; --wrap=*) c=${w#*=};; "
                     "--partition=gpu) p=yes;; esac; done\n"
                     "test \"$p\" = yes || { echo 'sbatch: error: no such partition' >&2; exit 1; }\n"
                     "echo 4711\n"
                     "{ until test -e $HOME/asked; do sleep 0.05; done\n"
                     "for i in $(seq 0 $n); do SLURM_ARRAY_TASK_ID=$i /bin/sh -c \"$c\" & done; wait; } "
                     ">/dev/null 2>&1 &\n");
    script("squeue", "echo '0|PENDING|Priority'\necho '1|PENDING|Priority'\ntouch $HOME/asked\n");
    const auto add = [&](const std::string& partition) {
        ASSERT_EQ(tilescope({"hosts", "add", "cluster", "--address", "gpubox", "--kind", "slurm",
                             "--sbatch=--partition=" + partition, "--tasks", "2", "--set-up",
                             std::string("export PATH=$HOME/slurm:$PATH TILESCOPE_ENGINE=") + FAKE_ENGINE})
                      .code,
                  0);
    };
    add("gpu");
    std::vector<std::string> words = sweep("[0, 1, 2, 3]", "a.tscope");
    words[3] = "cluster";
    const ProgramResult ended = tilescope(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("cluster: job 4711 of Slurm: PENDING Priority"));
    EXPECT_THAT(ended.err, HasSubstr("4 runs of cluster added to a.tscope"));
    EXPECT_EQ(statuses("a.tscope"), (std::vector<std::string>{"ok", "ok", "ok", "ok"}));
    EXPECT_EQ(jobsThere(), 0u);
    std::map<std::string, int> events;
    std::istringstream lines(ended.out);
    for (std::string line; std::getline(lines, line);)
        ++events[nlohmann::json::parse(line)["event"]];
    EXPECT_EQ(events["hello"], 1);
    EXPECT_GE(events["point"], 4);
    EXPECT_EQ(events["result"], 4);
    EXPECT_EQ(events["done"], 1);

    add("cpu");
    const ProgramResult refused = tilescope(words);
    EXPECT_EQ(refused.code, 3);
    EXPECT_THAT(
        refused.err,
        HasSubstr("cluster: sbatch refused the job: sbatch: error: no such partition; check the options"));
    EXPECT_EQ(jobsThere(), 0u);
}

// Only one point waits at the gate: what ended before it is here while it runs.
TEST_F(OnHost, BringsRunsHomeWhileTheSweepGoesOn)
{
    engineDoes("ok,ok,gate");
    Program running(command(sweep("[0, 1, 2]", "a.tscope")), folder.path(), environment);
    ASSERT_TRUE(running.waitFor("\"index\":2"));
    while (!fs::exists(folder / "a.tscope") || statuses("a.tscope").size() < 2)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(statuses("a.tscope"), (std::vector<std::string>{"ok", "ok"}));
    EXPECT_EQ(jobsThere(), 1u) << "the runs stay there until all are here";
    EXPECT_EQ(tilescope({"verify", "a.tscope"}).code, 0);
    std::ofstream(sshd->remote() / "gate") << "open";
    const ProgramResult ended = running.wait();
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("3 runs of gpubox added to a.tscope"));
    EXPECT_EQ(statuses("a.tscope"), (std::vector<std::string>{"ok", "ok", "ok"}));
    EXPECT_EQ(jobsThere(), 0u);
}

TEST_F(OnHost, RefusesUnknownHostsAndUnusableFilesAtOnce)
{
    const ProgramResult unknown = tilescope({"run", "attention", "--on", "gpubux", "-o", "a.tscope"});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("did you mean 'gpubox'?"));
    const ProgramResult recorded = tilescope({"record", "--on", "gpubux", "--", "/bin/true"});
    EXPECT_EQ(recorded.code, 2);
    EXPECT_THAT(recorded.err, Not(HasSubstr("recording into")))
        << "no file is named before the host is known";
    const ProgramResult named = tilescope({"hosts", "attach", "gpubox", std::string(100'000, '0')});
    EXPECT_EQ(named.code, 2);
    EXPECT_LT(named.err.size(), 200u) << "what is no name of work is not repeated as a whole";
    const ProgramResult dashed = tilescope({"run", "attention", "--on=-oProxyCommand=id", "-o", "a.tscope"});
    EXPECT_EQ(dashed.code, 2) << dashed.err;
    EXPECT_THAT(tilescope({"show", "gpubox:-x.tscope"}).err, HasSubstr("write ./-x.tscope"));
    EXPECT_THAT(tilescope({"show", "gpubox:./-x.tscope"}).err, HasSubstr("no such file there"));
    std::ofstream(folder / "text.tscope") << "no recording\n";
    const ProgramResult unusable = tilescope(sweep("[0]", "text.tscope"));
    EXPECT_EQ(unusable.code, 2) << unusable.err;
    const ProgramResult nowhere = tilescope(sweep("[0]", "no/such/folder/a.tscope"));
    EXPECT_EQ(nowhere.code, 2);
    EXPECT_THAT(nowhere.err, HasSubstr("its folder does not exist"));
    EXPECT_THAT(tilescope({"show", "gpubox:\xff\xfe"}).err, HasSubstr("is not UTF-8"));
    EXPECT_EQ(jobsThere(), 0u);
}

// A broken connection is tried again; a program that crashes there is not.
TEST_F(OnHost, SaysThatTilescopeCrashesThere)
{
    ASSERT_EQ(tilescope(sweep("[0]", "a.tscope")).code, 0);
    for (const fs::directory_entry& entry : fs::directory_iterator(sshd->remote() / ".cache/tilescope")) {
        const fs::path program = entry.path() / "bin/tilescope";
        if (!fs::exists(program))
            continue;
        fs::rename(program, entry.path() / "kept");
        std::ofstream(program) << "#!/bin/sh\nkill -ILL $$\n";
        fs::permissions(program, fs::perms::owner_all);
        const ProgramResult shown = tilescope({"show", "gpubox:a.tscope"});
        EXPECT_EQ(shown.code, 4);
        EXPECT_THAT(shown.err, HasSubstr("gpubox: Tilescope there is ended by signal 4"));
        EXPECT_THAT(tilescope({"hosts", "check", "gpubox"}).out,
                    HasSubstr("its copy there is damaged (bin/tilescope: FAILED)"));
        fs::rename(entry.path() / "kept", program);
    }
    EXPECT_THAT(tilescope({"show", "gpubox:none.tscope"}).err, HasSubstr("no such file there"));
}

TEST_F(OnHost, SaysThatWhatAHostSendsIsNoAnswer)
{
    ASSERT_EQ(tilescope(sweep("[0]", "a.tscope")).code, 0);
    sshd->setForcedCommand(
        "case \"$SSH_ORIGINAL_COMMAND\" in *serve*) exec head -c 3000000 /dev/zero;; esac; "
        "exec env -i HOME=" +
        sshd->remote().string() + " PATH=/usr/bin:/bin /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"");
    const ProgramResult ended = tilescope({"show", "gpubox:a.tscope"});
    EXPECT_EQ(ended.code, 4);
    EXPECT_THAT(ended.err, HasSubstr("gpubox: it sends something else than Tilescope's answers; "));
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    usual();
}

} // namespace tilescope
