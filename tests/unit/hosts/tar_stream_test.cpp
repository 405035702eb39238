#include "core/hosts/tar_stream.h"

#include "core/base/error.h"
#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace tilescope::hosts {

namespace fs = std::filesystem;

namespace {

std::string textOf(const fs::path& file)
{
    std::stringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

} // namespace

TEST(TarStream, IsUnpackedByTar)
{
    const testing::TemporaryFolder folder;
    const std::string large(3'000'001, 'l');
    std::ofstream(folder / "large") << large;
    TarStream archive({{.local = folder / "large", .name = "a/b/large", .size = Bytes{3'000'001}},
                       {.local = {}, .text = std::string(512, 'x'), .name = "a/block", .isExecutable = true},
                       {.local = {}, .text = "", .name = "empty"}});
    EXPECT_EQ(archive.size().count, 3'000'513);
    {
        std::ofstream out(folder / "all.tar", std::ios::binary);
        for (std::string_view piece = archive.next(); !piece.empty(); piece = archive.next())
            out << piece;
    }
    fs::create_directory(folder / "out");
    ASSERT_EQ(
        testing::runProgram({"/bin/tar", "-xf", folder / "all.tar", "-C", folder / "out"}, folder.path())
            .code,
        0);
    EXPECT_EQ(textOf(folder / "out/a/b/large"), large);
    EXPECT_EQ(textOf(folder / "out/a/block"), std::string(512, 'x'));
    EXPECT_EQ(fs::status(folder / "out/a/block").permissions(), fs::perms(0700));
    EXPECT_EQ(fs::status(folder / "out/a/b/large").permissions(), fs::perms(0600));
    EXPECT_TRUE(fs::exists(folder / "out/empty"));
}

TEST(TarStream, FailsWhereAFileIsShorterThanItWas)
{
    const testing::TemporaryFolder folder;
    std::ofstream(folder / "file") << "short";
    TarStream archive({{.local = folder / "file", .name = "file", .size = Bytes{100}}});
    EXPECT_THROW(
        {
            while (!archive.next().empty()) {
            }
        },
        Error);
}

} // namespace tilescope::hosts
