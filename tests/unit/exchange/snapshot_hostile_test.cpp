// Snapshots that are cut, forged or no snapshots at all: each is a sentence, none does harm.

#include "core/exchange/export/pickle_writer.h"
#include "tests/unit/exchange/snapshot_fixture.h"

#include <gmock/gmock.h>

#include <functional>
#include <random>

namespace tilescope::exchange {

namespace {

using ::testing::HasSubstr;

/// A pickle that is written so.
std::string built(const std::function<void(PickleWriter&)>& build)
{
    std::ostringstream out;
    PickleWriter writer(out);
    build(writer);
    writer.finish();
    return out.str();
}

} // namespace

TEST_F(Snapshot, CutOffAtAnyByteIsRefused)
{
    const std::string whole = exported(gpuRun());
    ASSERT_EQ(refusalOf(whole), "");
    for (std::size_t length = 0; length < whole.size(); ++length)
        ASSERT_NE(refusalOf(whole.substr(0, length)), "") << length;
    const std::string real = fileText(realSnapshot());
    for (std::size_t length = 0; length < real.size(); length += 7919)
        ASSERT_NE(refusalOf(real.substr(0, length)), "") << length;
}

TEST_F(Snapshot, WhatIsReferredToAgainAndAgainIsRefused)
{
    // One event a million times would be a file of two megabytes and a run of a hundred.
    const auto withEvents = [&](int times) {
        return built([&](PickleWriter& w) {
            w.beginDict();
            w.text("segments");
            w.beginList();
            w.endList();
            w.text("device_traces");
            w.beginList();
            w.beginList();
            w.beginDict();
            const PickleWriter::Memo event = w.remember();
            w.entry("action", "alloc");
            w.entry("addr", 4096);
            w.entry("size", 512);
            w.endDict();
            for (int i = 1; i < times; ++i)
                w.recall(event);
            w.endList();
            w.endList();
            w.endDict();
        });
    };
    EXPECT_EQ(refusalOf(withEvents(1)), "");
    EXPECT_EQ(refusalOf(withEvents(2)), "x.pickle, device 0, event 1: the file contains it already");
}

TEST_F(Snapshot, SurvivesFlippedAndShuffledBytes)
{
    const std::string whole = exported(gpuRun());
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&](std::size_t bound) { return random() % bound; };
    int taken = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes = whole;
        for (std::size_t i = 0; i <= below(3); ++i)
            switch (below(4)) {
            case 0:
                bytes[below(bytes.size())] = static_cast<char>(random());
                break;
            case 1:
                bytes[below(bytes.size())] ^= static_cast<char>(1U << below(8));
                break;
            case 2:
                bytes.erase(below(bytes.size() - 8), 1 + below(8));
                break;
            default:
                bytes.insert(below(bytes.size()), bytes.substr(below(bytes.size()), below(40)));
            }
        // Whatever comes out: a snapshot or a sentence.
        taken += refusalOf(bytes).empty() ? 1 : 0;
    }
    EXPECT_LT(taken, 20'000);
}

TEST_F(Snapshot, EveryByteMayBeAnyOpcode)
{
    const std::string whole = exported(gpuRun(), {.peak = true});
    for (std::size_t at = 0; at < whole.size(); at += 3)
        for (const char opcode :
             {'c', 'R', 'b', 'i', 'o', '\x81', '\x93', '(', '.', 'e', 'u', 'h', ']', '\x95'}) {
            std::string bytes = whole;
            bytes[at] = opcode;
            refusalOf(bytes);
        }
}

TEST_F(Snapshot, SharedListsDoNotMultiply)
{
    // A frame of 200 bytes, 5,000 times in one stack; that stack for each of 2,000 events.
    std::ostringstream out;
    PickleWriter writer(out);
    writer.beginDict();
    writer.text("segments");
    writer.beginList();
    writer.endList();
    writer.text("device_traces");
    writer.beginList();
    writer.beginList();
    for (int event = 0; event < 2000; ++event) {
        writer.beginDict();
        writer.entry("action", "alloc");
        writer.entry("addr", 512 * event);
        writer.entry("size", 512);
        writer.text("frames");
        writer.beginList();
        for (int frame = 0; frame < 5000; ++frame) {
            if (event == 0 && frame == 0) {
                writer.beginDict();
                writer.remember();
                writer.entry("name", std::string(200, 'x'));
                writer.entry("filename", "a.py");
                writer.entry("line", 1);
                writer.endDict();
            } else {
                // The first thing that was kept after the texts above it.
                writer.recall(8);
            }
        }
        writer.endList();
        writer.endDict();
    }
    writer.endList();
    writer.endList();
    writer.endDict();
    writer.finish();
    const ImportedSnapshot snapshot = imported(out.str());
    EXPECT_EQ(snapshot.trace.allocEvents.size(), 2000u);
    EXPECT_EQ(snapshot.trace.ops.size(), 1u) << "one stack";
}

TEST_F(Snapshot, OtherFilesAreRefusedWithAReason)
{
    EXPECT_THAT(refusalOf(built([](PickleWriter& w) { w.integer(3); })), HasSubstr("not a memory snapshot"));
    EXPECT_THAT(refusalOf(built([](PickleWriter& w) {
                    w.beginList();
                    w.endList();
                })),
                HasSubstr("without any segment or event"));
    const auto withSegment = [&](std::int64_t total, std::int64_t size, const char* state) {
        return built([&](PickleWriter& w) {
            w.beginList();
            w.beginDict();
            w.entry("address", 4096);
            w.entry("total_size", total);
            w.text("blocks");
            w.beginList();
            w.beginDict();
            w.entry("size", size);
            w.entry("state", state);
            w.endDict();
            w.endList();
            w.endDict();
            w.endList();
        });
    };
    EXPECT_EQ(refusalOf(withSegment(2048, 2048, "active_allocated")), "") << "a list of segments is one";
    EXPECT_THAT(refusalOf(withSegment(2048, 1024, "inactive")),
                HasSubstr("its blocks have 1024 bytes in total"));
    EXPECT_THAT(refusalOf(withSegment(2048, 2048, "gone")), HasSubstr("unknown state 'gone'"));
    EXPECT_THAT(refusalOf(withSegment(-1, -1, "inactive")), HasSubstr("not a size in bytes"));
    EXPECT_THAT(refusalOf(withSegment(1LL << 60, 1LL << 60, "inactive")), HasSubstr("not a size in bytes"));
}

TEST_F(Snapshot, RefusedOneLeavesNoRun)
{
    std::ofstream(folder / "bad.pickle", std::ios::binary) << "\x80\x02"
                                                           << "cos\nsystem\n.";
    EXPECT_THROW(importSnapshotFile(folder / "bad.pickle", folder / "t.tscope"), Error);
    EXPECT_FALSE(std::filesystem::exists(folder / "t.tscope"));
}

} // namespace tilescope::exchange
