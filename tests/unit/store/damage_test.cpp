// Files that a disk or a cable has damaged: a whole answer or one sentence, never a crash and never less than
// there was.

#include "core/base/error.h"
#include "core/store/maintenance/maintenance.h"
#include "store_fixture.h"

#include <SQLiteCpp/Database.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>

namespace tilescope::store {

using namespace testing;
namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kEventsOfFile = 2000;

void writeSound(const fs::path& file)
{
    StringTable strings;
    Builder make(strings);
    RunWriter writer(file, strings);
    for (int run = 0; run < 2; ++run) {
        writer.beginRun(header());
        const EnvironmentEntry environment[] = {{"gpu", "H200"}, {"driver", "580.1"}};
        writer.writeEnvironment(environment);
        std::vector<Sample> samples;
        TraceBatch batch;
        for (std::uint32_t i = 0; i < kEventsOfFile; ++i) {
            batch.ops.push_back(make.op(i, "aten::op" + std::to_string(i % 40), i, i + 1));
            batch.deviceEvents.push_back(make.kernel("kernel" + std::to_string(i % 30), 10 * i, 10 * i + 5));
            batch.allocEvents.push_back(make.allocation(AllocAction::Alloc, 4096 * i, 512, i));
            if (i % 20 == 0)
                samples.push_back({.step = static_cast<std::int32_t>(i), .wall = Nanoseconds(i)});
        }
        writer.writeSamples(samples);
        writer.write(batch);
        writer.endRun({});
    }
}

/// Reads everything; throws Error or gives all that was written.
void readAll(const fs::path& file)
{
    const RunReader reader(file);
    ASSERT_EQ(reader.runs().size(), 2u);
    for (const RunId run : {RunId{1}, RunId{2}}) {
        ASSERT_EQ(reader.environment(run).size(), 2u);
        ASSERT_EQ(reader.samples(run).size(), kEventsOfFile / 20);
        const auto ops = reader.ops({.run = run});
        ASSERT_EQ(ops.size(), kEventsOfFile);
        for (std::uint32_t i = 0; i < kEventsOfFile; ++i)
            ASSERT_EQ(ops[i].id, OpId{i});
        const auto events = reader.deviceEvents({.run = run});
        ASSERT_EQ(events.size(), kEventsOfFile);
        for (const DeviceEvent& event : events)
            ASSERT_EQ(event.end - event.start, Nanoseconds(5));
        ASSERT_EQ(reader.allocEvents({.run = run}).size(), kEventsOfFile);
        for (const Op& op : ops)
            reader.text(op.name);
    }
}

/// One of the ways in which files get damaged.
std::string damaged(std::string bytes, std::mt19937_64& random)
{
    const auto below = [&random](std::size_t limit) {
        return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    switch (below(6)) {
    case 0: // single bits
        for (std::size_t i = 1 + below(8); i > 0; --i)
            bytes[below(bytes.size())] ^= static_cast<char>(1 << below(8));
        break;
    case 1: // bytes of the header and the schema
        for (std::size_t i = 1 + below(4); i > 0; --i)
            bytes[below(2000)] = static_cast<char>(random());
        break;
    case 2: // cut off
        bytes.resize(below(bytes.size()));
        break;
    case 3: // a block of zeros
        for (std::size_t at = below(bytes.size()), end = std::min(bytes.size(), at + 512 * (1 + below(16)));
             at < end; ++at)
            bytes[at] = 0;
        break;
    case 4: { // two blocks exchanged
        const std::size_t block = 4096;
        const std::size_t a = below(bytes.size() / block) * block;
        const std::size_t b = below(bytes.size() / block) * block;
        std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(a),
                         bytes.begin() + static_cast<std::ptrdiff_t>(a + block),
                         bytes.begin() + static_cast<std::ptrdiff_t>(b));
        break;
    }
    default: // noise
        for (std::size_t at = below(bytes.size()), end = std::min(bytes.size(), at + 1 + below(200));
             at < end; ++at)
            bytes[at] = static_cast<char>(random());
    }
    return bytes;
}

/// Writers refuse a file of which a reader cannot list the runs, and leave it as it is; otherwise they may append.
void expectWritersRefuseWhatReadersRefuse(const fs::path& file, const fs::path& sound)
{
    bool isRefused = false;
    try {
        (void)RunReader(file).runs();
    } catch (const Error&) {
        isRefused = true;
    }
    const std::string before = contentsOf(file);
    const StringTable strings;
    const std::function<void()> changes[] = {
        [&] { setNote(file, RunId{1}, "note"); }, [&] { setTag(file, RunId{1}, "tag"); },
        [&] { deleteRuns(file, std::array{RunId{2}}); }, [&] { merge(std::array{sound}, file); },
        [&] {
            RunWriter writer(file, strings);
            writer.beginRun(header());
            writer.endRun({});
        }};
    for (const auto& change : changes)
        try {
            change();
            EXPECT_FALSE(isRefused);
        } catch (const Error&) {
        }
    if (isRefused) {
        EXPECT_EQ(contentsOf(file), before);
    }
}

} // namespace

TEST(Damage, AFileThatWasCutIsRefusedHoweverLittleIsGone)
{
    const TemporaryFolder folder;
    const fs::path file = folder / "cut.tscope";
    writeSound(file);
    const std::string bytes = contentsOf(file);
    for (const std::size_t gone : {1, 2, 99, 100, 512, 4095, 4096, 4097, 20'000}) {
        SCOPED_TRACE(gone);
        std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes.substr(0, bytes.size() - gone);
        try {
            const RunReader reader(file);
            ADD_FAILURE() << "it was opened";
        } catch (const Error& error) {
            EXPECT_NE(error.sentence().find("the file is damaged: it was cut to " +
                                            std::to_string(bytes.size() - gone) + " of its " +
                                            std::to_string(bytes.size()) + " bytes"),
                      std::string::npos)
                << error.sentence();
        }
        StringTable strings;
        EXPECT_THROW(RunWriter(file, strings), Error) << "nothing is appended to it";
        const VerifyReport report = verify(file);
        ASSERT_FALSE(report.ok());
        EXPECT_TRUE(report.problems.front().starts_with("the file is damaged: it was cut"))
            << report.problems.front();
        for (const std::string& problem : report.problems) {
            EXPECT_EQ(problem.find('\n'), std::string::npos) << problem;
            EXPECT_EQ(problem.find("not an error"), std::string::npos) << problem;
        }
    }
}

TEST(Damage, IsReportedByVerifyWithoutSendingToVerify)
{
    const TemporaryFolder folder;
    writeSound(folder / "a.tscope");
    std::string bytes = contentsOf(folder / "a.tscope");
    for (std::size_t at = 2 * 4096; at < bytes.size(); at += 997)
        bytes[at] = static_cast<char>(~bytes[at]);
    std::ofstream(folder / "b.tscope", std::ios::binary) << bytes;
    const VerifyReport report = verify(folder / "b.tscope");
    ASSERT_FALSE(report.ok());
    for (const std::string& problem : report.problems)
        EXPECT_EQ(problem.find("tilescope verify"), std::string::npos) << problem;
}

TEST(Damage, GivesAWholeAnswerOrOneSentence)
{
    const TemporaryFolder folder;
    const fs::path sound = folder / "sound.tscope";
    writeSound(sound);
    readAll(sound);
    const std::string bytes = contentsOf(sound);
    // TILESCOPE_DAMAGED=2000 for the whole set.
    const char* wanted = std::getenv("TILESCOPE_DAMAGED");
    const int files = wanted ? std::atoi(wanted) : 60;
    constexpr std::uint64_t kSeed = 20'261'121;
    std::mt19937_64 random(kSeed);
    int refused = 0;
    for (int i = 0; i < files; ++i) {
        SCOPED_TRACE("seed " + std::to_string(kSeed) + ", file " + std::to_string(i));
        const fs::path file = folder / "damaged.tscope";
        std::ofstream(file, std::ios::binary | std::ios::trunc) << damaged(bytes, random);
        bool whole = false;
        try {
            readAll(file);
            whole = !HasFatalFailure();
        } catch (const Error& error) {
            ++refused;
            EXPECT_FALSE(error.sentence().empty());
            EXPECT_EQ(error.sentence().find('\n'), std::string::npos) << error.sentence();
        }
        if (HasFatalFailure())
            return;
        try {
            const VerifyReport report = verify(file);
            EXPECT_TRUE(whole || !report.ok()) << "reading was refused and verify finds nothing";
        } catch (const Error& error) {
            EXPECT_FALSE(whole) << error.sentence();
        }
        expectWritersRefuseWhatReadersRefuse(file, sound);
        for (const char* suffix : {"-wal", "-shm", "-journal"})
            fs::remove(file.string() + suffix);
    }
    RecordProperty("refused", refused);
    EXPECT_GT(refused, files / 4);
}

TEST(Damage, OfTextsIsNotCopiedAsIfItWereWhatWasWritten)
{
    const TemporaryFolder folder;
    const fs::path file = folder / "changed.tscope";
    writeSound(file);
    std::string bytes = contentsOf(file);
    const std::size_t text = bytes.find("aten::op7");
    ASSERT_NE(text, std::string::npos);
    bytes[text] = 'b';
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    EXPECT_FALSE(verify(file).ok());
    EXPECT_THROW(compact(file), Error);
    EXPECT_FALSE(verify(file).ok());
    EXPECT_THROW(merge(std::array{file}, folder / "merged.tscope"), Error);
    EXPECT_FALSE(fs::exists(folder / "merged.tscope"));
}

TEST(Damage, OfATargetIsNotSaidOfTheSource)
{
    constexpr std::size_t kPage = 4096;
    constexpr std::size_t kFirstFreePage = 32; // in the header of a SQLite file
    const TemporaryFolder folder;
    const fs::path target = folder / "target.tscope";
    writeSound(target);
    deleteRuns(target, std::array{RunId{1}});
    std::string bytes = contentsOf(target);
    std::size_t page = 0;
    for (std::size_t i = 0; i < 4; ++i)
        page = page << 8 | static_cast<unsigned char>(bytes[kFirstFreePage + i]);
    ASSERT_GT(page, 0U);
    bytes.replace((page - 1) * kPage, 8, 8, '\xff');
    std::ofstream(target, std::ios::binary | std::ios::trunc) << bytes;
    writeSound(folder / "source.tscope");
    try {
        merge(std::array{folder / "source.tscope"}, target);
        FAIL() << "the target's list of free pages is damaged";
    } catch (const Error& error) {
        EXPECT_NE(error.sentence().find("target.tscope: the file is damaged"), std::string::npos)
            << error.sentence();
    }
}

/// Every page of the table of runs in the place of every other page: all runs in their order, or one
/// sentence.
TEST(Damage, APageOfRunsInAnothersPlaceIsNoticed)
{
    constexpr std::size_t kPage = 4096;
    constexpr int kRuns = 12;
    const std::string marker = "a spec that is found again";
    const TemporaryFolder folder;
    const fs::path file = folder / "swapped.tscope";
    {
        const StringTable strings;
        RunWriter writer(file, strings);
        RunHeader point = header();
        point.specJson = "{\"name\":\"" + marker + std::string(800, '.') + "\"}";
        for (int run = 0; run < kRuns; ++run) {
            writer.beginRun(point);
            writer.endRun({});
        }
    }
    const std::string bytes = contentsOf(file);
    const std::size_t pages = bytes.size() / kPage;
    int swaps = 0;
    for (std::size_t a = 1; a < pages; ++a) {
        if (bytes.substr(a * kPage, kPage).find(marker) == std::string::npos)
            continue;
        for (std::size_t b = 1; b < pages; ++b) {
            if (a == b)
                continue;
            std::string swapped = bytes;
            swapped.replace(a * kPage, kPage, bytes, b * kPage, kPage);
            swapped.replace(b * kPage, kPage, bytes, a * kPage, kPage);
            std::ofstream(file, std::ios::binary | std::ios::trunc) << swapped;
            ++swaps;
            try {
                const auto runs = RunReader(file).runs();
                ASSERT_EQ(runs.size(), static_cast<std::size_t>(kRuns)) << "pages " << a << " and " << b;
                for (int run = 0; run < kRuns; ++run)
                    ASSERT_EQ(runs[static_cast<std::size_t>(run)].run.value, run + 1)
                        << "pages " << a << " and " << b;
            } catch (const Error& error) {
                EXPECT_FALSE(error.sentence().empty());
            }
        }
    }
    EXPECT_GT(swaps, 100);
}

/// The sum of the rows of a chunk does not change if they are found in another order.
TEST(Damage, PagesOfOtherTablesInEachOthersPlaceAreNoticed)
{
    constexpr std::size_t kPage = 4096;
    constexpr int kRuns = 4;
    constexpr int kEntries = 30;
    const std::string marker = "a value that is found again";
    const TemporaryFolder folder;
    const fs::path file = folder / "swapped.tscope";
    std::vector<EnvironmentEntry> written;
    for (int i = 0; i < kEntries; ++i)
        written.push_back({"key " + std::to_string(i), marker + std::string(200, '.')});
    {
        const StringTable strings;
        RunWriter writer(file, strings);
        for (int run = 0; run < kRuns; ++run) {
            writer.beginRun(header());
            writer.writeEnvironment(written);
            writer.endRun({});
        }
    }
    const std::string bytes = contentsOf(file);
    std::vector<std::size_t> leaves;
    for (std::size_t page = 1; page < bytes.size() / kPage; ++page)
        if (bytes.substr(page * kPage, kPage).find(marker) != std::string::npos)
            leaves.push_back(page);
    ASSERT_GT(leaves.size(), 4U);
    int refused = 0;
    for (const std::size_t a : leaves)
        for (const std::size_t b : leaves) {
            if (a == b)
                continue;
            std::string swapped = bytes;
            swapped.replace(a * kPage, kPage, bytes, b * kPage, kPage);
            swapped.replace(b * kPage, kPage, bytes, a * kPage, kPage);
            std::ofstream(file, std::ios::binary | std::ios::trunc) << swapped;
            try {
                const RunReader reader(file);
                for (int run = 1; run <= kRuns; ++run) {
                    const std::vector<EnvironmentEntry> found = reader.environment(RunId{run});
                    ASSERT_EQ(found.size(), written.size()) << "pages " << a << " and " << b;
                    for (std::size_t i = 0; i < found.size(); ++i)
                        ASSERT_EQ(found[i].key, written[i].key) << "pages " << a << " and " << b;
                }
            } catch (const Error& error) {
                ++refused;
                EXPECT_FALSE(error.sentence().empty());
            }
        }
    EXPECT_GT(refused, 0);
}

/// Names stand in tables, so that another one must not pass for what was recorded.
TEST(Damage, OfATextIsNoticedByThoseWhoReadItOrOneWrittenWithIt)
{
    const TemporaryFolder folder;
    const fs::path whole = folder / "whole.tscope";
    writeSound(whole);
    const auto nameOfFirstOp = [](const fs::path& file) {
        const RunReader reader(file);
        std::string name;
        reader.eachOp({RunId{1}}, [&](const Op& op) {
            name = reader.text(op.name);
            return false;
        });
        return name;
    };
    const std::string name = nameOfFirstOp(whole);
    ASSERT_FALSE(name.empty());
    for (const std::string& damage :
         {"update string set text = text || 'x' where text = '" + name + "'",
          "update string set text = 'aten::other' where text = '" + name + "'",
          "delete from string where text = '" + name + "'",
          std::string("update chunk set checksum = checksum + 1 where source = 'string'")}) {
        const fs::path file = folder / "damaged.tscope";
        fs::copy_file(whole, file, fs::copy_options::overwrite_existing);
        SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec(damage);
        EXPECT_THROW(nameOfFirstOp(file), Error) << damage;
    }
}

/// Samples and reports need the numbers of the runs only, not their rows.
TEST(Damage, ALostRunIsNoticedByThoseWhoReadOnlyTheNumbersOfRuns)
{
    const TemporaryFolder folder;
    const fs::path whole = folder / "whole.tscope";
    {
        const StringTable strings;
        RunWriter writer(whole, strings);
        for (int run = 0; run < 3; ++run) {
            writer.beginRun(header());
            writer.endRun({});
        }
    }
    EXPECT_EQ(RunReader(whole).runIds().size(), 3U);
    for (const char* damage : {"delete from run where id = 2", "update run set id = 0 where id = 3",
                               "update run set id = 7 where id = 3", "delete from run"}) {
        const fs::path file = folder / "damaged.tscope";
        fs::copy_file(whole, file, fs::copy_options::overwrite_existing);
        SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec(damage);
        EXPECT_THROW(RunReader(file).runIds(), Error) << damage;
        EXPECT_THROW(RunReader(file).runs(), Error) << damage;
    }
}

} // namespace tilescope::store
