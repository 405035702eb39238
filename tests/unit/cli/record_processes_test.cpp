// `tilescope record` with Python programs of several processes.

#include "tests/unit/cli/record_fixture.h"
#include "tests/unit/cli/training_script.h"

namespace tilescope {

namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramResult;

class RecordProcesses : public RecordTest {};

/// What `accelerate launch` does: several processes by torch.distributed.run, one by subprocess with the environment of
/// the launcher and its own variables.
constexpr const char* kAccelerate = R"(
import argparse, os, subprocess, sys
parser = argparse.ArgumentParser()
parser.add_argument('launch')
parser.add_argument('--num_processes', type=int, default=1)
parser.add_argument('script')
options = parser.parse_args()
if options.num_processes > 1:
    import torch.distributed.run as run
    run.run(run.get_args_parser().parse_args(['--nproc-per-node', str(options.num_processes), options.script]))
else:
    process = subprocess.Popen([sys.executable, options.script], env=dict(os.environ, ACCELERATE_MIXED_PRECISION='no'))
    sys.exit(process.wait())
)";

TEST_F(RecordProcesses, RecordsEveryChildOfMultiprocessingToItsEnd)
{
    script("train.py", kWithoutCompiler + training() + "\n");
    for (const char* method : {"fork", "forkserver", "spawn"}) {
        const std::string text =
            "import multiprocessing, concurrent.futures, sys\n"
            "def work(_=None):\n"
            "    import train\n"
            "    train.main()\n"
            "if __name__ == '__main__':\n"
            "    context = multiprocessing.get_context(sys.argv[1])\n"
            "    process = context.Process(target=work)\n"
            "    process.start()\n"
            "    process.join()\n"
            "    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:\n"
            "        pool.submit(work).result()\n";
        std::filesystem::remove(folder_ / "t.tscope");
        const ProgramResult result = record({PYTHON_PROGRAM, script("children.py", text), method});
        ASSERT_EQ(result.code, 0) << result.err;
        EXPECT_EQ(show({"steps"}).size(), 6U) << method << "\n" << result.err;
        EXPECT_THAT(result.err, Not(HasSubstr("killed"))) << method;
        EXPECT_TRUE(show({"losses"}).empty()) << method << show({"losses"});
    }
}

TEST_F(RecordProcesses, RecordsWhatWorkersDidThatAPoolTerminates)
{
    script("train.py", kWithoutCompiler + training() + "\n");
    for (const char* method : {"fork", "spawn"}) {
        const std::string text = "import multiprocessing, sys\n"
                                 "def work(_):\n"
                                 "    import train\n"
                                 "    train.main()\n"
                                 "if __name__ == '__main__':\n"
                                 "    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:\n"
                                 "        pool.map(work, range(4), chunksize=1)\n";
        std::filesystem::remove(folder_ / "t.tscope");
        const ProgramResult result = record({PYTHON_PROGRAM, script("pool.py", text), method});
        ASSERT_EQ(result.code, 0) << result.err;
        EXPECT_EQ(show({"steps"}).size(), 12U) << method << "\n" << result.err;
    }
}

TEST_F(RecordProcesses, RecordsChildrenOfMultiprocessingAsProcesses)
{
    const std::string text = kWithoutCompiler + training() + "\n";
    const std::string spawn = "import torch.multiprocessing as mp, train\n"
                              "def work(rank):\n"
                              "    train.main()\n"
                              "if __name__ == '__main__':\n"
                              "    mp.spawn(work, nprocs=2)\n";
    script("train.py", text);
    const ProgramResult result = record({PYTHON_PROGRAM, script("spawn.py", spawn)});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(show({"steps"}).size(), 6U) << "three of each";
    EXPECT_FALSE(environment().contains("record.ended"));
}

TEST_F(RecordProcesses, EndsAsWithoutTheRecorderWhenCollectivesStillRun)
{
    const std::string text =
        "import torch\n"
        "torch.distributed.init_process_group('gloo')\n"
        "begun = [torch.distributed.all_reduce(torch.ones(1 << 22), async_op=True) for _ in range(20)]\n";
    const ProgramResult result = record(
        {PYTHON_PROGRAM, "-m", "torch.distributed.run", "--nproc-per-node=2", script("pending.py", text)});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, Not(HasSubstr("terminate called")));
    EXPECT_EQ(show({"collectives"}).size(), 20U) << "rows of both ranks";
}

TEST_F(RecordProcesses, RecordsTheRanksOfTorchrun)
{
    const std::string text = "import torch\n"
                             "torch.distributed.init_process_group('gloo')\n"
                             "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))\n"
                             "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
                             "for _ in range(3):\n"
                             "    optimizer.zero_grad()\n"
                             "    model(torch.ones(2, 4)).sum().backward()\n"
                             "    torch.distributed.all_reduce(torch.ones(3))\n"
                             "    optimizer.step()\n"
                             "torch.distributed.destroy_process_group()\n";
    const ProgramResult result = record(
        {PYTHON_PROGRAM, "-m", "torch.distributed.run", "--nproc-per-node=2", script("ranks.py", text)});
    ASSERT_EQ(result.code, 0) << result.err;
    std::map<int, int> steps;
    for (const json& row : show({"steps"}))
        ++steps[row.at("rank").get<int>()];
    EXPECT_EQ(steps, (std::map<int, int>{{0, 3}, {1, 3}}));
    EXPECT_THAT(rangePaths(), Contains("step/forward/DistributedDataParallel/module"));
    // The first is that of the gradients, which DDP's reducer starts without Python.
    std::map<std::int64_t, int> messages;
    for (const json& row : show({"collectives"}))
        if (row.at("op") == "all_reduce" && !row.at("step").is_null()) {
            EXPECT_EQ(row.at("ranks"), 2) << row;
            EXPECT_EQ(row.at("missing_count"), 0) << row;
            ++messages[row.at("bytes").get<std::int64_t>()];
        }
    EXPECT_EQ(messages, (std::map<std::int64_t, int>{{(4 * 4 + 4) * 4, 3}, {3 * 4, 3}}));
}

TEST_F(RecordProcesses, RecordsTheProcessesOfAccelerate)
{
    const std::string accelerate = script("accelerate", "#!" PYTHON_PROGRAM "\n" + std::string(kAccelerate));
    std::filesystem::permissions(accelerate, std::filesystem::perms::owner_all);
    const std::string train = script("train.py", kWithoutCompiler + training());
    ASSERT_EQ(record({accelerate, "launch", train}).code, 0);
    EXPECT_EQ(show({"steps"}).size(), 3U);
    std::filesystem::remove(folder_.path() / "t.tscope");
    const ProgramResult both = record({accelerate, "launch", "--num_processes", "2", train});
    ASSERT_EQ(both.code, 0) << both.err;
    std::map<int, int> steps;
    for (const json& row : show({"steps"}))
        ++steps[row.at("rank").get<int>()];
    EXPECT_EQ(steps, (std::map<int, int>{{0, 3}, {1, 3}}));
}

} // namespace

} // namespace tilescope
