#pragma once

#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

namespace tilescope {

/// The real command-line program in a separate folder, with a fake engine (tests/fakes/fake_engine.cpp).
class CommandLine : public ::testing::Test {
protected:
    void SetUp() override
    {
        environment = {{"TILESCOPE_ENGINE", FAKE_ENGINE},
                       {"FAKE_STARTS", (folder / "starts").string()},
                       {"TILESCOPE_CALIBRATION", (folder / "calibration" / "ceilings.tscope").string()}};
        write("sweep.yaml", "workload: attention\nsteps: 3\nsweep: {seq_len: [64, 128], seed: [0, 1]}\n");
    }

    void write(const std::string& name, const std::string& text) { std::ofstream(folder / name) << text; }

    std::vector<std::string> command(std::vector<std::string> arguments) const
    {
        arguments.insert(arguments.begin(), TILESCOPE_PROGRAM);
        return arguments;
    }
    testing::ProgramResult tilescope(std::vector<std::string> arguments) const
    {
        return testing::runProgram(command(std::move(arguments)), folder.path(), environment);
    }
    bool engineStarted() const { return std::filesystem::exists(folder / "starts"); }

    testing::TemporaryFolder folder;
    std::map<std::string, std::string> environment;
};

inline std::vector<nlohmann::json> jsonLines(const std::string& text)
{
    std::vector<nlohmann::json> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(nlohmann::json::parse(line));
    return lines;
}

} // namespace tilescope
