#pragma once

#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilescope {

/// Runs `tilescope record` in a folder of its own and reads what it recorded.
class RecordTest : public ::testing::Test {
protected:
    testing::ProgramResult run(std::vector<std::string> command,
                               const std::map<std::string, std::string>& environment = {})
    {
        return testing::runProgram(command, folder_.path(), environment);
    }

    testing::ProgramResult record(std::vector<std::string> command,
                                  const std::map<std::string, std::string>& environment = {},
                                  const std::vector<std::string>& options = {})
    {
        std::vector<std::string> words{TILESCOPE_PROGRAM, "record", "-o", "t.tscope"};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("--");
        words.insert(words.end(), command.begin(), command.end());
        return run(words, environment);
    }

    nlohmann::json show(std::vector<std::string> what)
    {
        std::vector<std::string> words{TILESCOPE_PROGRAM, "show", "t.tscope"};
        words.insert(words.end(), what.begin(), what.end());
        words.insert(words.end(), {"--format", "json"});
        const testing::ProgramResult result = run(words);
        EXPECT_EQ(result.code, 0) << result.err;
        return nlohmann::json::parse(result.out, nullptr, false);
    }

    std::map<std::string, int> kernelCounts()
    {
        std::map<std::string, int> counts;
        for (const nlohmann::json& row : show({"kernels"}))
            counts[row.at("name")] += row.at("instances").get<int>();
        return counts;
    }

    std::map<std::string, int> losses()
    {
        std::map<std::string, int> counts;
        for (const nlohmann::json& row : show({"losses"}))
            counts[row.at("kind")] = row.at("count");
        return counts;
    }

    std::set<std::string> rangePaths()
    {
        std::set<std::string> paths;
        for (const nlohmann::json& row : show({"ranges"}))
            paths.insert(row.at("path"));
        return paths;
    }

    std::map<std::string, std::string> environment()
    {
        std::map<std::string, std::string> entries;
        for (const nlohmann::json& row : show({"environment"}))
            entries[row.at("key")] = row.at("value");
        return entries;
    }

    /// What a recording leaves besides its output.
    std::vector<std::string> otherFiles()
    {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
            if (entry.path().filename().string().find("recording") != std::string::npos)
                names.push_back(entry.path().filename());
        return names;
    }

    std::string script(const std::string& name, const std::string& text)
    {
        const std::filesystem::path file = folder_.path() / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
        return file.string();
    }

    testing::TemporaryFolder folder_;
};

} // namespace tilescope
