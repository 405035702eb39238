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
    const std::string sentence = "optimizers made steps, but none of torch.nn's modules was called";
    const std::string plain = script("plain.py", text);
    EXPECT_THAT(record({PYTHON_PROGRAM, plain}).err, HasSubstr(sentence));
    EXPECT_EQ(show({"steps"}).size(), 3U);
    // Also where a step follows that is not recorded.
    EXPECT_THAT(record({PYTHON_PROGRAM, plain}, {}, {"--steps", "1:1"}).err, HasSubstr(sentence));
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

TEST_F(RecordTorch, WorkersOfDataLoadersStaySilent)
{
    const ProgramResult result =
        record({PYTHON_PROGRAM, script("train.py", kWithoutCompiler + training("layer(x)", "model", "2"))});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(show({"steps"}).size(), 3U);
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
