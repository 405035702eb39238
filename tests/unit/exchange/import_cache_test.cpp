#include "core/exchange/import/import_cache.h"

#include "kineto_fixture.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace tilescope::exchange {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Traces whose kernel has another duration are other contents.
std::string traceOf(int duration)
{
    return trace({launch(1, "10.000"), kernel(1, "20.000", std::to_string(duration) + ".000")});
}

class ImportCacheTest : public Kineto {
protected:
    std::shared_ptr<const CachedImport> opened(const fs::path& file, const ImportWatch& watch = {}) const
    {
        return cache().open(std::array{file}, watch);
    }
    ImportCache cache() const { return ImportCache(cacheFolder(), limit_); }
    fs::path cacheFolder() const { return folder_ / "cache" / "imports"; }

    std::vector<std::string> namesOfEntries() const
    {
        std::vector<std::string> names;
        for (const ImportCache::Entry& entry : cache().entries())
            names.push_back(entry.name);
        return names;
    }

    /// Files of the cache's folder beside recordings and the index.
    std::vector<std::string> strayFiles() const
    {
        std::vector<std::string> stray;
        for (const auto& each : fs::directory_iterator(cacheFolder()))
            if (each.path().extension() != ".tscope" && each.path().filename() != "index.json")
                stray.push_back(each.path().filename());
        return stray;
    }

    Bytes limit_ = ImportCache::kDefaultLimit;
};

TEST_F(ImportCacheTest, ASecondOpeningImportsNothing)
{
    const fs::path file = written(traceOf(5));
    const fs::file_time_type before = fs::last_write_time(file);
    const auto first = opened(file);
    EXPECT_TRUE(first->isNew);
    EXPECT_EQ(store::RunReader(first->file).deviceEvents({.run = first->run}).size(), 1U);
    const auto second = opened(file);
    EXPECT_FALSE(second->isNew);
    EXPECT_EQ(second->file, first->file);
    EXPECT_EQ(second->shown, file);
    EXPECT_EQ(fs::last_write_time(file), before);
}

TEST_F(ImportCacheTest, IsKeyedByContentNotByName)
{
    const auto first = opened(written(traceOf(5), "a.json"));
    const auto copied = opened(written(traceOf(5), "b.json"));
    const auto other = opened(written(traceOf(6), "a.json"));
    EXPECT_FALSE(copied->isNew);
    EXPECT_EQ(copied->file, first->file);
    EXPECT_TRUE(other->isNew);
    EXPECT_NE(other->file, first->file);
}

TEST_F(ImportCacheTest, NoticesANewContentOfTheSameSizeAndTime)
{
    const fs::path file = written(traceOf(5));
    const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
    fs::last_write_time(file, old);
    const auto first = opened(file);
    written(traceOf(6));
    fs::last_write_time(file, old);
    EXPECT_TRUE(opened(file)->isNew);
}

TEST_F(ImportCacheTest, SeveralFilesAreOneEntry)
{
    const fs::path a = written(traceOf(5), "a.json");
    const fs::path b = written(traceOf(6), "b.json");
    const auto joined = cache().open(std::array{a, b});
    EXPECT_EQ(joined->shown.filename(), "a.json and 1 more");
    EXPECT_EQ(store::RunReader(joined->file).deviceEvents({.run = joined->run}).size(), 2U);
    EXPECT_TRUE(opened(a)->isNew) << "one of them alone is another recording";
    fs::create_directory(folder_ / "ranks");
    for (const fs::path& file : {a, b})
        fs::copy_file(file, folder_ / "ranks" / file.filename());
    const auto folder = opened(folder_ / "ranks");
    EXPECT_FALSE(folder->isNew);
    EXPECT_EQ(folder->file, joined->file);
    EXPECT_EQ(folder->shown.filename(), "ranks");
}

TEST_F(ImportCacheTest, BelongsToTheUserAlone)
{
    opened(written(traceOf(5)));
    struct stat status {};
    ASSERT_EQ(stat(cacheFolder().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700U);
    EXPECT_THAT(strayFiles(), IsEmpty());
}

TEST_F(ImportCacheTest, RemovesTheLeastRecentlyUsedAboveItsLimit)
{
    const fs::path a = written(traceOf(5), "a.json");
    const fs::path b = written(traceOf(6), "b.json");
    const fs::path c = written(traceOf(7), "c.json");
    opened(a);
    opened(b);
    opened(a); // b is the least recently used now
    const std::vector<ImportCache::Entry> two = cache().entries();
    ASSERT_EQ(two.size(), 2U);
    EXPECT_EQ(two[0].name, "a.json");
    limit_ = Bytes{two[0].size.count + two[1].size.count + two[1].size.count / 2};
    opened(c);
    EXPECT_THAT(namesOfEntries(), ::testing::ElementsAre("c.json", "a.json"));
}

TEST_F(ImportCacheTest, KeepsWhatIsOpen)
{
    limit_ = Bytes{1};
    auto a = opened(written(traceOf(5), "a.json"));
    auto b = opened(written(traceOf(6), "b.json"));
    EXPECT_THAT(namesOfEntries(), ::testing::ElementsAre("b.json", "a.json"));
    EXPECT_TRUE(cache().entries().front().isOpen);
    a.reset();
    const ImportCache::Cleared cleared = cache().clear();
    EXPECT_EQ(cleared.removed, 1);
    EXPECT_EQ(cleared.open, 1);
    EXPECT_GT(cleared.freed.count, 0);
    EXPECT_THAT(namesOfEntries(), ::testing::ElementsAre("b.json"));
    b.reset();
    EXPECT_EQ(cache().clear().removed, 1);
    EXPECT_THAT(cache().entries(), IsEmpty());
    EXPECT_THAT(strayFiles(), IsEmpty());
}

TEST_F(ImportCacheTest, ImportsDamagedEntriesAgain)
{
    const fs::path file = written(traceOf(5));
    const fs::path entry = opened(file)->file;
    fs::resize_file(entry, fs::file_size(entry) / 2);
    const auto again = opened(file);
    EXPECT_TRUE(again->isNew);
    EXPECT_EQ(store::RunReader(again->file).runs().size(), 1U);
    std::ofstream(entry, std::ios::trunc) << "no recording";
    EXPECT_TRUE(opened(file)->isNew);
}

TEST_F(ImportCacheTest, WorksWithADamagedIndex)
{
    const fs::path file = written(traceOf(5));
    opened(file);
    std::ofstream(cacheFolder() / "index.json", std::ios::trunc) << R"({"entries": [1, 2)";
    EXPECT_THAT(namesOfEntries(), ::testing::ElementsAre("")) << "the name is lost, the recording is not";
    EXPECT_FALSE(opened(file)->isNew);
    EXPECT_THAT(namesOfEntries(), ::testing::ElementsAre("trace.json"));
}

TEST_F(ImportCacheTest, ConcurrentOpeningsImportOnce)
{
    const fs::path file = written(traceOf(5));
    std::atomic<int> imports = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i)
            threads.emplace_back([&] { imports += opened(file)->isNew ? 1 : 0; });
    }
    EXPECT_EQ(imports, 1);
    EXPECT_EQ(cache().entries().size(), 1U);
    EXPECT_THAT(strayFiles(), IsEmpty());
}

TEST_F(ImportCacheTest, ACancelledImportLeavesNothing)
{
    const fs::path file = written(traceOf(5));
    const auto cancel = [](double done) { return done < 0.5; };
    EXPECT_THROW(opened(file, cancel), Error);
    EXPECT_THAT(cache().entries(), IsEmpty());
    EXPECT_THAT(strayFiles(), IsEmpty());
}

TEST_F(ImportCacheTest, ASourceThatChangesMeanwhileIsRefused)
{
    const fs::path file = written(traceOf(5));
    const auto change = [&](double done) {
        if (done > 0.5)
            written(traceOf(1000));
        return true;
    };
    try {
        opened(file, change);
        FAIL() << "imported a mixture";
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("changed while it was imported"));
    }
    EXPECT_THAT(cache().entries(), IsEmpty());
}

TEST_F(ImportCacheTest, AWrongFileIsRefusedWithTheKnownFormats)
{
    try {
        opened(written("plain text"));
        FAIL() << "imported a text";
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("memory snapshot"));
    }
    EXPECT_FALSE(fs::exists(cacheFolder()));
}

TEST_F(ImportCacheTest, WithoutAWritableFolderTheRecordingLastsForTheProcess)
{
    std::ofstream(folder_ / "cache") << "a file where the folder should be";
    const auto first = opened(written(traceOf(5)));
    EXPECT_THAT(first->fallback, HasSubstr("cannot be written"));
    EXPECT_EQ(store::RunReader(first->file).runs().size(), 1U);
    EXPECT_FALSE(opened(written(traceOf(5)))->isNew) << "it is kept while the process runs";
    EXPECT_THAT(cache().entries(), IsEmpty());
}

TEST_F(ImportCacheTest, TheVariableSetsTheLimit)
{
    const auto limitOf = [](const char* text) {
        setenv("TILESCOPE_IMPORT_CACHE", text, 1);
        return ImportCache::ofUser().limit().count;
    };
    EXPECT_EQ(limitOf("20 GiB"), std::int64_t{20} << 30);
    EXPECT_EQ(limitOf("1.5MB"), 1'500'000);
    EXPECT_EQ(limitOf("0"), 0);
    EXPECT_EQ(limitOf(""), ImportCache::kDefaultLimit.count);
    for (const char* wrong : {"lots", "-1", "10 parsecs", "nan", "1e30 TB"})
        EXPECT_THROW(limitOf(wrong), Error) << wrong;
    unsetenv("TILESCOPE_IMPORT_CACHE");
}

TEST_F(ImportCacheTest, ALimitOfZeroKeepsNothing)
{
    limit_ = Bytes{0};
    EXPECT_THAT(opened(written(traceOf(8)))->fallback, HasSubstr("TILESCOPE_IMPORT_CACHE is 0"));
    EXPECT_FALSE(fs::exists(cacheFolder()));
}

TEST_F(ImportCacheTest, ForeignFilesAreAllButRecordings)
{
    const fs::path file = written(traceOf(5));
    EXPECT_TRUE(isForeign(file));
    EXPECT_TRUE(isForeign(folder_.path()));
    const fs::path recording = opened(file)->file;
    fs::copy_file(recording, folder_ / "renamed.bin");
    EXPECT_FALSE(isForeign(recording));
    EXPECT_FALSE(isForeign(folder_ / "renamed.bin"));
    EXPECT_FALSE(isForeign(folder_ / "missing.json"));
}

} // namespace
} // namespace tilescope::exchange
