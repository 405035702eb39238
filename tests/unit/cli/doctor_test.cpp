// `tilescope doctor` with fakes of the engine and of python3.

#include "tests/support/json_schema.h"
#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace tilescope {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ProgramResult;

namespace {

namespace fs = std::filesystem;

class Doctor : public ::testing::Test {
protected:
    void SetUp() override
    {
        script("python3", "echo");
        script("engine", "echo 'Tilescope 0.1'");
        environment = {{"TILESCOPE_ENGINE", (folder / "engine").string()},
                       {"TILESCOPE_TORCH", ""},
                       {"XDG_CACHE_HOME", (folder / "cache").string()},
                       {"PATH", folder.path().string() + ":/usr/bin:/bin"}};
    }

    void script(const std::string& name, const std::string& body)
    {
        std::ofstream(folder / name) << "#!/bin/sh\n" << body << '\n';
        fs::permissions(folder / name, fs::perms::owner_all);
    }

    ProgramResult doctor(std::vector<std::string> arguments = {}) const
    {
        arguments.insert(arguments.begin(), {TILESCOPE_PROGRAM, "doctor"});
        return testing::runProgram(arguments, folder.path(), environment);
    }

    testing::TemporaryFolder folder;
    std::map<std::string, std::string> environment;
};

} // namespace

TEST_F(Doctor, ExplainsItsExitCodesInItsHelp)
{
    EXPECT_THAT(doctor({"--help"}).out, HasSubstr("Exit code 0: nothing is missing; 4"));
}

TEST_F(Doctor, PrintsJsonThatFollowsItsSchema)
{
    const ProgramResult result = doctor({"--format", "json"});
    const fs::path schema = fs::path(TILESCOPE_SOURCE_DIR) / "resources/schema/doctor.schema.json";
    EXPECT_THAT(testing::schemaOffences(result.out, schema), IsEmpty());
    bool missing = false;
    for (const auto& finding : nlohmann::json::parse(result.out)) {
        missing = missing || finding["verdict"] == "missing";
        EXPECT_EQ(finding["remedy"] == "", finding["verdict"] == "ok") << finding;
    }
    EXPECT_EQ(result.code, missing ? 4 : 0);
}

TEST_F(Doctor, EndsWithFourWhereTheEngineDoesNotLoad)
{
    script("engine", "echo 'libtorch_cpu.so: cannot open shared object file' >&2; exit 127");
    const ProgramResult result = doctor();
    EXPECT_EQ(result.code, 4);
    EXPECT_THAT(result.out, HasSubstr("missing  LibTorch"));
    EXPECT_THAT(result.out, HasSubstr("libtorch_cpu.so: cannot open"));
    EXPECT_THAT(result.out, HasSubstr("-> pip install torch==2.11"));
}

TEST_F(Doctor, NamesATorchThatDoesNotFit)
{
    fs::create_directories(folder / "torch/lib");
    std::ofstream(folder / "torch/lib/libtorch_cpu.so") << "no library";
    std::ofstream(folder / "torch/version.py") << "x = 1\n__version__ = '2.10.0'\n";
    script("engine", "exit 127");
    script("python3", "echo '" + (folder / "torch").string() + "'");
    const ProgramResult result = doctor();
    EXPECT_EQ(result.code, 4);
    EXPECT_THAT(result.out, HasSubstr("has torch 2.10.0; Tilescope needs 2.11"));
}

TEST_F(Doctor, NamesRivalsThatTheEnvironmentAsksFor)
{
    environment["CUDA_INJECTION64_PATH"] = "/opt/nsys/\033[31mlib.so";
    const ProgramResult result = doctor();
    EXPECT_THAT(result.out, HasSubstr("CUDA_INJECTION64_PATH=/opt/nsys/"));
    EXPECT_THAT(result.out, Not(HasSubstr("\033")));
}

} // namespace tilescope
