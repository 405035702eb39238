#include "core/exchange/export/export_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <string>

namespace tilescope::exchange {
namespace {

// The Python package, which writes Arrow files, is tested by the same cases.
TEST(TextWithoutHomes, NamesNobodyAndKeepsOtherPaths)
{
    const char* before = std::getenv("HOME");
    const std::string kept = before ? before : "";
    setenv("HOME", "/data/ada", 1);
    const nlohmann::json cases = nlohmann::json::parse(
        std::ifstream(std::string(TILESCOPE_SOURCE_DIR) + "/tests/data/home_folders.json"));
    ASSERT_GT(cases.size(), 20U);
    for (const nlohmann::json& each : cases)
        EXPECT_EQ(withoutHomes(each[0].get<std::string>()), each[1].get<std::string>());
    setenv("HOME", kept.c_str(), 1);
}

TEST(ExportedText, IsValidUtf8)
{
    EXPECT_EQ(exportedText("/home/ada \xff", false), "~ \ufffd");
    EXPECT_EQ(exportedText("/home/ada \xff", true), "/home/ada \ufffd");
}

} // namespace
} // namespace tilescope::exchange
