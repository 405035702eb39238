// How `tilescope record` gets into Python programs, and what keeps it out.

#include "tests/unit/cli/record_fixture.h"
#include "tests/unit/cli/training_script.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilescope {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramResult;

class RecordTorchBootstrap : public RecordTest {};

TEST_F(RecordTorchBootstrap, SaysThatOptionsOfPythonKeepTheBootstrapOut)
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
TEST_F(RecordTorchBootstrap, SaysThatALauncherKeepsTheBootstrapOut)
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

TEST_F(RecordTorchBootstrap, SaysThatAProgramCannotReachTheFolder)
{
    if (run({"/usr/bin/env", "unshare", "-Urmn", "true"}).code != 0)
        GTEST_SKIP() << "this user has no namespaces";
    const std::string program = " " PYTHON_PROGRAM " -c \"import time; time.sleep(3)\"";
    const std::string hidden = "mount -t tmpfs none . &&";
    const std::string readOnly = "mount --bind . . && mount -o remount,ro,bind . &&";
    EXPECT_THAT(record({"unshare", "-Urm", "sh", "-c", hidden + program}).err,
                AllOf(HasSubstr("cannot read the folder of the recording"), Not(HasSubstr("was seen"))));
    EXPECT_THAT(record({"unshare", "-Urmn", "sh", "-c", readOnly + program}).err,
                AllOf(HasSubstr("runs in a sandbox"), Not(HasSubstr("was seen"))));
    EXPECT_THAT(record({"unshare", "-Urm", "sh", "-c", readOnly + program}).err,
                AllOf(Not(HasSubstr("cannot read")), Not(HasSubstr("sandbox"))));
}

TEST_F(RecordTorchBootstrap, RunsTheUsersOwnSitecustomize)
{
    script("own/sitecustomize.py", "print('own sitecustomize')\n");
    const ProgramResult result = record({PYTHON_PROGRAM, "-c", "print('program')"},
                                        {{"PYTHONPATH", (folder_.path() / "own").string()}});
    EXPECT_EQ(result.out, "own sitecustomize\nprogram\n");
    EXPECT_EQ(result.err.find("Traceback"), std::string::npos) << result.err;
}

/// Python 2 is not recorded; its own sitecustomize runs all the same.
TEST_F(RecordTorchBootstrap, RunsTheUsersOwnSitecustomizeOfPython2)
{
    if (run({"/usr/bin/env", "python2", "-c", ""}).code != 0)
        GTEST_SKIP() << "there is no python2";
    script("own/sitecustomize.py", "import sys\nsys.stdout.write('own sitecustomize\\n')\n");
    const ProgramResult result =
        record({"python2", "-c", "print('program')"}, {{"PYTHONPATH", (folder_.path() / "own").string()}});
    EXPECT_EQ(result.out, "own sitecustomize\nprogram\n") << result.err;
}

TEST_F(RecordTorchBootstrap, WritesBytecodeForTheProgramOnly)
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

TEST_F(RecordTorchBootstrap, LeavesNothingOutsideItsOutput)
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

TEST_F(RecordTorchBootstrap, AFaultOfTheBootstrapEndsTheRecordingAndNotTheProgram)
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

TEST_F(RecordTorchBootstrap, SaysThatAPyTorchIsTooOld)
{
    std::filesystem::create_directory(folder_.path() / "torch");
    script("torch/__init__.py", "__version__ = '1.13.1'\n");
    const ProgramResult result = record({PYTHON_PROGRAM, script("use.py", "import torch\n")});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("PyTorch 1.13.1 are not recorded; they need 2.0 or later"),
                                  Not(HasSubstr("was seen"))));
}

/// An empty element of PYTHONPATH is the current folder.
TEST_F(RecordTorchBootstrap, AScriptThatAddsToPythonPathFindsTheCurrentFolder)
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
TEST_F(RecordTorchBootstrap, AColonInThePathOfTheOutputChangesNothing)
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

} // namespace

} // namespace tilescope
