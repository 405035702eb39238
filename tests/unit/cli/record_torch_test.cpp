// `tilescope record` with Python programs on the CPU, most of them with PyTorch.

#include "tests/unit/cli/record_fixture.h"
#include "tests/unit/cli/training_script.h"

namespace tilescope {

namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;
using testing::ProgramResult;

class RecordTorch : public RecordTest {
protected:
    /// The training script, recorded without options. It is recorded once; each case gets a copy of the file.
    ProgramResult recordTraining()
    {
        static const testing::TemporaryFolder shared;
        static const ProgramResult result = [this] {
            const ProgramResult made = record({PYTHON_PROGRAM, script("train.py", training())});
            if (made.code == 0)
                std::filesystem::copy_file(folder_ / "t.tscope", shared / "t.tscope");
            return made;
        }();
        if (result.code == 0)
            std::filesystem::copy_file(shared / "t.tscope", folder_ / "t.tscope",
                                       std::filesystem::copy_options::skip_existing);
        return result;
    }
};

TEST_F(RecordTorch, FindsModulesAndStepsOfPyTorch)
{
    const ProgramResult result = recordTraining();
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "trained\n");
    EXPECT_THAT(rangePaths(), IsSupersetOf({"step/forward/Model/layers.0/attention",
                                            "step/forward/Model/layers.1/attention", "step/backward",
                                            "step/optimizer", "step/data"}));
    EXPECT_EQ(show({"steps"}).size(), 3U);
}

/// Three steps of a model; the program calls `step` for each.
std::string steps(const std::string& before, const std::string& step,
                  const std::string& start = kWithoutCompiler)
{
    return before + "\n" + start +
           "import torch\n"
           "model = torch.nn.Linear(4, 4)\n"
           "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
           "def closure():\n"
           "    optimizer.zero_grad()\n"
           "    loss = model(torch.randn(8, 4)).square().mean()\n"
           "    loss.backward()\n"
           "    return loss\n"
           "for _ in range(3):\n"
           "    " +
           step + "\n";
}

/// Many libraries ask whether PyTorch is there before they import it.
TEST_F(RecordTorch, ALookUpBeforeTheImportChangesNothing)
{
    for (const char* before : {"import importlib.util, pkgutil, sys\n"
                               "importlib.util.find_spec('torch')\nimportlib.util.find_spec('torch')\n"
                               "for finder in sys.meta_path: finder.find_spec('torch', None)\n"
                               "pkgutil.find_loader('torch') if hasattr(pkgutil, 'find_loader') else None",
                               "import importlib.util, sys\n"
                               "spec = importlib.util.find_spec('torch')\n"
                               "spec.loader = importlib.util.LazyLoader(spec.loader)\n"
                               "sys.modules['torch'] = importlib.util.module_from_spec(spec)\n"
                               "spec.loader.exec_module(sys.modules['torch'])",
                               // A finder that keeps all others from being asked.
                               "import importlib.machinery, sys\n"
                               "sys.meta_path.insert(0, importlib.machinery.PathFinder)"}) {
        std::filesystem::remove(folder_ / "t.tscope");
        const ProgramResult result =
            record({PYTHON_PROGRAM, script("looks.py", steps(before, "closure(); optimizer.step()", ""))});
        ASSERT_EQ(result.code, 0) << result.err;
        std::map<std::string, int> counts;
        for (const json& row : show({"ranges"}))
            counts[row.at("path")] = row.at("instances");
        EXPECT_EQ(counts["step/forward/Linear"], 3) << before;
        EXPECT_EQ(counts["step/backward"], 3) << before;
        EXPECT_THAT(environment(), Contains(Pair("record.memory", HasSubstr("plug-in")))) << before;
        EXPECT_THAT(result.err, Not(HasSubstr("none of torch.nn's modules"))) << before;
    }
}

TEST_F(RecordTorch, SaysThatOptimizersMadeStepsWithoutModules)
{
    const std::string text = kWithoutCompiler + "import torch\n"
                                                "x = torch.ones(4, requires_grad=True)\n"
                                                "optimizer = torch.optim.SGD([x], lr=0.1)\n"
                                                "for _ in range(3):\n"
                                                "    x.square().sum().backward()\n"
                                                "    optimizer.step()\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("plain.py", text)});
    EXPECT_THAT(result.err, HasSubstr("optimizers made steps, but none of torch.nn's modules was called"));
    EXPECT_EQ(show({"steps"}).size(), 3U);
}

/// Modules are only seen while something is recorded.
TEST_F(RecordTorch, SaysNothingOfModulesOutsideOfWhatIsRecorded)
{
    const std::string text = steps("", "closure(); optimizer.step()");
    const ProgramResult result =
        record({PYTHON_PROGRAM, script("train.py", text)}, {}, {"--steps", "100:110"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("3 steps were seen; --steps asked for 100:110"),
                                  Not(HasSubstr("torch.nn's modules was called"))));
}

/// dill writes the global hooks of the optimizers into the pickle of every optimizer.
TEST_F(RecordTorch, PicklesOfTheProgramNeedNoRecorder)
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

/// The phases and the memory of a step are the same whether the program calls them or the optimizer by its closure.
TEST_F(RecordTorch, ClosuresOfOptimizersAreForwardAndBackward)
{
    std::map<std::string, std::map<std::string, std::int64_t>> memory;
    for (const char* step :
         {"closure(); optimizer.step()", "optimizer.step(closure)", "optimizer.step(closure=closure)"}) {
        std::filesystem::remove(folder_ / "t.tscope");
        ASSERT_EQ(record({PYTHON_PROGRAM, script("closure.py", steps("", step))}, {}, {"--ops"}).code, 0);
        std::map<std::string, int> counts;
        for (const json& row : show({"ranges"}))
            counts[row.at("path")] = row.at("instances");
        EXPECT_EQ(counts, (std::map<std::string, int>{{"step", 3},
                                                      {"step/forward", 3},
                                                      {"step/forward/Linear", 3},
                                                      {"step/backward", 3},
                                                      {"step/backward/Linear", 3},
                                                      {"step/optimizer", 3}}))
            << step;
        for (const json& row : show({"memory", "--group", "category"}))
            memory[step][row.at("key")] = row.at("max");
    }
    const auto& plain = memory["closure(); optimizer.step()"];
    EXPECT_GT(plain.at("gradients"), 0);
    EXPECT_GT(plain.at("inputs"), 0);
    for (const char* category : {"parameters", "gradients", "inputs", "activations"})
        EXPECT_EQ(memory["optimizer.step(closure)"][category], plain.at(category)) << category;
    // Each step of LBFGS evaluates the closure several times.
    std::filesystem::remove(folder_ / "t.tscope");
    const std::string lbfgs = steps("", "torch.manual_seed(0); optimizer.step(closure)");
    ASSERT_EQ(record({PYTHON_PROGRAM, script("lbfgs.py", std::string(lbfgs).replace(
                                                             lbfgs.find("SGD(model.parameters(), lr=0.1)"),
                                                             31, "LBFGS(model.parameters(), max_iter=5)"))})
                  .code,
              0);
    EXPECT_THAT(rangePaths(), IsSupersetOf({"step/forward/Linear", "step/backward", "step/optimizer"}));
    EXPECT_THAT(rangePaths(), Not(Contains(HasSubstr("step/optimizer/"))));
    EXPECT_EQ(show({"steps"}).size(), 3U);
}

TEST_F(RecordTorch, KeepsTheStepsOfThreadsThatTrainAtTheSameTime)
{
    const std::string text =
        kWithoutCompiler +
        "import threading, torch\n"
        "from torch import nn\n"
        "turn = threading.Barrier(3)\n"
        "def train():\n"
        "    first, second = nn.Linear(4, 4), nn.Linear(4, 4)\n"
        "    optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in (first, second)]\n"
        "    for _ in range(4):\n"
        "        turn.wait()\n"
        "        second(first(torch.ones(2, 4))).sum().backward()\n"
        "        for optimizer in optimizers:\n"
        "            optimizer.step()\n"
        "threads = [threading.Thread(target=train) for _ in range(3)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n";
    ASSERT_EQ(record({PYTHON_PROGRAM, script("threads.py", text)}).code, 0);
    EXPECT_EQ(show({"steps"}).size(), 12U) << "the second optimizer of a thread makes no steps of its own";
}

/// A second stage of a training has an optimizer of its own, while that of the first stage is still there. Of optimizers that take
/// turns, the first one's steps are the program's. Each training but the last is a process of its own, forked from one that has
/// loaded PyTorch.
TEST_F(RecordTorch, ASecondStageWithAnotherOptimizerHasSteps)
{
    struct Training {
        std::string text;
        std::int64_t steps;
    };
    const std::vector<Training> trainings{
        {"for _ in range(5): step(first)\nfor _ in range(20): step(second)\n", 25},
        {"for _ in range(5): step(first)\nfor _ in range(20): step(second, third)\n", 25},
        {"step(first)\nfor _ in range(10): step(second)\nfor _ in range(9): step(third)\n", 20},
        {"for _ in range(3): step(first)\nfor _ in range(3): step(second)\ndel first, second\n"
         "for _ in range(4): step(third)\n",
         10},
        // The first seven steps of a third stage are one if the second one was short.
        {"for _ in range(5): step(first)\nfor _ in range(3): step(second)\nfor _ in range(20): step(third)\n",
         21},
        // It ends a thread's last steps, too.
        {"import threading\n"
         "def train():\n    for _ in range(3): step(first)\n    for _ in range(3): step(second)\n"
         "thread = threading.Thread(target=train)\nthread.start()\nthread.join()\n",
         6},
        {"for _ in range(5):\n    step(first)\n    for _ in range(6): step(second)\n", 5},
        {"for _ in range(12): step(first, second, third)\n", 12},
        {"many = [torch.optim.SGD([p], lr=0.1) for p in torch.ones(30, 1)]\nfor _ in range(3): step(*many)\n",
         3},
        {"for _ in range(5): step(first)\nfor _ in range(4): step(second)\n", 9}};
    json texts = json::array();
    for (const Training& training : trainings)
        texts.push_back(training.text);
    script("trainings", texts.dump());
    const std::string text =
        kWithoutCompiler +
        "import json, multiprocessing, torch\n"
        "def train(text):\n"
        "    model = torch.nn.Linear(4, 4)\n"
        "    def step(*optimizers):\n"
        "        model(torch.randn(8, 4)).square().mean().backward()\n"
        "        for each in optimizers: each.step()\n"
        "    adam = lambda: torch.optim.Adam(model.parameters())\n"
        "    exec(text, {'torch': torch, 'step': step, 'second': adam(), 'third': adam(),\n"
        "                'first': torch.optim.SGD(model.parameters(), lr=0.1)})\n"
        "*stages, last = json.load(open('trainings'))\n"
        "for each in stages:\n"
        "    process = multiprocessing.get_context('fork').Process(target=train, args=(each,))\n"
        "    process.start()\n"
        "    process.join()\n"
        "    assert process.exitcode == 0\n"
        "train(last)\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("stages.py", text)});
    ASSERT_EQ(result.code, 0) << result.err;
    const std::string query = "select count(*) as steps from ranges where path = 'step' group by thread "
                              "order by min(start)";
    const ProgramResult counted = run({TILESCOPE_PROGRAM, "sql", "t.tscope", query, "--format", "json"});
    const json rows = json::parse(counted.out, nullptr, false);
    ASSERT_EQ(rows.size(), trainings.size()) << counted.out << counted.err;
    for (std::size_t i = 0; i < trainings.size(); ++i)
        EXPECT_EQ(rows[i].at("steps"), trainings[i].steps) << trainings[i].text;
    EXPECT_EQ(show({"steps"}).size(), 136U) << "their sum";
}

/// os._exit() and os.exec*() run nothing that exit() runs.
TEST_F(RecordTorch, KeepsTheEndOfProcessesThatEndAtOnce)
{
    const std::string train = steps("import os, sys", "closure(); optimizer.step()");
    for (const auto& [end, code] :
         {std::pair{"os._exit(3)", 3},
          {"os.execv('/bin/true', ['true'])", 0},
          {"os.execve('/bin/sh', ['sh', '-c', 'exit 4'], os.environ)", 4},
          {"__import__('threading').Thread(target=os._exit, args=(5,)).start(); __import__('time').sleep(9)",
           5}}) {
        std::filesystem::remove(folder_ / "t.tscope");
        const ProgramResult result = record({PYTHON_PROGRAM, script("ends.py", train + end + "\n")});
        EXPECT_EQ(result.code, code) << end << result.err;
        EXPECT_EQ(show({"steps"}).size(), 3U) << end;
        EXPECT_TRUE(show({"losses"}).empty()) << end << show({"losses"});
    }
}

/// NCCL ends the range of ncclCommInitRankConfig() by a function that only tools with an extension of NVTX see.
TEST_F(RecordTorch, RangesThatNcclDoesNotCloseContainNoModules)
{
    const std::string text =
        kWithoutCompiler +
        // What an image of NVTX does at its first call.
        "import ctypes, os, torch\n"
        "address = ctypes.c_void_p\n"
        "slots = (address * 16)()\n"
        "table = (address * 16)(*[ctypes.addressof(slots) + 8 * i for i in range(16)])\n"
        "@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(address), "
        "ctypes.POINTER(ctypes.c_uint))\n"
        "def table_of(module, out, size):\n"
        "    out[0], size[0] = ctypes.addressof(table), 16\n"
        "    return module == 5\n"
        "class Callbacks(ctypes.Structure):\n"
        "    _fields_ = [('size', ctypes.c_size_t), ('get_table', address)]\n"
        "callbacks = Callbacks(ctypes.sizeof(Callbacks), ctypes.cast(table_of, address).value)\n"
        "export = ctypes.CFUNCTYPE(address, ctypes.c_uint32)(lambda number: ctypes.addressof(callbacks))\n"
        "assert ctypes.CDLL(os.environ['NVTX_INJECTION64_PATH']).InitializeInjectionNvtx2(export)\n"
        "domain = ctypes.PYFUNCTYPE(address, ctypes.c_char_p)(slots[12])(b'NCCL')\n"
        "class Event(ctypes.Structure):\n"
        "    _fields_ = [('version', ctypes.c_uint16), ('size', ctypes.c_uint16), ('no', ctypes.c_uint32 * "
        "4),\n"
        "                ('payload', ctypes.c_uint64), ('kind', ctypes.c_int32), ('text', ctypes.c_char_p)]\n"
        "def push(text):\n"
        "    event = Event(version=3, size=ctypes.sizeof(Event), kind=1, text=text)\n"
        "    ctypes.PYFUNCTYPE(ctypes.c_int, address, address)(slots[4])(domain, ctypes.addressof(event))\n"
        "push(b'ncclCommInitRankConfig')\n"
        "push(b'ncclBroadcast')\n"
        "ctypes.PYFUNCTYPE(ctypes.c_int, address)(slots[5])(domain)\n"
        "model = torch.nn.Linear(2, 2)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for _ in range(2):\n"
        "    model(torch.ones(1, 2)).sum().backward()\n"
        "    optimizer.step()\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("ranks.py", text)});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(rangePaths(), AllOf(IsSupersetOf({"step/ncclBroadcast", "step/forward/Linear"}),
                                    Not(Contains(HasSubstr("ncclCommInitRankConfig")))));
    std::set<std::string> allocating;
    for (const json& event : show({"memory"}))
        if (event.at("path").is_string())
            allocating.insert(event.at("path"));
    EXPECT_THAT(allocating, Contains("step/backward/Linear"));
}

TEST_F(RecordTorch, RecordsCheckpointedModulesUnderTheirBackward)
{
    const std::string call = "torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)";
    const ProgramResult result =
        record({PYTHON_PROGRAM, script("train.py", kWithoutCompiler + training(call))});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(rangePaths(), IsSupersetOf({"step/backward/Model/layers.0/attention",
                                            "step/backward/Model/layers.1/attention"}));
}

TEST_F(RecordTorch, CompiledModulesKeepWorking)
{
    const ProgramResult result = record(
        {PYTHON_PROGRAM, script("train.py", training("layer(x)", "torch.compile(model, backend='eager', "
                                                                 "fullgraph=True)"))});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(show({"steps"}).size(), 3U);
}

TEST_F(RecordTorch, WorkersOfDataLoadersStaySilent)
{
    const ProgramResult result =
        record({PYTHON_PROGRAM, script("train.py", kWithoutCompiler + training("layer(x)", "model", "2"))});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(show({"steps"}).size(), 3U);
}

TEST_F(RecordTorch, SaysThatOptionsOfPythonKeepTheBootstrapOut)
{
    const auto isSaid = [&](std::vector<std::string> options) {
        options.insert(options.begin(), PYTHON_PROGRAM);
        return record(options).err.find("-I, -E and -S keep") != std::string::npos;
    };
    for (const char* option : {"-I", "-E", "-S", "-sE"})
        EXPECT_TRUE(isSaid({option, "-c", "pass"})) << option;
    EXPECT_TRUE(isSaid({"-W", "ignore", "-X", "dev", "-I", "-c", "pass"}));
    EXPECT_FALSE(isSaid({"-c", "pass", "-I"}));
    EXPECT_FALSE(isSaid({"-WIgnore", "-c", "pass"}));
}

/// The options stand on no command line that `record` is given.
TEST_F(RecordTorch, SaysThatALauncherKeepsTheBootstrapOut)
{
    const std::string interpreter = PYTHON_PROGRAM;
    const std::string text = "import os, time\nwhile not os.path.exists('end'):\n    time.sleep(0.01)\n";
    const std::string shebang = script("isolated", "#!" + interpreter + " -I\n" + text);
    std::filesystem::permissions(shebang, std::filesystem::perms::owner_all);
    const std::string plain = script("plain.py", text);
    const std::vector<std::pair<std::string, std::string>> launchers{
        {"env " + interpreter + " -E " + plain, "-I, -E and -S keep"},
        {shebang, "-I, -E and -S keep"},
        {"sh -c '" + interpreter + " -S " + plain + "; true'", "-I, -E and -S keep"},
        {"sh -c 'PYTHONPATH=/ " + interpreter + " " + plain + "; true'", "PYTHONPATH was replaced"},
        {"sh -c 'mkdir -p first; : > first/sitecustomize.py; PYTHONPATH=first:$PYTHONPATH " + interpreter +
             " " + plain + "; true'",
         "only if the sitecustomize.py that comes first"},
        {"env -u PYTHONPATH " + interpreter + " " + plain, "PYTHONPATH was removed"},
        {"env -i " + interpreter + " " + plain, "started without the variables of this environment"}};
    for (const auto& [launcher, said] : launchers) {
        std::filesystem::remove(folder_.path() / "end");
        testing::Program program(
            {"/bin/sh", "-c", "exec " TILESCOPE_PROGRAM " record -o t.tscope -- " + launcher + " 2>&1"},
            folder_.path());
        EXPECT_TRUE(program.waitFor(said)) << launcher;
        script("end", "");
        EXPECT_EQ(program.wait().code, 0) << launcher;
    }
    // Not of programs that load it.
    std::filesystem::remove(folder_.path() / "end");
    testing::Program program({"/bin/sh", "-c",
                              "exec " TILESCOPE_PROGRAM " record -o t.tscope -- sh -c '(" + interpreter +
                                  " " + plain + ") & " + interpreter +
                                  " -c \"import time; time.sleep(0.5)\"; touch end; wait' 2>&1"},
                             folder_.path());
    EXPECT_THAT(program.wait().out, Not(HasSubstr("keep")));
}

TEST_F(RecordTorch, SaysThatAProgramCannotReachTheFolder)
{
    if (run({"/usr/bin/env", "unshare", "-Urmn", "true"}).code != 0)
        GTEST_SKIP() << "this user has no namespaces";
    const std::string program = " " PYTHON_PROGRAM " -c \"import time; time.sleep(3)\"";
    const std::string hidden = "mount -t tmpfs none . &&";
    const std::string readOnly = "mount --bind . . && mount -o remount,ro,bind . &&";
    EXPECT_THAT(record({"unshare", "-Urm", "sh", "-c", hidden + program}).err,
                AllOf(HasSubstr("cannot read the folder of the recording"), Not(HasSubstr("was seen"))));
    EXPECT_THAT(record({"unshare", "-Urmn", "sh", "-c", readOnly + program}).err,
                AllOf(HasSubstr("is in a sandbox"), Not(HasSubstr("was seen"))));
    EXPECT_THAT(record({"unshare", "-Urm", "sh", "-c", readOnly + program}).err,
                AllOf(Not(HasSubstr("cannot read")), Not(HasSubstr("sandbox"))));
}

TEST_F(RecordTorch, RunsTheUsersOwnSitecustomize)
{
    script("own/sitecustomize.py", "print('own sitecustomize')\n");
    const ProgramResult result = record({PYTHON_PROGRAM, "-c", "print('program')"},
                                        {{"PYTHONPATH", (folder_.path() / "own").string()}});
    EXPECT_EQ(result.out, "own sitecustomize\nprogram\n");
    EXPECT_EQ(result.err.find("Traceback"), std::string::npos) << result.err;
}

/// Python 2 is not recorded; its own sitecustomize runs all the same.
TEST_F(RecordTorch, RunsTheUsersOwnSitecustomizeOfPython2)
{
    if (run({"/usr/bin/env", "python2", "-c", ""}).code != 0)
        GTEST_SKIP() << "there is no python2";
    script("own/sitecustomize.py", "import sys\nsys.stdout.write('own sitecustomize\\n')\n");
    const ProgramResult result =
        record({"python2", "-c", "print('program')"}, {{"PYTHONPATH", (folder_.path() / "own").string()}});
    EXPECT_EQ(result.out, "own sitecustomize\nprogram\n") << result.err;
}

TEST_F(RecordTorch, WritesBytecodeForTheProgramOnly)
{
    const std::filesystem::path resources = folder_ / "resources";
    std::filesystem::create_directory(resources);
    std::filesystem::copy(RESOURCES "/record", resources / "record",
                          std::filesystem::copy_options::recursive);
    std::filesystem::remove_all(resources / "record/__pycache__");
    script("own.py", "");
    const ProgramResult result =
        record({PYTHON_PROGRAM, script("main.py", "import own\n")},
               {{"TILESCOPE_RESOURCES", resources.string()}, {"PYTHONDONTWRITEBYTECODE", ""}});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_FALSE(std::filesystem::exists(resources / "record/__pycache__"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "__pycache__"));
}

TEST_F(RecordTorch, LeavesNothingOutsideItsOutput)
{
    std::map<std::string, std::string> folders;
    for (const char* name : {"HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
                             "XDG_STATE_HOME", "XDG_RUNTIME_DIR"}) {
        folders[name] = (folder_.path() / name).string();
        std::filesystem::create_directory(folders[name]);
    }
    const auto files = [this] {
        std::set<std::string> found;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
            found.insert(entry.path().lexically_relative(folder_.path()).string());
        return found;
    };
    const std::string train = script("train.py", training());
    // PyTorch itself makes a folder.
    ASSERT_EQ(run({"/usr/bin/env", PYTHON_PROGRAM, "-B", train}, folders).code, 0);
    std::set<std::string> expected = files();
    ASSERT_EQ(record({PYTHON_PROGRAM, "-B", train}, folders, {"--ops"}).code, 0);
    expected.insert("t.tscope");
    EXPECT_EQ(files(), expected);
}

TEST_F(RecordTorch, AFaultOfTheBootstrapEndsTheRecordingAndNotTheProgram)
{
    const std::filesystem::path resources = folder_ / "resources";
    std::filesystem::create_directory(resources);
    std::filesystem::copy(RESOURCES "/record", resources / "record",
                          std::filesystem::copy_options::recursive);
    const std::map<std::string, std::string> said{
        {"raise RuntimeError('fault')\n",
         "not recorded: the recorder could not be started in this Python: fault"},
        {"_record_torch = lambda *_: 1 / 0\n", "a part of PyTorch is not recorded"}};
    for (const auto& [fault, sentence] : said) {
        std::filesystem::copy_file(RESOURCES "/record/_tilescope_recorder.py",
                                   resources / "record/_tilescope_recorder.py",
                                   std::filesystem::copy_options::overwrite_existing);
        std::ofstream(resources / "record/_tilescope_recorder.py", std::ios::app) << fault;
        const ProgramResult result =
            record({PYTHON_PROGRAM, script("train.py", kWithoutCompiler + training())},
                   {{"TILESCOPE_RESOURCES", resources.string()}});
        EXPECT_EQ(result.code, 0) << result.err;
        EXPECT_EQ(result.out, "trained\n") << fault;
        EXPECT_EQ(result.err.find("Traceback"), std::string::npos) << result.err;
        EXPECT_THAT(result.err, AllOf(HasSubstr(sentence), Not(HasSubstr("was seen")))) << fault;
    }
}

TEST_F(RecordTorch, SaysThatAPyTorchIsTooOld)
{
    std::filesystem::create_directory(folder_.path() / "torch");
    script("torch/__init__.py", "__version__ = '1.13.1'\n");
    const ProgramResult result = record({PYTHON_PROGRAM, script("use.py", "import torch\n")});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("PyTorch 1.13.1 are not recorded; they need 2.0 or later"),
                                  Not(HasSubstr("was seen"))));
}

TEST_F(RecordTorch, ExceptionsOfTheProgramStayAsTheyAre)
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
TEST_F(RecordTorch, AnExceptionOfASignalHandlerReachesTheProgram)
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

TEST_F(RecordTorch, CompiledAutogradSeesOnlyTheProgram)
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
TEST_F(RecordTorch, TheCompilerSeesOnlyTheProgram)
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

/// The optimizer that counts is the first to make a step, that of the last layer.
TEST_F(RecordTorch, StepsOfOptimizersInBackwardEndWithIt)
{
    const std::string text = kWithoutCompiler +
                             "import torch\n"
                             "model = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(4)])\n"
                             "optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}\n"
                             "def update(parameter):\n"
                             "    optimizers[parameter].step()\n"
                             "    optimizers[parameter].zero_grad()\n"
                             "for p in model.parameters(): p.register_post_accumulate_grad_hook(update)\n"
                             "for _ in range(5): model(torch.randn(8, 16)).square().mean().backward()\n";
    ASSERT_EQ(record({PYTHON_PROGRAM, script("inside.py", text)}).code, 0);
    EXPECT_EQ(show({"steps"}).size(), 5U);
    const std::string query =
        "select count(*) as outside from ranges b join ranges s on s.step = b.step and s.path = 'step' "
        "where b.path = 'step/backward' and (b.start < s.start or b.end > s.end)";
    const ProgramResult outside = run({TILESCOPE_PROGRAM, "sql", "t.tscope", query, "--format", "csv"});
    EXPECT_THAT(outside.out, HasSubstr("outside\r\n0")) << outside.err;
}

/// An empty element of PYTHONPATH is the current folder.
TEST_F(RecordTorch, AScriptThatAddsToPythonPathFindsTheCurrentFolder)
{
    script("here.py", "");
    script("src/there.py", "");
    script("tools/train.py", "import sys, here, there\nprint(*sys.path[1:3], sep='\\n')\n");
    for (const std::string path : {"$PYTHONPATH:src", "src:$PYTHONPATH"}) {
        const std::string command = "unset PYTHONPATH; exec ";
        const std::string inner = "export PYTHONPATH=" + path + "; exec " PYTHON_PROGRAM " tools/train.py";
        script("run.sh", inner);
        const ProgramResult bare = run({"/bin/sh", "-c", command + "sh run.sh"});
        const ProgramResult recorded =
            run({"/bin/sh", "-c", command + TILESCOPE_PROGRAM " record -o t.tscope -- sh run.sh"});
        EXPECT_EQ(bare.code, 0) << bare.err;
        EXPECT_EQ(recorded.code, 0) << recorded.err;
        EXPECT_EQ(bare.out, recorded.out);
    }
}

/// PYTHONPATH separates folders by colons.
TEST_F(RecordTorch, AColonInThePathOfTheOutputChangesNothing)
{
    const std::string text = kWithoutCompiler + training() + "import sys\nprint(*sys.path[1:], sep='\\n')\n";
    const std::string file = script("12:30/train.py", text);
    const ProgramResult result =
        run({"/bin/sh", "-c",
             "cd 12:30 && exec " TILESCOPE_PROGRAM " record -o t.tscope -- " PYTHON_PROGRAM " train.py"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out.find("12:30"), std::string::npos) << result.out;
    EXPECT_EQ(result.out.find("12\n"), std::string::npos) << result.out;
    std::filesystem::rename(folder_ / "12:30/t.tscope", folder_ / "t.tscope");
    EXPECT_EQ(show({"steps"}).size(), 3U);
}

TEST_F(RecordTorch, AModuleThatRaisesDoesNotContainWhatFollows)
{
    const std::string text = kWithoutCompiler + "import torch\n"
                                                "class Inner(torch.nn.Module):\n"
                                                "    def forward(self, x):\n"
                                                "        raise KeyboardInterrupt\n"
                                                "class Outer(torch.nn.Module):\n"
                                                "    def __init__(self):\n"
                                                "        super().__init__()\n"
                                                "        self.inner = Inner()\n"
                                                "    def forward(self, x):\n"
                                                "        return self.inner(x)\n"
                                                "try:\n"
                                                "    Outer()(1)\n"
                                                "except KeyboardInterrupt:\n"
                                                "    model = torch.nn.Linear(1, 1)\n"
                                                "    model(torch.ones(1)).sum().backward()\n"
                                                "    torch.optim.SGD(model.parameters(), lr=0.1).step()\n";
    ASSERT_EQ(record({PYTHON_PROGRAM, script("interrupted.py", text)}).code, 0);
    EXPECT_THAT(rangePaths(),
                IsSupersetOf({"step/forward/Outer/inner", "step/forward/Linear", "step/optimizer"}));
}

// --- memory, operators and stacks of PyTorch, by the plug-in ---

TEST_F(RecordTorch, AddsUpTheMemoryOfAnUnmodifiedScriptByModule)
{
    ASSERT_EQ(recordTraining().code, 0);
    EXPECT_THAT(environment()["record.memory"], HasSubstr("by the plug-in"));
    std::int64_t atPeak = 0;
    std::map<std::string, std::int64_t> most;
    for (const json& row : show({"memory", "--group", "module"})) {
        atPeak += row.at("at_peak").get<std::int64_t>();
        most[row.at("key")] = row.at("max");
    }
    // The weights are 8 x 8 floats, their biases 8: as parameters, and as gradients.
    constexpr std::int64_t kWeight = 8 * 8 * 4;
    constexpr std::int64_t kBias = 8 * 4;
    EXPECT_GE(most["Model/layers.0/attention"], kWeight + kBias);
    EXPECT_GE(most["Model/layers.1/attention"], kWeight + kBias);
    std::map<std::string, std::int64_t> categories;
    std::int64_t sum = 0;
    for (const json& row : show({"memory", "--group", "category"})) {
        categories[row.at("key")] = row.at("max");
        sum += row.at("at_peak").get<std::int64_t>();
    }
    EXPECT_EQ(categories["parameters"], 2 * (kWeight + kBias));
    EXPECT_EQ(categories["gradients"], 2 * (kWeight + kBias));
    // AdamW keeps two moments and the number of steps of each parameter.
    EXPECT_EQ(categories["optimizer"], 4 * (kWeight + kBias) + 4 * 4);
    EXPECT_GT(categories["activations"], 0);
    EXPECT_EQ(atPeak, sum) << "one peak";
}

/// A GPU's allocator, played by the program: without a GPU the plug-in cannot follow it.
TEST_F(RecordTorch, TakesTheHistoryOfPyTorchsOwnRecorderWhereThePluginCannotFollow)
{
    const std::string text =
        kWithoutCompiler +
        "import time, torch\n"
        "events = []\n"
        "def note(action, address, size):\n"
        "    time.sleep(0.001)\n"
        "    events.append({'action': action, 'addr': address, 'size': size, 'stream': 0,\n"
        "                   'time_us': time.time_ns() // 1000, 'frames': []})\n"
        "    time.sleep(0.001)\n"
        "torch.cuda.memory._record_memory_history = lambda *_: None\n"
        "torch.cuda.memory._snapshot = lambda: {'segments': [], 'device_traces': [events]}\n"
        "for call, _ in list(torch.cuda._queued_calls):\n"
        "    if call.__module__ == '_tilescope_recorder':\n"
        "        call()\n"
        "note('segment_alloc', 4096, 2097152)\n"
        "class Layer(torch.nn.Linear):\n"
        "    def forward(self, x):\n"
        "        note('alloc', 4096, 512)\n"
        "        return super().forward(x)\n"
        "model = torch.nn.Sequential(Layer(2, 2))\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "loss = model(torch.ones(1, 2)).sum()\n"
        "loss.backward()\n"
        "note('free_requested', 4096, 512)\n"
        "note('free_completed', 4096, 512)\n"
        "optimizer.step()\n"
        "note('segment_free', 4096, 2097152)\n";
    ASSERT_EQ(record({PYTHON_PROGRAM, script("gpu.py", text)}).code, 0);
    EXPECT_THAT(environment()["record.memory"], HasSubstr("by PyTorch's own recorder"));
    std::map<std::string, std::int64_t> most;
    for (const json& row : show({"memory", "--group", "module"}))
        most[row.at("key")] = row.at("max");
    EXPECT_EQ(most["Sequential/0"], 512);
    EXPECT_THAT(otherFiles(), ::testing::IsEmpty());
}

TEST_F(RecordTorch, LeavesMemoryOut)
{
    ASSERT_EQ(
        record({PYTHON_PROGRAM, script("train.py", kWithoutCompiler + training())}, {}, {"--no-memory"}).code,
        0);
    EXPECT_FALSE(environment().contains("record.memory"));
    EXPECT_TRUE(show({"memory"}).empty());
    EXPECT_THAT(rangePaths(), Contains("step/forward/Model"));
}

TEST_F(RecordTorch, LeavesModulesOut)
{
    const ProgramResult result =
        record({PYTHON_PROGRAM, script("train.py", kWithoutCompiler + training())}, {}, {"--no-modules"});
    ASSERT_EQ(result.code, 0);
    EXPECT_THAT(result.err, Not(HasSubstr("modules was called"))) << "that was not looked at";
    EXPECT_EQ(rangePaths(), std::set<std::string>{"step"});
    EXPECT_EQ(show({"steps"}).size(), 2U) << "when the first began is unknown";
    EXPECT_FALSE(show({"memory"}).empty());
}

TEST_F(RecordTorch, RecordsOpsWithShapes)
{
    const ProgramResult result =
        record({PYTHON_PROGRAM, script("train.py", kWithoutCompiler + training())}, {}, {"--ops"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(environment()["record.ops"], AllOf(HasSubstr("by the plug-in"), HasSubstr("views")));
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("ops with shapes by the plug-in"), HasSubstr("the cost was not measured")));
    std::map<std::string, int> counts;
    for (const json& row : show({"ops"}))
        counts[row.at("name")] = row.at("instances");
    // Three steps with two layers.
    EXPECT_EQ(counts["aten::linear"], 6);
    EXPECT_EQ(counts["AddmmBackward0"], 6);
    EXPECT_EQ(counts["SumBackward0"], 3);
    EXPECT_FALSE(counts.contains("aten::t")) << "a view";
    const ProgramResult shapes = run({TILESCOPE_PROGRAM, "sql", "t.tscope",
                                      "select distinct s.text from op o join string s on s.id = o.shapes "
                                      "join string n on n.id = o.name where n.text = 'aten::linear'"});
    EXPECT_THAT(shapes.out, HasSubstr("f32[4, 8] f32[8, 8] f32[8]")) << shapes.err;
}

/// A plug-in of the cache goes before the one that comes with the program.
TEST_F(RecordTorch, BuildsAndUsesAPluginForAnotherPython)
{
    const std::map<std::string, std::string> cache{{"XDG_CACHE_HOME", (folder_ / "cache").string()},
                                                   {"CXX", "c++ -O0"}};
    const ProgramResult built =
        run({TILESCOPE_PROGRAM, "record", "--build-plugin", "--", PYTHON_PROGRAM}, cache);
    ASSERT_EQ(built.code, 0) << built.err;
    const std::string folder = (folder_ / "cache/tilescope/plugins").string();
    EXPECT_THAT(built.out, AllOf(HasSubstr("plug-in for PyTorch "), HasSubstr(folder)));

    const std::string text = kWithoutCompiler + training() + "\nprint(open('/proc/self/maps').read())\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("train.py", text)}, cache, {"--ops"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr(folder), Not(HasSubstr("lib/tilescope_torch-"))));
    EXPECT_THAT(environment()["record.ops"], HasSubstr("by the plug-in"));
    std::map<std::string, int> counts;
    for (const json& row : show({"ops"}))
        counts[row.at("name")] = row.at("instances");
    EXPECT_EQ(counts["AddmmBackward0"], 6);
    std::set<std::string> allocating;
    for (const json& event : show({"memory"}))
        if (event.at("path").is_string())
            allocating.insert(event.at("path"));
    EXPECT_THAT(allocating, Contains("step/backward/Model/layers.0/attention"));
}

TEST_F(RecordTorch, RecordsCallsOfPythonFunctions)
{
    ASSERT_EQ(record({PYTHON_PROGRAM, script("train.py", training())}, {}, {"--stacks"}).code, 0);
    const ProgramResult frames = run({TILESCOPE_PROGRAM, "sql", "t.tscope",
                                      "select s.text, count(*) from frame f join string s on s.id = f.name "
                                      "where s.text like 'train.py%' group by 1 order by 1"});
    EXPECT_THAT(frames.out, AllOf(HasSubstr("train.py(12): forward"), HasSubstr("train.py(21): forward")))
        << frames.err;
}

/// Ranges nest: what a parent's children leave of it is its own time.
TEST_F(RecordTorch, TimesOfModulesAddUpToTheStep)
{
    ASSERT_EQ(recordTraining().code, 0);
    std::map<std::string, std::int64_t> wall;
    for (const json& row : show({"ranges"}))
        wall[row.at("path")] = row.at("wall_ns").get<std::int64_t>();
    const auto children = [&](const std::string& path) {
        std::int64_t sum = 0;
        for (const auto& [each, time] : wall)
            if (each.starts_with(path + "/") && each.find('/', path.size() + 1) == std::string::npos)
                sum += time;
        return sum;
    };
    for (const char* path : {"step", "step/forward", "step/forward/Model", "step/forward/Model/layers.0"}) {
        EXPECT_GT(children(path), 0) << path;
        EXPECT_LE(children(path), wall[path]) << path;
    }
    std::int64_t steps = 0;
    for (const json& row : show({"steps"}))
        steps += row.at("wall_ns").get<std::int64_t>();
    EXPECT_EQ(wall["step"], steps);
}

TEST_F(RecordTorch, WarnsIfTheProgramStartsAProfiler)
{
    const std::string text =
        "import torch\n"
        "torch.cuda.is_available = lambda: True\n"
        "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:\n"
        "    torch.nn.Linear(2, 2)(torch.ones(1, 2))\n"
        "print(len(profiler.events()) > 0)\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("profiled.py", text)});
    EXPECT_EQ(result.out, "True\n");
    EXPECT_THAT(result.err, HasSubstr("the program starts torch.profiler"));
}

TEST_F(RecordTorch, CompilesMoreModulesThanACompilerKeepsOfOneFunction)
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

TEST_F(RecordTorch, ProgramsThatUseTorchProfilerKeepWorking)
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

TEST_F(RecordTorch, AProfilerOfTheProgramSeesViews)
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

TEST_F(RecordTorch, MeasuresItsCost)
{
    const std::string text = kWithoutCompiler + "import torch\n"
                                                "model = torch.nn.Linear(1, 1)\n"
                                                "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
                                                "for _ in range(70):\n"
                                                "    model(torch.ones(1)).sum().backward()\n"
                                                "    optimizer.step()\n";
    const ProgramResult result = record({PYTHON_PROGRAM, script("loop.py", text)}, {}, {"--calibrate"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("a recorded step takes"), Not(HasSubstr("the cost was not measured"))));
    // Ten steps come first; a pair has two blocks of seven.
    EXPECT_THAT(environment(), Contains(Pair("record.cost", HasSubstr("4 pairs of 5 steps"))));
    EXPECT_EQ(record({"true"}, {}, {"--calibrate", "--steps", "1:2"}).code, 2);
}

} // namespace

} // namespace tilescope
