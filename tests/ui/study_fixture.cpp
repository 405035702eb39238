// Writes a study of attention on a CPU.

#include "core/store/run_writer.h"
#include "tests/ui/fixture.h"

#include <random>
#include <string>

namespace tilescope::test {

namespace {

constexpr ThreadId kMain{27156};
constexpr std::int64_t kKiB = 1 << 10;
constexpr std::int64_t kMiB = 1 << 20;

struct Point {
    const char* backend;
    int length;
    int heads;
    bool isTraced;
};

constexpr Point kPoints[] = {{"naive", 512, 1, true},        {"flash-torch", 512, 1, true},
                             {"naive", 128, 1, false},       {"naive", 256, 1, false},
                             {"flash-torch", 128, 1, false}, {"flash-torch", 256, 1, false},
                             {"flash-torch", 128, 2, false}, {"flash-torch", 256, 2, false}};

std::string specOf(const Point& point)
{
    return R"({"workload":"attention","device":"cpu","seed":0,"mode":"both","precision":"fp32","backend":")" +
           std::string(point.backend) + R"(","batch":2,"heads":)" + std::to_string(point.heads) +
           R"(,"d_head":64,"seq_len":)" + std::to_string(point.length) +
           R"(,"causal":true,"warmup":1,"steps":5,"trace":")" + (point.isTraced ? "kernels" : "off") + "\"}";
}

// One step: forward with attention, then backward. Tiled attention runs thousands of small ops.
class StepTrace {
public:
    StepTrace(const Point& point, StringTable& strings) : strings_(strings)
    {
        batch_.threads = {{kMain, strings_.intern("main")}};
        allocate(0x1000000, 4 * kMiB, "parameters", "step");
        const std::size_t step = open("step", "step_0");
        const std::size_t forward = open("step/forward", "forward");
        const std::size_t attention = open("step/forward/attention", "attention");
        const bool tiled = std::string_view(point.backend) != "naive";
        const int tiles = tiled ? 1237 : 1;
        // The matrix of scores, which tiled attention does not need.
        allocate(0x2000000, tiled ? 3 * kMiB : 400 * kMiB, "activations", "step/forward/attention");
        for (int tile = 0; tile < tiles; ++tile) {
            op("aten::bmm", tiled ? 20'000 : 44'000'000);
            op("aten::mul", 2'100);
            op("aten::masked_fill_", 2'300);
            op("aten::_softmax", tiled ? 3'000 : 43'000'000);
            op("aten::add_", 1'900);
            op("aten::as_strided", 300);
        }
        for (int small = 0; small < 40; ++small)
            allocate(0x4000000 + std::uint64_t(small) * 0x1000, 40 + small, "temporaries",
                     "step/forward/attention");
        close(attention);
        close(forward);
        const std::size_t backward = open("step/backward", "backward");
        for (int tile = 0; tile < tiles; ++tile) {
            op("aten::bmm", tiled ? 25'000 : 88'000'000);
            op("aten::_softmax_backward_data", tiled ? 3'000 : 35'000'000);
            op("aten::copy_", 1'700);
        }
        release(0x2000000);
        close(backward);
        close(step);
        batch_.recordsChecked = std::int64_t(batch_.ops.size());
    }

    TraceBatch take() { return std::move(batch_); }

private:
    std::size_t open(const char* path, const char* name)
    {
        Range range;
        range.id = RangeId{std::uint32_t(batch_.ranges.size())};
        range.parent = open_.empty() ? RangeId{} : open_.back();
        range.thread = kMain;
        range.step = 0;
        range.start = timestampAt(now_);
        range.path = strings_.intern(path);
        range.name = strings_.intern(name);
        path_ = range.path;
        open_.push_back(range.id);
        batch_.ranges.push_back(range);
        return batch_.ranges.size() - 1;
    }
    void close(std::size_t range)
    {
        batch_.ranges[range].end = timestampAt(now_ += 500);
        open_.pop_back();
    }
    void op(const char* name, std::int64_t length)
    {
        Op op;
        op.id = OpId{std::uint32_t(batch_.ops.size())};
        op.name = strings_.intern(name);
        op.shapes = strings_.intern("f32[2, 64, 64]");
        op.path = path_;
        op.range = open_.back();
        op.thread = kMain;
        op.step = 0;
        op.start = timestampAt(now_);
        op.end = timestampAt(now_ + length);
        batch_.ops.push_back(op);
        now_ += length + 300;
    }
    void allocate(std::uint64_t address, std::int64_t bytes, const char* category, const char* path)
    {
        allocated_ += bytes;
        addEvent(AllocAction::Alloc, address, bytes);
        batch_.allocEvents.back().category = strings_.intern(category);
        batch_.allocEvents.back().path = strings_.intern(path);
    }
    void release(std::uint64_t address)
    {
        for (const AllocEvent& event : batch_.allocEvents)
            if (event.address == address) {
                allocated_ -= event.bytes;
                return addEvent(AllocAction::FreeCompleted, address, event.bytes);
            }
    }
    void addEvent(AllocAction action, std::uint64_t address, std::int64_t bytes)
    {
        AllocEvent event;
        event.time = timestampAt(now_ += 100);
        event.action = action;
        event.address = address;
        event.bytes = bytes;
        event.allocated = allocated_;
        event.step = 0;
        batch_.allocEvents.push_back(event);
    }

    StringTable& strings_;
    TraceBatch batch_;
    std::vector<RangeId> open_;
    StringId path_;
    std::int64_t now_ = 1'000'000'000;
    std::int64_t allocated_ = 0;
};

void writePoint(store::RunWriter& writer, const Point& point, StringTable& strings)
{
    const std::string spec = specOf(point);
    writer.beginRun({"attention-study", "attention", spec, "hash-" + spec, "Tilescope test"});
    const std::vector<EnvironmentEntry> environment = {{"cpu.model", "Some processor", ""},
                                                       {"torch.version", "2.11.0", ""}};
    writer.writeEnvironment(environment);
    std::mt19937 random{std::uint32_t(point.length + point.heads)};
    std::vector<Sample> samples;
    const std::int64_t perPair = std::string_view(point.backend) == "naive" ? 740 : 262; // nanoseconds
    const std::int64_t base = std::int64_t(point.length) * point.length * point.heads * perPair;
    for (int i = 0; i < 5; ++i) {
        const auto noise = std::int64_t(random() % std::uint32_t(base / 10));
        const auto add = [&](Phase phase, std::int64_t length) {
            samples.push_back({i, SampleKind::Measure, phase, Nanoseconds(length + noise), {}});
        };
        add(Phase::Step, base);
        add(Phase::Forward, base * 2 / 5);
        add(Phase::Backward, base * 4 / 7);
    }
    writer.writeSamples(samples);
    RunResult result;
    result.device = "cpu";
    result.peakAllocated = Bytes{std::int64_t(point.length) * point.heads * 3 * kKiB};
    if (point.isTraced) {
        TraceBatch batch = StepTrace(point, strings).take();
        for (const AllocEvent& event : batch.allocEvents)
            result.peakAllocated = std::max(*result.peakAllocated, Bytes{event.allocated});
        writer.write(batch);
        // Noise is up to a tenth of the base.
        result.traceOverhead =
            double((batch.ranges.front().end - batch.ranges.front().start).count()) / (1.05 * double(base));
    }
    result.duration = Nanoseconds(1'000'000'000);
    writer.endRun(result);
}

} // namespace

void writeStudyFile(const std::filesystem::path& file)
{
    StringTable strings;
    store::RunWriter writer(file, strings);
    for (const Point& point : kPoints)
        writePoint(writer, point, strings);
    const Point tooLong{"naive", 16384, 8, false};
    const std::string spec = specOf(tooLong);
    writer.beginRun({"attention-study", "attention", spec, "hash-" + spec, "Tilescope test"});
    RunResult result;
    result.status = RunStatus::Oom;
    result.reason = "out of memory in forward: asked for 16 GiB with 48 MiB allocated and a limit of 8 GiB";
    result.device = "cpu";
    result.oom = OomInfo{.requested = Bytes{16384 * kMiB},
                         .allocated = Bytes{48 * kMiB},
                         .reserved = Bytes{48 * kMiB},
                         .phase = "forward"};
    writer.endRun(result);
}

} // namespace tilescope::test
