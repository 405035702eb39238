#include "stress_integrity.h"

#include "core/base/error.h"
#include "core/store/maintenance/maintenance.h"
#include "random_imports.h"
#include "store_fixture.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tilescope::stress {

using namespace store;
using namespace store::testing;
namespace fs = std::filesystem;

namespace {

/// Writes random runs. Ops and kernels share their names, as those of Inductor do.
class RandomRuns {
public:
    explicit RandomRuns(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    bool chance(std::uint64_t oneIn) { return below(oneIn) == 0; }

    /// Appends a run to a file.
    /// \return  its uid
    std::string write(const fs::path& file)
    {
        std::string uid = writeRun(file);
        bury();
        return uid;
    }

    /// Imports a run of another program into a file.
    RunId import(const fs::path& file) { return importRandom(file, random_); }

    std::string name()
    {
        return names_[below(names_.size())] + (chance(3) ? std::to_string(below(2'000)) : std::string());
    }

private:
    std::string writeRun(const fs::path& file)
    {
        StringTable strings;
        Builder make(strings);
        RunWriter writer(file, strings, chance(2) ? NewFile::WhenSealed : NewFile::AtOnce);
        RunHeader head = header("run");
        head.isInOrder = chance(3);
        if (chance(3))
            head.point = static_cast<std::int64_t>(below(5));
        writer.beginRun(head);
        std::string uid = writer.uid();
        writeFacts(writer, make);
        std::uint32_t op = 0;
        std::uint32_t range = 0;
        std::int64_t time = 0;
        for (std::uint64_t batches = 1 + below(4); batches > 0; --batches) {
            writer.write(batch(make, strings, op, range, time, head.isInOrder));
            if (chance(3))
                writer.commit();
        }
        RunResult result;
        result.duration = Nanoseconds(time);
        if (chance(4))
            result.flags = {"throttled"};
        if (chance(8) && fs::exists(file)) {
            writer.commit();
            kill(file);
            return uid;
        }
        // Otherwise the writer's end ends the run.
        if (chance(8))
            writer.commit();
        else
            writer.endRun(result);
        if (!fs::exists(file)) {
            if (writer.run())
                writer.endRun(result);
            writer.seal();
        }
        return uid;
    }

    /// Puts the file back as a killed writer leaves it, when `file`'s writer has ended.
    void bury()
    {
        if (killed_.empty())
            return;
        for (const char* suffix : {"", "-wal"})
            if (const fs::path left = fs::path(killed_) += std::string("-left") + suffix; fs::exists(left))
                fs::rename(left, fs::path(killed_) += suffix);
        killed_.clear();
    }

    void kill(const fs::path& file)
    {
        for (const char* suffix : {"", "-wal"})
            if (const fs::path part = fs::path(file) += suffix; fs::exists(part))
                fs::copy_file(part, fs::path(file) += std::string("-left") + suffix);
        killed_ = file;
    }

    std::uint64_t eventsOfABatch()
    {
        if (chance(2'000))
            return 60'000;
        return chance(20) ? below(2'000) : below(40);
    }

    TraceBatch batch(Builder& make, StringTable& strings, std::uint32_t& op, std::uint32_t& range,
                     std::int64_t& time, bool inOrder)
    {
        TraceBatch batch;
        std::vector<std::uint32_t> late;
        for (std::uint64_t i = eventsOfABatch(); i > 0; --i) {
            time += static_cast<std::int64_t>(below(100));
            switch (below(6)) {
            case 0:
                batch.ranges.push_back(make.range(range++, "step/" + name(), time, time + 50));
                break;
            case 1:
                batch.ops.push_back(make.op(op++, name(), time, time + 10));
                batch.ops.back().step = static_cast<std::int32_t>(below(3));
                break;
            case 2:
            case 3:
                batch.deviceEvents.push_back(make.kernel(name(), time, time + 20));
                batch.deviceEvents.back().launch.grid[0] = static_cast<std::uint32_t>(below(50));
                break;
            case 4:
                batch.allocEvents.push_back(
                    make.allocation(AllocAction::Alloc, 512 * below(1'000), 512, time));
                break;
            default:
                batch.apiCalls.push_back({});
                batch.apiCalls.back().name = make.text(name());
                batch.apiCalls.back().start = make.at(time);
                batch.apiCalls.back().end = make.at(time + 3);
            }
        }
        // What was open for long arrives late.
        if (!inOrder)
            std::shuffle(batch.ops.begin(), batch.ops.end(), random_);
        if (chance(5))
            batch.losses = {{strings.intern("dropped"), LossSeverity::Warning, 3, strings.intern("some")}};
        if (chance(4) && !inOrder)
            addProcessEvents(batch, strings, make, name());
        return batch;
    }

    void writeFacts(RunWriter& writer, Builder& make)
    {
        std::vector<Sample> samples(below(20));
        for (Sample& sample : samples)
            sample.wall = Nanoseconds(static_cast<std::int64_t>(below(1'000)));
        writer.writeSamples(samples);
        if (chance(2))
            writer.writeEnvironment(
                std::array{EnvironmentEntry{"gpu", name()}, EnvironmentEntry{"none", ""}});
        if (chance(3))
            writer.writeTopology(topologyOf(name()));
        if (chance(5))
            writer.writeCeilings(std::array{Ceiling{"GPU-" + std::to_string(below(3)), "NVIDIA H200", "copy",
                                                    4.0e12, "B/s", 20, 2e12, 1'000, "test"}});
        if (chance(4))
            writer.writeCounterTracks(std::array{CounterTrack{.name = name(),
                                                              .unit = "W",
                                                              .end = make.at(9),
                                                              .points = {{make.at(4), 5}, {make.at(7), 6}}}});
        MemoryFacts facts;
        if (chance(3))
            facts.blocks = {{.time = make.at(0), .device = DeviceIndex{0}, .address = 9, .bytes = 9}};
        if (chance(3))
            facts.places = {{"step", "core/engine/lm/lm.cpp", 7, name()}};
        writer.writeMemory(facts);
    }

    std::mt19937_64 random_;
    fs::path killed_; ///< the file of a writer that is to look killed
    std::vector<std::string> names_{
        "triton_poi_fused_", "aten::mm", "void gemm<float>(int)", "step", "", "nccl:all_reduce", "cudaMalloc",
        "layers.0",          "größer"};
};

/// Files and what should be in them.
class Files {
public:
    explicit Files(std::uint64_t seed) : make_(seed) {}

    /// Does one thing to one file.
    /// \return  how many recordings it wrote
    int change()
    {
        const std::size_t file = make_.below(kFiles);
        changed_ = file;
        switch (contents_[file].empty() ? 7 + make_.below(2) : make_.below(11)) {
        case 1:
            merge(file, make_.below(kFiles));
            return 0;
        case 2:
            did("compact", file);
            compact(path(file));
            return 0;
        case 3:
            removeSome(file, false);
            return 0;
        case 4:
            removeSome(file, true);
            return 0;
        case 5:
            annotate(file);
            return 0;
        case 6:
            if (contents_[file].size() > 12) {
                did("start anew", file);
                fs::remove(path(file));
                contents_[file].clear();
            }
            return 0;
        case 7:
        case 9:
            did("import", file);
            import(file);
            return 1;
        default:
            did("record", file);
            record(file);
            return 1;
        }
    }

    /// Whether the file that was changed last has the runs that it should have and no damage.
    bool isSound() { return isSound(changed_); }

    /// Whether that is so for all files.
    bool areSound()
    {
        for (std::size_t file = 0; file < kFiles; ++file)
            if (!isSound(file))
                return false;
        return true;
    }

private:
    static constexpr std::size_t kFiles = 3;

    bool isSound(std::size_t file)
    {
        if (!fs::exists(path(file)))
            return true;
        const VerifyReport report = verify(path(file));
        if (!report.ok())
            return fails(file, report.problems.at(0));
        std::map<std::string, RunId> found;
        for (const RunRecord& run : RunReader(path(file)).runs())
            found[run.uid] = run.run;
        if (found != contents_[file])
            return fails(file, "it has " + std::to_string(found.size()) + " runs instead of " +
                                   std::to_string(contents_[file].size()) + ", or other numbers");
        return true;
    }

    fs::path path(std::size_t file) const { return folder_ / (std::to_string(file) + ".tscope"); }

    void did(const std::string& what, std::size_t file)
    {
        done_.push_back(what + " " + std::to_string(file));
        if (done_.size() > 30)
            done_.erase(done_.begin());
    }

    bool fails(std::size_t file, const std::string& problem)
    {
        std::printf("file %zu: %s\nafter:", file, problem.c_str());
        for (const std::string& done : done_)
            std::printf(" %s;", done.c_str());
        std::printf("\n");
        return false;
    }

    void record(std::size_t file)
    {
        const std::string uid = make_.write(path(file));
        contents_[file][uid] = RunReader(path(file)).runs().back().run;
    }

    void import(std::size_t file)
    {
        const RunId run = make_.import(path(file));
        contents_[file][RunReader(path(file)).run(run)->uid] = run;
    }

    void merge(std::size_t from, std::size_t to)
    {
        if (from == to)
            return;
        did("merge " + std::to_string(from) + " into", to);
        changed_ = to;
        store::merge(std::array{path(from)}, path(to));
        for (const RunRecord& run : RunReader(path(to)).runs())
            if (contents_[from].contains(run.uid))
                contents_[to].try_emplace(run.uid, run.run);
    }

    /// Deletes some runs of a file and perhaps restores them, as the window does.
    void removeSome(std::size_t file, bool restores)
    {
        did(restores ? "delete and restore" : "delete", file);
        std::vector<RunId> gone;
        std::vector<RunId> others;
        const std::map<std::string, RunId> before = contents_[file];
        for (const auto& [uid, run] : before)
            (make_.chance(3) ? gone : others).push_back(run);
        if (gone.empty())
            return;
        const fs::path kept = folder_ / "kept.tscope";
        snapshot(path(file), kept);
        if (!others.empty())
            deleteRuns(kept, others);
        deleteRuns(path(file), gone);
        std::erase_if(contents_[file],
                      [&](const auto& run) { return std::ranges::find(gone, run.second) != gone.end(); });
        if (restores) {
            if (make_.chance(4))
                record(file);
            store::merge(std::array{kept}, path(file), RunNumbers::OfSources);
            for (const auto& run : before)
                contents_[file].insert(run);
        }
        fs::remove(kept);
    }

    void annotate(std::size_t file)
    {
        did("annotate", file);
        const RunId run = contents_[file].begin()->second;
        if (make_.chance(2))
            setNote(path(file), run, make_.name());
        else
            setTag(path(file), run, make_.name());
    }

    TemporaryFolder folder_;
    RandomRuns make_;
    std::array<std::map<std::string, RunId>, kFiles> contents_;
    std::size_t changed_ = 0;
    std::vector<std::string> done_;
};

} // namespace

void writeRecording(const fs::path& file, std::uint64_t seed)
{
    RandomRuns make(seed);
    for (int run = 0; run < 20; ++run)
        make.write(file);
}

int randomOrders(std::int64_t recordings, std::uint64_t seed)
{
    std::int64_t changes = 0;
    std::int64_t written = 0;
    // A new set of files now and then: what was written before must not matter.
    for (std::uint64_t set = 0; written < recordings; ++set) {
        Files files(seed + set);
        constexpr int kChanges = 60;
        for (int i = 0; i < kChanges && written < recordings; ++i, ++changes) {
            written += files.change();
            if (!files.isSound() || (i + 1 == kChanges && !files.areSound())) {
                std::printf("set %llu of seed %llu, change %d\n", static_cast<unsigned long long>(set),
                            static_cast<unsigned long long>(seed), i);
                return 1;
            }
        }
    }
    std::printf("%lld recordings, %lld changes, no damage\n", static_cast<long long>(written),
                static_cast<long long>(changes));
    return 0;
}

} // namespace tilescope::stress
