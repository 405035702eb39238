#include "core/session/supervisor/slurm_script.h"

#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace tilescope::session {

using ::testing::HasSubstr;
using ::testing::Not;

namespace {

constexpr std::string_view kSpec = "# it's mine: $HOME `id`\n"
                                   "name: grid\n"
                                   "workload: attention\n"
                                   "END_OF_SPEC\n"
                                   "sweep: {seq_len: [64, 128]}";

std::string textOf(const std::filesystem::path& file)
{
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

void write(const std::filesystem::path& file, const std::string& text)
{
    std::ofstream(file) << text;
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
}

} // namespace

TEST(BatchLine, NamesFilesAsAShellReadsThem)
{
    EXPECT_EQ(batchLine("a.yaml", "it's.tscope"), "tilescope --batch a.yaml -o 'it'\\''s.tscope'");
    EXPECT_EQ(batchLine("-x.yaml", "b.tscope"), "tilescope --batch ./-x.yaml -o b.tscope");
}

TEST(BatchText, GivesTheProgramTheTextAsItIs)
{
    const testing::TemporaryFolder folder;
    // Writes down its arguments and its input, like the program reads them.
    write(folder / "tilescope", "#!/bin/bash\nprintf '%s\\n' \"$@\" > arguments\ncat > input\n");
    write(folder / "job", "#!/bin/bash\nPATH=.:$PATH\n" + batchText(kSpec, "it's.tscope"));
    const testing::ProgramResult result = testing::runProgram({(folder / "job").string()}, folder.path(), {});
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    EXPECT_EQ(textOf(folder / "arguments"), "--batch\n-\n-o\nit's.tscope\n");
    EXPECT_EQ(textOf(folder / "input"), std::string(kSpec) + "\n");
}

TEST(SlurmScript, RunsItsShardOfTheSpecThatItCarries)
{
    const testing::TemporaryFolder folder;
    const std::filesystem::path results = folder / "my results";
    write(folder / "job", slurmScript("grid one", kSpec, results, 16));
    // Records its arguments and prints one point, like the program's dry run.
    write(folder / "program", "#!/bin/bash\ncp \"$2\" " + (folder / "seen.yaml").string() +
                                  "\necho \"$*\" >> " + (folder / "calls").string() + "\necho '1 points'\n");
    const testing::ProgramResult result = testing::runProgram({(folder / "job").string()}, folder.path(),
                                                              {{"TILESCOPE", (folder / "program").string()},
                                                               {"SLURM_ARRAY_TASK_ID", "3"},
                                                               {"SLURM_ARRAY_TASK_MAX", "15"},
                                                               {"SLURM_ARRAY_TASK_COUNT", "16"},
                                                               {"TMPDIR", folder.path().string()}});
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    EXPECT_EQ(textOf(folder / "seen.yaml"), std::string(kSpec) + "\n");
    EXPECT_THAT(textOf(folder / "calls"), HasSubstr("/grid_one.yaml -o " + results.string() +
                                                    "/shard-0003-of-0016.tscope --shard 3/16 --resume\n"));
    EXPECT_TRUE(std::filesystem::is_directory(results));
}

TEST(SlurmScript, AsksForItsTasksBeforeAnyCommand)
{
    const std::string script = slurmScript("a", "workload: lm\n", "/results", 4);
    EXPECT_TRUE(script.starts_with("#!/usr/bin/env bash\n"));
    const std::size_t array = script.find("\n#SBATCH --array=0-3\n");
    ASSERT_NE(array, std::string::npos);
    EXPECT_LT(array, script.find("\nset -uo"));
    EXPECT_THAT(slurmScript("../../etc", "", "/r", 0), HasSubstr("/_.._etc.yaml"));
    EXPECT_THAT(slurmScript("a", "", "/r", 0), HasSubstr("--array=0-0\n"));
    EXPECT_THAT(script, Not(HasSubstr("@TILESCOPE")));
}

} // namespace tilescope::session
