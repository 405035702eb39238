// What tables and trees show from the totals of a file is what its events add up to.

#include "core/base/sha256.h"
#include "core/exchange/import/importer.h"
#include "core/query/advice/advice_table.h"
#include "core/query/calls/call_tree.h"
#include "core/query/compare/side_events.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/path/path_tables.h"
#include "core/query/runs/traced_pieces.h"
#include "core/query/work/work_tables.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/rows/writable_file.h"
#include "core/store/run_writer.h"
#include "core/store/tracks/call_totals.h"
#include "core/store/tracks/path_totals.h"
#include "core/store/tracks/track_writer.h"
#include "tests/support/simulator/kineto_recording.h"
#include "tests/support/simulator/random_program.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <map>
#include <random>

namespace tilescope::exchange {
namespace {

namespace fs = std::filesystem;
using query::CallTreeScope;
using query::CallWeight;
using query::Grouping;

std::string treeText(const store::RunReader& reader, const query::EventQuery& query,
                     const query::CallTreeOptions& options)
{
    const query::CallTreeTable table = query::callTree(reader, query, options);
    std::string text =
        fmt::format("tree {} {} '{}' of rank {}\n", wordOf(options.weight), static_cast<int>(options.scope),
                    query.rangeGlob, query.topology.rank.value_or(-1));
    for (const query::CallTreeRow& row : rowsOf(table.tree, 0))
        text += fmt::format("{:{}}{} {} {} {} {}\n", "", row.depth, row.name, wordOf(row.kind), row.self,
                            row.total, row.count);
    return text;
}

std::string treeText(const store::RunReader& reader, RunId run)
{
    std::string text;
    for (const CallWeight weight :
         {CallWeight::Time, CallWeight::Host, CallWeight::Allocated, CallWeight::Flops, CallWeight::Moved})
        for (const CallTreeScope scope :
             {CallTreeScope::Table, CallTreeScope::Steps, CallTreeScope::Recording})
            for (const char* glob : {"", "**/layers.*"})
                text += treeText(reader, {.run = run, .rangeGlob = glob}, {.scope = scope, .weight = weight});
    for (const query::ProcessChoice& choice : query::processChoices(reader.topology(run)))
        for (const CallWeight weight : {CallWeight::Time, CallWeight::Host, CallWeight::Allocated})
            text += treeText(reader, {.run = run, .topology = choice.query}, {.weight = weight});
    return text;
}

std::string kernelsText(const store::RunReader& reader, RunId run)
{
    std::string text;
    for (const Grouping grouping : {Grouping::Name, Grouping::Op, Grouping::Module}) {
        text += fmt::format("kernels by {}\n", wordOf(grouping));
        for (const query::KernelRow& row :
             query::kernels(reader, {.run = run, .grouping = grouping, .countSteps = true}).rows)
            // Sums of squares depend on the order of the sum in their last digits.
            text += fmt::format("{} {} {} {} {} {} {} {:.6g}\n", row.key, wordOf(row.family), row.instances,
                                row.total.count(), row.shortest.count(), row.longest.count(), row.steps,
                                row.standardDeviation.value_or(-1));
    }
    return text;
}

std::string rooflineText(const store::RunReader& reader, RunId run)
{
    std::string text;
    for (const Grouping grouping :
         {Grouping::Family, Grouping::Op, Grouping::Shape, Grouping::Module, Grouping::Range}) {
        const query::RooflineTable table = query::roofline(reader, {.run = run, .grouping = grouping});
        text += fmt::format("roofline by {} {} {}\n", wordOf(grouping), table.fromShapes, table.onGpu);
        for (const query::RooflineRow& row : table.rows)
            text += fmt::format("{} {} {} {} {} {} {} {}\n", row.key, row.instances, row.firstOp.value,
                                row.time.count(), row.counted.count(), row.work ? row.work->flops.count : -1,
                                row.work ? row.work->bytes.count : -1, row.why);
    }
    return text;
}

std::string piecesText(const store::RunReader& reader, RunId run)
{
    const query::TracedPieces traced = query::tracedPieces(reader, run);
    std::vector<std::string> lines;
    for (const query::Piece& piece : traced.pieces)
        lines.push_back(fmt::format("{} {} {} {} {}\n", piece.path, piece.name, piece.isBatched,
                                    piece.time.count(), piece.instances));
    std::ranges::sort(lines);
    return fmt::format("pieces of {} steps {}\n{}", traced.steps, traced.onGpu, fmt::join(lines, ""));
}

std::string timesText(std::string_view title, const query::CallTimes& times)
{
    std::string text = fmt::format("{}\n", title);
    for (const auto& [call, time] : times)
        text += fmt::format("{} {} {} {}\n", call.place, call.name, static_cast<int>(call.kind), time);
    return text;
}

std::string groupsText(std::string_view title, std::vector<analysis::GroupTimes> groups)
{
    std::string text = fmt::format("{}\n", title);
    std::ranges::sort(groups, {}, &analysis::GroupTimes::key);
    for (const analysis::GroupTimes& group : groups) {
        text += fmt::format("{} {}:", group.key, group.instancesPerStep);
        for (const std::vector<double>& run : group.runs)
            text += fmt::format(" {}", fmt::join(run, " "));
        text += '\n';
    }
    return text;
}

/// One side of a comparison, of all processes and of each.
std::string sideText(const store::RunReader& reader, RunId run)
{
    std::vector<query::ProcessQuery> queries{{}, {.allSteps = true}};
    for (const query::ProcessChoice& choice : query::processChoices(reader.topology(run)))
        queries.push_back(choice.query);
    std::string text;
    for (const query::ProcessQuery& process : queries) {
        const query::SideEvents side = query::sideEvents(reader, std::array{run}, process);
        const query::StepSide& step = side.step;
        text += fmt::format("side {} {} {} {} {} {} {} {} {}\n", step.process, step.onGpu, step.steps,
                            step.wall, step.compute, step.idle.launching, step.idle.synchronizing,
                            step.idle.tracing, step.idle.unexplained);
        text += timesText("calls", step.calls) + timesText("communication", step.communication) +
                timesText("copies", step.copies);
        for (const auto& [module, bytes] : step.allocated)
            text += fmt::format("{} allocates {}\n", module, bytes);
        text += groupsText("kernels", side.groups.kernels) + groupsText("families", side.groups.families) +
                groupsText("ranges", side.groups.ranges) + groupsText("ops", side.groups.ops);
    }
    return text;
}

std::string partsText(const analysis::PathParts& parts)
{
    std::string text;
    for (std::size_t i = 0; i < analysis::kPathParts; ++i)
        text += fmt::format(" {}", parts[static_cast<analysis::PathPart>(i)].count());
    return text;
}

/// The paths of all processes, and those of each.
std::string pathText(const store::RunReader& reader, RunId run)
{
    std::vector<query::PathTable> tables{query::criticalPaths(reader, {.run = run})};
    for (const query::ProcessChoice& choice : query::processChoices(reader.topology(run)))
        tables.push_back(query::criticalPaths(reader, {.run = run, .topology = choice.query}));
    std::string text;
    for (const query::PathTable& table : tables) {
        text += fmt::format("{} of {} paths, {} us unrecorded\n", table.rows.size(), table.rowsOfRun,
                            table.unrecorded.count());
        for (const query::PathRow& row : table.rows)
            text +=
                fmt::format("path of step {} of {} {} {} {} from {} to {}:{} {}\n",
                            row.step.value_or(kNoStep), row.process.value, row.title, row.rank.value_or(-1),
                            row.numbers.process.value_or(-1), nanosecondsOf(row.wall.start),
                            nanosecondsOf(row.wall.end), partsText(row.parts), row.leftOut);
    }
    return text;
}

std::string adviceText(const store::RunReader& reader, RunId run)
{
    std::string text;
    for (const query::Advice& row : query::advice(reader, run, {}).rows)
        text += fmt::format("advice {} {}\n", row.atStake.count(), row.sentence);
    return text;
}

/// \param ofSteps  also what is about each step
std::vector<std::string> shown(const fs::path& file, bool ofSteps)
{
    const store::RunReader reader(file);
    std::vector<std::string> texts;
    for (const RunId run : reader.runIds()) {
        texts.push_back(treeText(reader, run));
        texts.push_back(kernelsText(reader, run));
        texts.push_back(rooflineText(reader, run));
        texts.push_back(piecesText(reader, run));
        texts.push_back(sideText(reader, run));
        if (ofSteps)
            texts.insert(texts.end(), {pathText(reader, run), adviceText(reader, run)});
    }
    return texts;
}

std::vector<store::StepPathTotal> pathTotalsOf(const store::RunReader& reader, RunId run)
{
    std::vector<store::StepPathTotal> totals;
    for (const query::PathRow& row : query::criticalPaths(reader, {.run = run}).rows)
        totals.push_back({row.step, row.process, row.wall.start, row.wall.end, row.parts});
    return totals;
}

/// Adds the totals that runs of this size do not get.
void addTotals(const fs::path& file)
{
    const std::vector<RunId> runs = store::RunReader(file).runIds();
    std::map<RunId, std::vector<store::StepPathTotal>> paths;
    for (const RunId run : runs)
        paths[run] = pathTotalsOf(store::RunReader(file), run);
    {
        const StringTable strings;
        store::WritableFile target(file, strings);
        target.begin();
        for (const RunId run : runs)
            store::TrackWriter(target, run.value).write();
        target.commit();
        target.seal();
    }
    for (const RunId run : runs) {
        store::writePathTotals(file, run, paths[run]);
        EXPECT_EQ(store::RunReader(file).pathTotals(run), paths[run]);
    }
}

/// \return  runs whose work can be counted from their totals
int compareBothWays(const fs::path& file)
{
    // Files of earlier versions have the totals of their steps already, and then twice.
    const bool ofSteps = std::ranges::all_of(store::RunReader(file).runIds(), [&](RunId run) {
        return store::RunReader(file).stepTotals(run).empty();
    });
    const std::vector<std::string> fromEvents = shown(file, ofSteps);
    addTotals(file);
    const std::vector<std::string> fromTotals = shown(file, ofSteps);
    EXPECT_EQ(fromEvents.size(), fromTotals.size());
    for (std::size_t i = 0; i < std::min(fromEvents.size(), fromTotals.size()); ++i)
        EXPECT_EQ(fromEvents[i], fromTotals[i]);
    const store::RunReader reader(file);
    int counting = 0;
    for (const RunId run : reader.runIds()) {
        const auto totals = reader.callTotals(run);
        EXPECT_EQ(totals.has_value(),
                  reader.counts(run).ops + reader.counts(run).deviceEvents + reader.counts(run).allocEvents >
                      0);
        counting += totals && totals->countsWork && !totals->activities.empty() ? 1 : 0;
    }
    return counting;
}

/// Writes a run of random ops within each other, with kernels, copies and allocations within these, in five steps and
/// between them. Some launches, shapes, places and ops are unknown.
class RandomRun {
public:
    /// \param isRegular  calls that are alike launch alike, so that work can be counted from their totals
    /// \param correlation  of the first launch
    RandomRun(std::uint32_t seed, bool isRegular, std::uint32_t correlation = 1)
        : random_(seed), isRegular_(isRegular), nextCorrelation_(correlation)
    {
    }

    void write(const fs::path& file)
    {
        for (int step = 0; step < kSteps; ++step) {
            step_ = step;
            const Timestamp start = time_;
            for (int i = 0; i < kOpsOfAStep; ++i)
                op({}, 0, isRegular_ ? i : draw(kOpsOfAStep));
            batch_.ranges.push_back({.id = RangeId{static_cast<std::uint32_t>(step)},
                                     .path = strings_.intern("step"),
                                     .name = strings_.intern("step"),
                                     .thread = kThread,
                                     .step = step,
                                     .start = start,
                                     .end = time_});
            step_ = kNoStep;
            op({}, 0, draw(kOpsOfAStep));
        }
        std::ranges::stable_sort(batch_.ops, {}, &Op::start);
        store::RunWriter writer(file, strings_);
        writer.beginRun({.name = "random",
                         .workload = draw(2) == 0 ? std::string(kTraceWorkload.name) : "lm",
                         .specJson = "{}",
                         .specHash = "1",
                         .program = "test"});
        writer.write(batch_);
        writer.endRun({});
        writer.seal();
    }

private:
    static constexpr int kSteps = 5;
    static constexpr int kOpsOfAStep = 30;
    static constexpr ThreadId kThread{101};

    int draw(int below) { return static_cast<int>(random_() % static_cast<std::uint32_t>(below)); }
    void pass() { time_ += Nanoseconds(1 + draw(5'000)); }

    /// \param kind  the same is the same op with the same inner ops, if the run is regular
    OpId op(OpId caller, int depth, int kind)
    {
        static constexpr std::array kNames{"aten::mm",    "aten::add",  "aten::zero_",      "aten::fill_",
                                           "aten::zeros", "aten::relu", "AddmmBackward0",   "aten::embedding",
                                           "aten::mm",    "aten::add",  "aten::convolution"};
        static constexpr std::array kShapes{"f32[8, 4] f32[4, 6]", "bf16[16, 4] bf16[4, 6]", "f32[32]",
                                            "f32[8, 4]", ""};
        const int variant = isRegular_ ? kind * 7 + depth * 3 : draw(100);
        Op op{.id = OpId{nextOp_++}, .parent = caller, .thread = kThread, .step = step_};
        op.name = strings_.intern(kNames.at(static_cast<std::size_t>(variant) % kNames.size()));
        if (const std::string_view shapes = kShapes.at(static_cast<std::size_t>(variant) % kShapes.size());
            !shapes.empty())
            op.shapes = strings_.intern(shapes);
        op.path = pathOf(variant);
        op.start = time_;
        if (draw(4) > 0)
            pass();
        const int inner = isRegular_ ? variant % 3 : draw(3);
        for (int i = 0; i < inner && depth < 3; ++i)
            this->op(op.id, depth + 1, kind + i + 1);
        if (isRegular_ ? variant % 2 == 0 : draw(2) == 0)
            activity(op, isRegular_ ? variant : draw(100));
        if (draw(2) == 0)
            allocation(op);
        pass();
        op.end = time_;
        batch_.ops.push_back(op);
        return op.id;
    }

    StringId pathOf(int variant)
    {
        static constexpr std::array kPaths{"step/forward/layers.0/mlp", "step/backward/layers.1/attention",
                                           "step/optimizer"};
        return step_ == kNoStep || variant % 4 == 3
                   ? StringId{}
                   : strings_.intern(kPaths.at(static_cast<std::size_t>(variant) % 4));
    }

    void activity(const Op& op, int variant)
    {
        static constexpr std::array kNames{"gemm", "elementwise_kernel", "fill_kernel"};
        DeviceEvent event{.kind = static_cast<DeviceEventKind>(variant % 7 == 0 ? variant % 3 : 0),
                          .path = op.path,
                          .device = DeviceIndex{0},
                          .stream = StreamId{7},
                          .correlation = CorrelationId{nextCorrelation_++},
                          .op = op.id,
                          .launchThread = kThread,
                          .step = step_,
                          .launched = time_};
        event.name = strings_.intern(kNames.at(static_cast<std::size_t>(variant) % kNames.size()));
        event.start = time_ + Nanoseconds(draw(3'000));
        event.end = event.start + Nanoseconds(draw(9'000));
        if (!isRegular_) {
            event.graphNode = draw(9) == 0 ? 1 : 0;
            if (draw(9) == 0)
                event.op = draw(2) == 0 ? OpId{} : OpId{1'000'000};
            if (draw(9) == 0)
                event.launched = {};
            if (draw(9) == 0)
                event.correlation = CorrelationId{7};
            if (draw(30) == 0)
                event.step = kNoStep;
        }
        batch_.deviceEvents.push_back(event);
    }

    void allocation(const Op& op)
    {
        AllocEvent event{.time = time_,
                         .action = draw(3) == 0 ? AllocAction::FreeRequested : AllocAction::Alloc,
                         .device = draw(2) == 0 ? DeviceIndex{0} : DeviceIndex{},
                         .bytes = 1 + draw(1'000'000),
                         .path = op.path,
                         .op = op.id,
                         .step = step_};
        if (draw(2) == 0)
            event.category = strings_.intern("activations");
        batch_.allocEvents.push_back(event);
    }

    std::mt19937 random_;
    const bool isRegular_;
    StringTable strings_;
    TraceBatch batch_;
    Timestamp time_ = TraceClock::now();
    std::int32_t step_ = kNoStep;
    std::uint32_t nextOp_ = 0;
    std::uint32_t nextCorrelation_;
};

class StoredTotals : public ::testing::Test {
protected:
    fs::path copied(const std::string& name)
    {
        const fs::path file = folder_ / fs::path(name).filename();
        fs::copy_file(data_ / name, file);
        fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
        return file;
    }
    fs::path imported(const std::vector<std::string>& names)
    {
        std::vector<fs::path> files;
        for (const std::string& name : names)
            files.push_back(data_ / name);
        importFiles(files, folder_ / "a.tscope");
        return folder_ / "a.tscope";
    }

    fs::path simulated(std::uint64_t seed)
    {
        const simulator::SimulatedProgram program = simulator::randomProgram(seed);
        const simulator::Execution execution = execute(program);
        std::vector<fs::path> files;
        for (std::size_t rank = 0; rank < program.clocks.size(); ++rank) {
            files.push_back(folder_ / fmt::format("{}-{}.json", seed, rank));
            std::ofstream(files.back()) << kinetoRecording(program, execution, rank);
        }
        fs::path file = folder_ / fmt::format("{}.tscope", seed);
        importFiles(files, file);
        return file;
    }

    const fs::path data_ = fs::path(TILESCOPE_SOURCE_DIR) / "tests/data";
    testing::TemporaryFolder folder_;
};

/// Three steps of many ops, each with a launch and a kernel.
std::string longTrace()
{
    constexpr int kOpsOfStep = 6'000;
    constexpr int kSteps = 3;
    std::string text = R"({"traceEvents": [)";
    int number = 0;
    for (int step = 0; step < kSteps; ++step) {
        const int start = 1'000 + step * kOpsOfStep * 20;
        text += fmt::format(R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,)"
                            R"("ts":{},"dur":{}}},)",
                            step, start, kOpsOfStep * 20);
        for (int i = 0; i < kOpsOfStep; ++i) {
            const int at = start + 20 * i;
            ++number;
            text += fmt::format(
                R"({{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":{},"dur":9}},)", at);
            text +=
                fmt::format(R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,)"
                            R"("ts":{},"dur":4,"args":{{"correlation":{}}}}},)",
                            at + 2, number);
            text += fmt::format(
                R"({{"ph":"X","cat":"kernel","name":"add_kernel","pid":0,"tid":7,"ts":{},"dur":{},)"
                R"("args":{{"device":0,"stream":7,"correlation":{}}}}}{})",
                at + 7, 5 + number % 9, number, step + 1 == kSteps && i + 1 == kOpsOfStep ? "" : ",");
        }
    }
    return text + "]}";
}

TEST_F(StoredTotals, OfATrainingRunOfPyTorchShowWhatItsEventsShow)
{
    EXPECT_EQ(compareBothWays(imported({"kineto/ddp_rank0.json.gz"})), 1);
}

TEST_F(StoredTotals, OfTwoRanksShowWhatTheirEventsShow)
{
    EXPECT_EQ(compareBothWays(imported({"kineto/ddp_rank0.json.gz", "kineto/ddp_rank1.json.gz"})), 1);
}

TEST_F(StoredTotals, OfReplayedGraphsShowWhatTheirEventsShow)
{
    compareBothWays(imported({"kineto/compiled_graphs.json.gz"}));
}

TEST_F(StoredTotals, OfASnapshotShowWhatItsAllocationsShow)
{
    const fs::path file = imported({"memory_small2_train.pickle"});
    const query::CallTreeTable table =
        query::callTree(store::RunReader(file), {}, {.weight = CallWeight::Allocated});
    EXPECT_TRUE(table.whole);
    std::int64_t bytes = 0;
    for (const query::CallTreeRow& row : rowsOf(table.tree, 0))
        bytes += row.self;
    std::int64_t allocated = 0;
    for (const AllocEvent& event : store::RunReader(file).allocEvents({.run = RunId{1}}))
        allocated += event.action == AllocAction::Alloc ? event.bytes : 0;
    EXPECT_EQ(bytes, allocated);
    EXPECT_GT(bytes, 0);
    compareBothWays(file);
}

TEST_F(StoredTotals, OfRecordingsOfTilescopeShowWhatTheirEventsShow)
{
    for (const char* name : {"ranks/eight_ranks.tscope", "store/version-9.tscope", "store/version-10.tscope",
                             "store/version-11.tscope"})
        compareBothWays(copied(name));
}

/// Programs that run for days number their launches beyond any limit of a table, and ranks number theirs alike.
TEST_F(StoredTotals, CountWorkWhateverNumbersLaunchesHave)
{
    const fs::path file = folder_ / "high.tscope";
    RandomRun(2, true, 4'000'000'000).write(file);
    EXPECT_EQ(compareBothWays(file), 1);
}

TEST_F(StoredTotals, OfSimulatedProgramsShowWhatTheirEventsShow)
{
    for (std::uint64_t seed = 0; seed < simulator::kCases.size(); ++seed) {
        SCOPED_TRACE(simulator::kCases.at(seed));
        compareBothWays(simulated(seed));
    }
}

/// A file keeps what paths spend their time on with the number of the rules by which they were found. If this fails because paths are
/// found in another way, raise analysis::kPathRules and put the new digest here; if only the simulator changed, put the digest here.
TEST_F(StoredTotals, OfPathsAreOfTheseRules)
{
    std::string text;
    for (std::uint64_t seed = 0; seed < simulator::kCases.size(); ++seed)
        for (const store::StepPathTotal& total : pathTotalsOf(store::RunReader(simulated(seed)), RunId{1}))
            text += fmt::format("{} {}:{}\n", total.step.value_or(kNoStep), total.process.value,
                                partsText(total.parts));
    EXPECT_EQ(analysis::kPathRules, 2);
    EXPECT_EQ(sha256(text).substr(0, 16), "20b6fbd139e90a1e");
}

TEST_F(StoredTotals, OfPathsByOtherRulesAreNotUsed)
{
    for (const std::int64_t rules : {analysis::kPathRules, analysis::kPathRules + 1}) {
        const fs::path file = simulated(3);
        const std::string fromEvents = pathText(store::RunReader(file), RunId{1});
        std::vector<store::StepPathTotal> totals = pathTotalsOf(store::RunReader(file), RunId{1});
        totals.front().parts[analysis::PathPart::Host] += Nanoseconds(1);
        store::writePathTotals(file, RunId{1}, totals, rules);
        const bool isUsed = pathText(store::RunReader(file), RunId{1}) != fromEvents;
        EXPECT_EQ(isUsed, rules == analysis::kPathRules);
        EXPECT_EQ(store::RunReader(file).pathTotals(RunId{1}).empty(), !isUsed);
        fs::remove(file);
    }
}

TEST_F(StoredTotals, OfPathsAreStoredWithLargeImportsAndStayWithCopies)
{
    std::vector<fs::path> files;
    const std::string text = longTrace();
    std::ofstream(files.emplace_back(folder_ / "long.json")) << text;
    const fs::path file = folder_ / "long.tscope";
    importFiles(files, file);
    const std::vector<store::StepPathTotal> totals = store::RunReader(file).pathTotals(RunId{1});
    EXPECT_EQ(totals.size(), 3U);
    store::compact(file);
    EXPECT_EQ(store::RunReader(file).pathTotals(RunId{1}), totals);
    const std::string stored = pathText(store::RunReader(file), RunId{1});
    {
        const StringTable strings;
        store::WritableFile target(file, strings);
        target.begin();
        target.database().exec("delete from path_total");
        target.database().exec("delete from chunk where source = 'path_total'");
        target.commit();
        target.seal();
    }
    EXPECT_TRUE(store::RunReader(file).pathTotals(RunId{1}).empty());
    EXPECT_EQ(pathText(store::RunReader(file), RunId{1}), stored);
}

/// Without them, the recording is whole.
TEST_F(StoredTotals, OfPathsThatCannotBeStoredLoseNoImport)
{
    std::vector<fs::path> files;
    std::ofstream(files.emplace_back(folder_ / "long.json")) << longTrace();
    const fs::path file = folder_ / "long.tscope";
    const fs::path moved = folder_ / "moved.tscope";
    const ImportResult result = importFiles(files, file, [&](double done) {
        if (done >= 1 && fs::exists(file) &&
            store::RunReader(file).runs().front().result.status == RunStatus::Ok)
            fs::rename(file, moved);
        return true;
    });
    ASSERT_TRUE(fs::exists(moved));
    fs::rename(moved, file);
    EXPECT_THAT(result.summary, ::testing::HasSubstr("the critical paths could not be stored"));
    const store::RunReader reader(file);
    EXPECT_TRUE(reader.pathTotals(RunId{1}).empty());
    EXPECT_EQ(pathTotalsOf(reader, RunId{1}).size(), 3U);
}

TEST_F(StoredTotals, OfAnyRunShowWhatItsEventsShow)
{
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(seed);
        const bool isRegular = seed % 2 == 0;
        const fs::path file = folder_ / fmt::format("{}.tscope", seed);
        RandomRun(seed, isRegular).write(file);
        EXPECT_EQ(compareBothWays(file), isRegular ? 1 : 0);
    }
}

} // namespace
} // namespace tilescope::exchange
