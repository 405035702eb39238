// What several formats share: the choice of files, and errors that name the file they are about.

#include "core/exchange/import/importer.h"

#include "core/exchange/import/import_cache.h"
#include "snapshot_fixture.h"

#include <gmock/gmock.h>

#include <array>

namespace tilescope::exchange {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ImporterTest : public ::testing::Test {
protected:
    fs::path written(const std::string& name, const std::string& bytes) const
    {
        std::ofstream(folder_ / name, std::ios::binary) << bytes;
        return folder_ / name;
    }

    /// Why what is named is refused, by the command `import` and by the cache, which the window uses.
    std::array<std::string, 2> refusalsOf(const fs::path& named) const
    {
        const std::array paths{named};
        std::array<std::string, 2> refusals;
        try {
            importFiles(importableFiles(paths), folder_ / "out.tscope");
        } catch (const Error& error) {
            refusals[0] = error.sentence();
        }
        try {
            ImportCache(folder_ / "cache", ImportCache::kDefaultLimit).open(paths);
        } catch (const Error& error) {
            refusals[1] = error.sentence();
        }
        return refusals;
    }

    testing::TemporaryFolder folder_;
};

TEST_F(ImporterTest, AFolderOfTwoSnapshotsIsRefusedWithTheNameOfTheSecond)
{
    fs::create_directory(folder_ / "both");
    written("both/a.pickle", fileText(realSnapshot()));
    std::string other = fileText(realSnapshot()); // of another moment
    other.replace(other.find(".py"), 3, ".pz");
    written("both/b.pickle", other);
    for (const std::string& refusal : refusalsOf(folder_ / "both")) {
        EXPECT_THAT(refusal, StartsWith((folder_ / "both" / "b.pickle").string() + ": "));
        EXPECT_THAT(refusal, HasSubstr("is a second memory snapshot, and a run holds one"));
    }
}

TEST_F(ImporterTest, AFolderOfFoldersIsRefusedWithTheOneThatHoldsARecording)
{
    const fs::path below = folder_ / "logs" / "run" / "1";
    fs::create_directories(below);
    written("logs/notes.txt", "plain text");
    written("logs/run/1/a.pickle", fileText(realSnapshot()));
    for (const std::string& refusal : refusalsOf(folder_ / "logs"))
        EXPECT_THAT(refusal, HasSubstr("name the one that holds the recording, such as " + below.string()));
}

TEST_F(ImporterTest, EveryRefusalNamesTheFile)
{
    const std::string sqlite = std::string("SQLite format 3\0", 16);
    const std::string gzip = "\x1f\x8b\x08";
    const std::pair<const char*, std::string> files[] = {
        {"text.txt", "plain text"},
        {"empty.json", ""},
        {"none.json", R"({"traceEvents": []})"},
        {"other.json", R"({"traceEvents": 7})"},
        {"cut.json.gz", gzip},
        {"cut.pickle", fileText(realSnapshot()).substr(0, 4000)},
        {"other.pickle", "\x80\x04K\x01."},
        {"cut.sqlite", sqlite},
        {"cut.rpd", sqlite},
        {"cut.xplane.pb", std::string("\x0a\xff\xff", 3)},
    };
    for (const auto& [name, bytes] : files)
        for (const std::string& refusal : refusalsOf(written(name, bytes)))
            EXPECT_THAT(refusal, HasSubstr(name));
    for (const std::string& refusal : refusalsOf(folder_ / "missing.json"))
        EXPECT_THAT(refusal, HasSubstr("missing.json"));
    fs::create_directory(folder_ / "nothing");
    for (const std::string& refusal : refusalsOf(folder_ / "nothing"))
        EXPECT_THAT(refusal, HasSubstr("nothing"));
}

} // namespace
} // namespace tilescope::exchange
