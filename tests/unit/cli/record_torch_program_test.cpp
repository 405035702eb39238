// That PyTorch programs, their compilers and their profilers work as without `tilescope record`.

#include "tests/unit/cli/record_fixture.h"
#include "tests/unit/cli/training_script.h"

#include <string>

namespace tilescope {

namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing::ProgramResult;

class RecordTorchProgram : public RecordTest {};

/// dill writes the global hooks of the optimizers into the pickle of every optimizer.
TEST_F(RecordTorchProgram, PicklesOfTheProgramNeedNoRecorder)
{
    const std::string hooks =
        "import pickle, sys, torch\n"
        "optimizers = sys.modules['torch.optim.optimizer']\n"
        "hooks = [optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks]\n"
        "pickle.dump(hooks, open('hooks', 'wb'))\n";
    const ProgramResult result =
        record({PYTHON_PROGRAM, script("dumps.py", steps(hooks, "closure(); optimizer.step()"))});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(show({"steps"}).size(), 3U);
    const ProgramResult loaded =
        run({PYTHON_PROGRAM, "-c",
             "import pickle\n"
             "hooks = pickle.load(open('hooks', 'rb'))\n"
             "print([hook(None, (), {}) for kind in hooks for hook in kind.values()])"});
    EXPECT_EQ(loaded.out, "[None, None]\n") << loaded.err;
}

TEST_F(RecordTorchProgram, CompiledModulesKeepWorking)
{
    const ProgramResult result = record(
        {PYTHON_PROGRAM, script("train.py", training("layer(x)", "torch.compile(model, backend='eager', "
                                                                 "fullgraph=True)"))});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(show({"steps"}).size(), 3U);
}

TEST_F(RecordTorchProgram, ExceptionsOfTheProgramStayAsTheyAre)
{
    const std::string text = "import torch\n"
                             "class M(torch.nn.Module):\n"
                             "    def forward(self, x):\n"
                             "        raise ValueError('mine')\n"
                             "try:\n"
                             "    M()(1)\n"
                             "except ValueError as error:\n"
                             "    print(error)\n"
                             "torch.nn.Identity()(torch.ones(1))\n"
                             "raise SystemExit(3)\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("fails.py", text)});
    EXPECT_EQ(result.code, 3) << result.err;
    EXPECT_EQ(result.out, "mine\n");
}

/// A handler runs wherever the interpreter is, also in functions of the recorder.
TEST_F(RecordTorchProgram, AnExceptionOfASignalHandlerReachesTheProgram)
{
    const std::string text = "import signal, torch, torch.distributed as dist\n"
                             "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)\n"
                             "class Late(Exception): pass\n"
                             "raised = [0]\n"
                             "def handler(number, frame):\n"
                             "    raised[0] += 1\n"
                             "    raise Late\n"
                             "tensor, seen = torch.ones(4), 0\n"
                             "dist.all_reduce(tensor)\n"
                             "signal.signal(signal.SIGALRM, handler)\n"
                             "for i in range(600):\n"
                             "    try:\n"
                             "        before = raised[0]\n"
                             "        signal.setitimer(signal.ITIMER_REAL, 0.0005 + i % 97 * 0.00002)\n"
                             "        while raised[0] == before: dist.all_reduce(tensor)\n"
                             "    except Late:\n"
                             "        seen += 1\n"
                             "print('lost', raised[0] - seen)\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("late.py", text)});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("lost 0\n"));
}

TEST_F(RecordTorchProgram, CompiledAutogradSeesOnlyTheProgram)
{
    const std::string text =
        "import torch, torch._dynamo\n"
        "model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "for _ in range(3):\n"
        "    loss = model(torch.randn(8, 16)).pow(2).mean()\n"
        "    compiler = torch.compile(backend='eager', fullgraph=True)\n"
        "    with torch._dynamo.compiled_autograd._enable(compiler): loss.backward()\n"
        "    optimizer.step()\n"
        "    optimizer.zero_grad()\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("compiled.py", text)});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(rangePaths(), IsSupersetOf({"step/forward/Sequential/0", "step/backward"}));
}

/// Modules that compiled code calls for the first time are named meanwhile.
TEST_F(RecordTorchProgram, TheCompilerSeesOnlyTheProgram)
{
    const std::string text =
        "import torch\n"
        "model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))\n"
        "graphs = []\n"
        "def backend(graph, examples):\n"
        "    graphs.append(graph)\n"
        "    return graph\n"
        "@torch.compile(backend=backend)\n"
        "def function(x):\n"
        "    y = model(x)\n"
        "    torch._dynamo.graph_break()\n"
        "    return model(y @ torch.ones(4, 16))\n"
        "function(torch.ones(2, 16))\n"
        "print(len(graphs), sum(torch._dynamo.utils.counters['graph_break'].values()))\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("graphs.py", text)});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.out, "2 1\n");
    EXPECT_THAT(result.err, Not(HasSubstr("Dynamo"))) << result.err;
}

/// The driver is too old for this PyTorch, which warns where the GPUs are asked for first. A process that has asked for them
/// cannot let its forked children use them.
TEST_F(RecordTorchProgram, LeavesItToTheProgramToAskForGpus)
{
    if (run({PYTHON_PROGRAM, "-c", "import torch; print(torch.version.cuda is None)"}).out == "True\n")
        GTEST_SKIP() << "this PyTorch has no CUDA";
    const std::string text =
        "import sys, torch\n"
        "model = torch.nn.Linear(2, 2)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n" // imports the compiler
        "loss = model(torch.ones(1, 2)).sum()\n"
        "print('asks', file=sys.stderr)\n"
        "loss.backward()\n";
    const std::map<std::string, std::string> driver{{"LD_LIBRARY_PATH", FAKE_DRIVER_FOLDER},
                                                    {"FAKE_DRIVER_VERSION", "11000"}};
    const std::string name = script("old_driver.py", text);
    const ProgramResult bare = run({PYTHON_PROGRAM, name}, driver);
    ASSERT_EQ(bare.code, 0) << bare.err;
    const std::string asks = "asks\n";
    const std::size_t from = bare.err.find(asks);
    ASSERT_THAT(bare.err.substr(from), HasSubstr("driver on your system is too old"));
    const ProgramResult recorded = record({PYTHON_PROGRAM, name}, driver);
    EXPECT_EQ(recorded.code, 0);
    EXPECT_EQ(recorded.err.substr(0, recorded.err.find("tilescope record: ")), bare.err);
}

TEST_F(RecordTorchProgram, WarnsIfTheProgramStartsAProfiler)
{
    const std::string text =
        "import torch\n"
        "torch.cuda.is_initialized = lambda: True\n"
        "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:\n"
        "    torch.nn.Linear(2, 2)(torch.ones(1, 2))\n"
        "print(len(profiler.events()) > 0)\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("profiled.py", text)});
    EXPECT_EQ(result.out, "True\n");
    EXPECT_THAT(result.err, HasSubstr("the program starts torch.profiler"));
}

TEST_F(RecordTorchProgram, CompilesMoreModulesThanACompilerKeepsOfOneFunction)
{
    // Each class has its own forward; they share only what calls it.
    const std::string text =
        "import torch\n"
        "torch._dynamo.config.fail_on_recompile_limit_hit = True\n"
        "seen = []\n"
        "def backend(graph, inputs):\n"
        "    seen.append(graph)\n"
        "    return graph.forward\n"
        "for i in range(12):\n"
        "    class M(torch.nn.Module):\n"
        "        def __init__(self):\n"
        "            super().__init__()\n"
        "            self.inner = torch.nn.Linear(i + 1, 1)\n"
        "        exec(f'def forward(self, x):\\n    return self.inner(x) + {i}')\n"
        "    torch.compile(M(), backend=backend, fullgraph=True, dynamic=False)(torch.ones(1, i + 1))\n"
        "print(len(seen))\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("compiled.py", text)});
    EXPECT_EQ(result.out, "12\n") << result.err;
    // It has no steps, which the tables of ranges begin with.
    const std::string sql = "select count(*) as calls from range r join string s on s.id = r.name "
                            "where s.text = 'M'";
    const ProgramResult calls = run({TILESCOPE_PROGRAM, "sql", "t.tscope", sql, "--format", "csv"});
    EXPECT_THAT(calls.out, HasSubstr("12")) << calls.err;
}

TEST_F(RecordTorchProgram, ProgramsThatUseTorchProfilerKeepWorking)
{
    const std::string text =
        "import torch\n"
        "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:\n"
        "    torch.nn.Linear(2, 2)(torch.ones(2))\n"
        "print(any('linear' in event.key for event in profile.key_averages()))\n";
    const ProgramResult result =
        record({PYTHON_PROGRAM, script("profiled.py", text)}, {}, {"--yield-to-torch"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "True\n");
}

TEST_F(RecordTorchProgram, AProfilerOfTheProgramSeesViews)
{
    const std::string text =
        "import torch\n"
        "layer = torch.nn.Linear(2, 2)\n"
        "layer(torch.ones(2))\n"
        "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:\n"
        "    layer(torch.ones(2))\n"
        "print(any(event.key == 'aten::t' for event in profile.key_averages()))\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("profiled.py", text)}, {}, {"--ops"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "True\n");
}

} // namespace

} // namespace tilescope
