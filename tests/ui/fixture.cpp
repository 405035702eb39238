#include "tests/ui/fixture.h"

#include "core/model/counter_track.h"
#include "core/model/processes.h"
#include "core/store/run_writer.h"
#include "tests/ui/metrics_of.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <utility>

namespace tilescope::test {

namespace {

constexpr ThreadId kMain{412};
constexpr ThreadId kAutograd{454};
constexpr StreamId kStream{7};
constexpr DeviceIndex kGpu{0};
constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kParameters = 131 * kMiB;
constexpr int kTracedBatch = 4; // LmFixture's

constexpr const char* kSgemm = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_"
                               "ffma_aligna4_alignc4_execute_kernel__5x_"
                               "cublas";
constexpr const char* kSgemmNt = "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize64x64x8_stage3_warpsize1x4x1_"
                                 "ffma_aligna4_alignc4_execute_kernel__5x_"
                                 "cublas";
constexpr const char* kCutlass =
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(cutlass_80_simt_"
    "sgemm_256x128_8x4_nn_align1::Params)";
constexpr const char* kMul =
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
    "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int, "
    "at::native::BinaryFunctor<float, "
    "float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul>)";
constexpr const char* kAdd = "void at::native::vectorized_elementwise_kernel<4, "
                             "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, "
                             "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)";
constexpr const char* kMean = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
                              "at::native::MeanOps<float, float, float, float>, "
                              "unsigned int, float, 4, 4> >(at::native::ReduceOp<float, "
                              "at::native::MeanOps<float, float, float, float>, unsigned "
                              "int, float, 4, 4>)";
constexpr const char* kSoftmax =
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 7, false, "
    "false>(float*, float const*, int, int, int, bool const*, int, bool)";
constexpr const char* kSoftmaxBackward =
    "void (anonymous namespace)::softmax_warp_backward<float, float, float, 7, "
    "false, false>(float*, float const*, float const*, int, int, int, bool "
    "const*)";
constexpr const char* kGather =
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, "
    "long, long, long, bool)";
constexpr const char* kAdamW =
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous "
    "namespace)::FusedAdamMathFunctor<float, 4, "
    "(at::native::ADAM_MODE)1, false> >(int)";
constexpr const char* kFlash = "void tilescope::flash_forward<64, 128, 64, float>(tilescope::FlashParams)";
constexpr const char* kFlashBackward =
    "void tilescope::flash_backward<64, 64, 64, float>(tilescope::FlashParams)";

// Walks the steps of the model, keeping the host's and the device's clocks.
class Recorder {
public:
    Recorder(const LmFixture& fixture, StringTable& strings) : fixture_(fixture), strings_(strings)
    {
        batch_.threads = {{kMain, strings_.intern("main")}, {kAutograd, strings_.intern("autograd")}};
    }

    TraceBatch record()
    {
        allocate(kParameters, "parameters");
        for (step_ = 0; step_ < fixture_.steps; ++step_) {
            range("step", [this] { step(); });
            now_ += 50'000;
        }
        finish();
        return std::move(batch_);
    }

private:
    void step()
    {
        range("forward", [this] {
            op("aten::embedding", kGather, 16'000, 3'000);
            for (int layer = 0; layer < fixture_.layers; ++layer)
                range("layers." + std::to_string(layer), [this] { forwardLayer(); });
            op("aten::linear", kCutlass, 22'000, 240'000, "[4, 128, 768] [13000, 768]");
            allocate(20 * kMiB, "activations");
        });
        range("loss", [this] {
            op("aten::_log_softmax", kSoftmax, 30'000, 13'000);
            op("aten::nll_loss_forward", kMean, 18'000, 3'000);
        });
        range("backward", [this] {
            thread_ = kAutograd;
            path_ = "step/backward/lm_head";
            backwardOf("step/forward", "aten::linear");
            op("autograd::engine::evaluate_function: MmBackward0", kSgemmNt, 40'000, 490'000,
               "[4, 128, 13000] [13000, 768]");
            path_.clear();
            for (int layer = fixture_.layers - 1; layer >= 0; --layer)
                backwardLayer(layer);
            thread_ = kMain;
        });
        range("optimizer", [this] {
            synchronize();
            op("aten::_fused_adamw_", kAdamW, 60'000, 140'000);
            synchronize(); // a step ends when the device has done its work
        });
        release();
    }

    void forwardLayer()
    {
        op("aten::pow", kMul, 12'000, 1'500);
        op("aten::mean", kMean, 14'000, 3'900);
        range("attention", [this] {
            for (int i = 0; i < 3; ++i)
                op("aten::linear", kSgemm, 20'000, 19'000);
            range("rope", [this] {
                op("aten::mul", kMul, 11'000, 2'400);
                op("aten::add", kAdd, 11'000, 1'600);
            });
            if (fixture_.backend == "naive") {
                range("scores", [this] {
                    op("aten::matmul", kSgemm, 30'000, 8'000);
                    op("aten::div", kMul, 12'000, 2'200);
                    op("aten::masked_fill", kMul, 22'000, 3'000);
                });
                range("softmax", [this] { op("aten::softmax", kSoftmax, 20'000, 4'000); });
                range("output", [this] { op("aten::matmul", kSgemm, 32'000, 7'000); });
                allocate(12 * kMiB, "activations");
            } else {
                range("flash", [this] { op("tilescope::attention", kFlash, 30'000, 6'300); });
            }
            op("aten::linear", kSgemm, 20'000, 19'000);
            allocate(6 * kMiB, "activations");
        });
        range("ffn", [this] {
            op("aten::linear", kCutlass, 20'000, 76'000, "[4, 128, 768] [4096, 768]");
            op("aten::silu", kMul, 11'000, 3'100);
            op("aten::mul", kMul, 11'000, 3'200);
            op("aten::linear", kCutlass, 20'000, 40'000, "[4, 128, 2048] [768, 2048]");
            allocate(18 * kMiB, "activations");
        });
    }

    // Backward ops carry the number of the forward op that made their node.
    void backwardLayer(int layer)
    {
        const std::string forward = "step/forward/layers." + std::to_string(layer);
        const std::string module = "step/backward/layers." + std::to_string(layer);
        path_ = module + "/ffn";
        backwardOf(forward + "/ffn", "aten::linear");
        op("autograd::engine::evaluate_function: MmBackward0", kSgemmNt, 40'000, 230'000);
        backwardOf(forward + "/ffn", "aten::silu");
        op("autograd::engine::evaluate_function: SiluBackward0", kMul, 22'000, 4'000);
        allocate(9 * kMiB, "gradients");
        path_ = module + "/attention";
        if (fixture_.backend == "naive") {
            backwardOf(forward + "/attention/output", "aten::matmul");
            op("autograd::engine::evaluate_function: BmmBackward0", kSgemmNt, 45'000, 16'000);
            backwardOf(forward + "/attention/softmax", "aten::softmax");
            op("autograd::engine::evaluate_function: SoftmaxBackward0", kSoftmaxBackward, 24'000, 4'400);
            backwardOf(forward + "/attention/scores", "aten::matmul");
            op("autograd::engine::evaluate_function: BmmBackward0", kSgemmNt, 45'000, 16'000);
        } else {
            backwardOf(forward + "/attention/flash", "tilescope::attention");
            op("autograd::engine::evaluate_function: AttentionBackward", kFlashBackward, 40'000, 14'000);
        }
        op("autograd::engine::evaluate_function: MmBackward0", kSgemmNt, 40'000, 116'000);
        op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", kAdd, 14'000, 2'000);
        allocate(9 * kMiB, "gradients");
        path_.clear();
    }

    void range(const std::string& name, const std::function<void()>& body)
    {
        Range made;
        made.id = RangeId{std::uint32_t(batch_.ranges.size())};
        made.parent = open_.empty() ? RangeId{} : open_.back();
        made.thread = kMain;
        made.step = step_;
        made.start = timestampAt(now_);
        const std::string outer = current_;
        current_ = outer.empty() ? name : outer + "/" + name;
        made.path = strings_.intern(current_);
        made.name = strings_.intern(outer.empty() ? "step_" + std::to_string(step_) : name);
        const std::size_t at = batch_.ranges.size();
        batch_.ranges.push_back(made);
        open_.push_back(made.id);
        now_ += 2'000;
        body();
        now_ += 2'000;
        batch_.ranges[at].end = timestampAt(now_);
        open_.pop_back();
        current_ = outer;
    }

    void op(const char* name, const char* kernel, std::int64_t host, std::int64_t device,
            const char* shapes = "[4, 128, 768] [768, 768]")
    {
        Op made;
        made.id = OpId{std::uint32_t(batch_.ops.size())};
        made.name = strings_.intern(name);
        made.shapes = strings_.intern(shapes);
        made.path = strings_.intern(path_.empty() ? current_ : path_);
        made.range = open_.back();
        made.thread = thread_;
        made.scope = thread_ == kAutograd ? OpScope::Backward : OpScope::Function;
        if (thread_ == kAutograd)
            made.sequence = std::exchange(backwardOf_, -1);
        else
            made.sequence = madeBy_[current_ + " " + name] = ++sequence_;
        made.step = step_;
        made.start = timestampAt(now_);
        made.end = timestampAt(now_ + host);
        const std::int64_t launched = now_ + host / 2;
        batch_.ops.push_back(made);
        call("cudaLaunchKernel", ApiKind::Launch, launched, launched + host / 5, made.id);
        deviceFree_ = std::max(deviceFree_, launched + host / 5 + 4'000) + 500;
        DeviceEvent event;
        event.name = strings_.intern(kernel);
        event.path = made.path;
        event.device = kGpu;
        event.stream = kStream;
        event.correlation = CorrelationId{correlation_};
        event.range = made.range;
        event.op = made.id;
        event.launchThread = thread_;
        event.step = step_;
        event.launch.grid = {96, 4, 1};
        event.launch.block = {128, 1, 1};
        event.launch.registersPerThread = 168;
        event.launch.staticShared = 49152;
        event.launched = timestampAt(launched);
        event.start = timestampAt(deviceFree_);
        event.end = timestampAt(deviceFree_ += device);
        batch_.deviceEvents.push_back(event);
        now_ += host + 3'000;
    }

    // The next op of the autograd thread is the backward of the last op of that name in that range.
    void backwardOf(const std::string& path, const char* op) { backwardOf_ = madeBy_.at(path + " " + op); }

    void call(const char* name, ApiKind kind, std::int64_t from, std::int64_t to, OpId op)
    {
        ApiCall made;
        made.name = strings_.intern(name);
        made.correlation = CorrelationId{++correlation_};
        made.kind = kind;
        made.range = open_.back();
        made.op = op;
        made.thread = thread_;
        made.step = step_;
        made.start = timestampAt(from);
        made.end = timestampAt(to);
        batch_.apiCalls.push_back(made);
    }

    void synchronize()
    {
        const std::int64_t until = std::max(now_, deviceFree_) + 3'000;
        call("cudaDeviceSynchronize", ApiKind::Synchronize, now_, until, {});
        now_ = until;
    }

    void allocate(std::int64_t bytes, const char* category)
    {
        allocated_ += bytes;
        reserved_ = std::max(reserved_, (allocated_ + 19 * kMiB) / (20 * kMiB) * 20 * kMiB);
        AllocEvent event = allocation(AllocAction::Alloc, bytes, category);
        live_.push_back(event);
        batch_.allocEvents.push_back(event);
    }

    // Frees what the step made.
    void release()
    {
        while (live_.size() > 1) {
            AllocEvent event = live_.back();
            live_.pop_back();
            allocated_ -= event.bytes;
            now_ += 1'000;
            event.time = timestampAt(now_);
            event.action = AllocAction::FreeCompleted;
            event.allocated = allocated_;
            event.reserved = reserved_;
            batch_.allocEvents.push_back(event);
        }
    }

    AllocEvent allocation(AllocAction action, std::int64_t bytes, const char* category)
    {
        AllocEvent event;
        event.time = timestampAt(now_);
        event.action = action;
        event.device = kGpu;
        event.address = 0x7f68'6300'0000ULL + std::uint64_t(allocated_ - bytes); // where the last one ended
        event.bytes = bytes;
        event.allocated = allocated_;
        event.reserved = reserved_;
        event.category = strings_.intern(category);
        event.path = strings_.intern(current_.empty() ? "setup" : current_);
        event.step = step_;
        return event;
    }

    void finish()
    {
        const auto byStart = [](const auto& a, const auto& b) { return a.start < b.start; };
        std::stable_sort(batch_.apiCalls.begin(), batch_.apiCalls.end(), byStart);
        batch_.recordsChecked = std::int64_t(batch_.deviceEvents.size() + batch_.ops.size());
    }

    const LmFixture& fixture_;
    StringTable& strings_;
    TraceBatch batch_;
    std::vector<RangeId> open_;
    std::vector<AllocEvent> live_;
    std::string current_, path_;
    std::map<std::string, std::int64_t> madeBy_; ///< sequence numbers by range and op
    std::int64_t sequence_ = 0;
    std::int64_t backwardOf_ = -1;
    ThreadId thread_ = kMain;
    int step_ = 0;
    std::int64_t now_ = 1'000'000'000;
    std::int64_t deviceFree_ = 0;
    std::int64_t allocated_ = 0;
    std::int64_t reserved_ = 0;
    std::uint32_t correlation_ = 1'092'000;
};

// A model of 34 million parameters, whose traced step does 75 GFLOP.
std::string specOf(const std::string& backend, int batch = kTracedBatch, bool isTraced = true)
{
    return R"({"workload":"lm","device":"cuda","seed":0,"mode":"train","precision":"fp32","backend":")" +
           backend + R"(","batch":)" + std::to_string(batch) + R"(,"warmup":5,"steps":12,"trace_steps":)" +
           (isTraced ? "2" : "0") + R"(,"trace":")" + (isTraced ? "full" : "off") +
           R"(","size":"small","layers":2,"d_model":768,"d_ff":2048,"vocab":13000,"heads":12,"context":128})";
}

void writeMachine(store::RunWriter& writer)
{
    const std::vector<EnvironmentEntry> environment = {
        {"gpu.name", "NVIDIA H200", ""},         {"gpu.0.name", "NVIDIA H200", ""},
        {"gpu.0.compute_capability", "9.0", ""}, {"gpu.0.multiprocessors", "132", ""},
        {"gpu.0.memory", "150754820096", "B"},   {"libtorch", "2.11.0", ""},
        {"torch.version", "2.11.0", ""}};
    writer.writeEnvironment(environment);
}

// The mean length of the ranges of a path, which are those of the traced steps.
std::int64_t meanLength(const TraceBatch& batch, const StringTable& strings, std::string_view path)
{
    std::int64_t sum = 0;
    std::int64_t count = 0;
    for (const Range& range : batch.ranges)
        if (strings.text(range.path) == path) {
            sum += (range.end - range.start).count();
            ++count;
        }
    return sum / count;
}

// Timed steps about a twentieth shorter than the traced ones, which vary by 3 %. A step of a larger batch
// takes longer, but not in proportion.
std::vector<Sample> samplesOf(const LmFixture& fixture, const TraceBatch& trace, const StringTable& strings)
{
    constexpr double kTracing = 1.05;
    std::mt19937 random(std::uint32_t(fixture.backend.front() + fixture.batch));
    const double larger = 0.2 + 0.8 * fixture.batch / kTracedBatch;
    const std::pair<Phase, const char*> phases[] = {
        {Phase::Step, "step"}, {Phase::Forward, "step/forward"}, {Phase::Backward, "step/backward"}};
    std::vector<Sample> samples;
    for (int i = 0; i < fixture.samples; ++i) {
        const double noise = 0.985 + 0.03 * double(random() % 1000) / 1000;
        for (const auto& [phase, path] : phases) {
            const auto wall = Nanoseconds(
                std::int64_t(double(meanLength(trace, strings, path)) / kTracing * larger * noise));
            const bool isStep = phase == Phase::Step;
            samples.push_back({i, SampleKind::Measure, phase, wall,
                               isStep ? std::optional(wall - Nanoseconds(20'000)) : std::nullopt});
        }
    }
    return samples;
}

// Of the timed steps.
std::int64_t medianStep(const std::vector<Sample>& samples)
{
    std::vector<std::int64_t> walls;
    for (const Sample& sample : samples)
        if (sample.phase == Phase::Step)
            walls.push_back(sample.wall.count());
    std::sort(walls.begin(), walls.end());
    return (walls[(walls.size() - 1) / 2] + walls[walls.size() / 2]) / 2;
}

// A GPU that draws more power from step to step, until its limit lowers the clocks.
std::vector<CounterTrack> countersOf(const LmFixture& fixture, const TraceBatch& batch)
{
    constexpr int kReadings = 24;
    const Timestamp start = batch.ranges.front().start;
    Timestamp end = start;
    for (const DeviceEvent& event : batch.deviceEvents)
        end = std::max(end, event.end);
    const bool isHot = fixture.backend == "naive";
    const auto track = [&](const char* name, const char* unit, auto valueAt, bool isOfGpu = true) {
        CounterTrack made{.name = name, .unit = unit, .end = end};
        if (isOfGpu)
            made.device = DeviceIndex{0};
        for (int i = 0; i < kReadings; ++i)
            made.points.push_back({start + (end - start) * i / kReadings,
                                   std::int64_t(valueAt(double(i) / kReadings) * kPartsOfCounterUnit)});
        return made;
    };
    const auto isLimited = [isHot](double share) { return isHot && share > 0.55 && share < 0.85; };
    return {track("SM clock", "Hz", [&](double x) { return isLimited(x) ? 1.755e9 : 1.98e9; }),
            track("Power", "W", [&](double x) { return std::min(700.0, 340 + (isHot ? 560 : 210) * x); }),
            track("Temperature", "°C", [&](double x) { return std::floor(48 + 9 * x); }),
            track("GPU utilisation", "%", [](double x) { return x < 0.1 ? 61.0 : 97.0; }),
            track("PCIe received", "B/s", [](double x) { return x < 0.2 ? 2.1e9 : 4.4e7; }),
            track(kPowerCapCounter, "%", [&](double x) { return isLimited(x) ? 100.0 : 0.0; }),
            track(
                "CPU use", "%", [](double x) { return 104 - 20 * x; }, false)};
}

void writeRun(store::RunWriter& writer, const LmFixture& fixture, StringTable& strings)
{
    const std::string spec = specOf(fixture.backend, fixture.batch, fixture.isTraced);
    writer.beginRun({"lm-small2", "lm", spec, "hash-" + spec, "Tilescope test"});
    writeMachine(writer);
    const TraceBatch batch = lmTrace(fixture, strings);
    const std::vector<Sample> samples = samplesOf(fixture, batch, strings);
    writer.writeSamples(samples);
    RunResult result;
    result.device = "cuda:0";
    result.parameters = 34'000'000;
    result.peakAllocated = Bytes{0};
    result.peakReserved = Bytes{0};
    for (const AllocEvent& event : batch.allocEvents) {
        result.peakAllocated = std::max(*result.peakAllocated, Bytes{event.allocated});
        result.peakReserved = std::max(*result.peakReserved, Bytes{event.reserved});
    }
    if (fixture.isTraced) {
        writer.write(batch);
        if (fixture.hasCounters)
            writer.writeCounterTracks(countersOf(fixture, batch));
        if (fixture.hasMetrics)
            writer.writeCounterTracks(metricsOf(batch, strings));
        result.traceOverhead = double(meanLength(batch, strings, "step")) / double(medianStep(samples));
    } else {
        // Parameters do not grow with the batch.
        for (std::optional<Bytes>* peak : {&result.peakAllocated, &result.peakReserved})
            *peak = Bytes{kParameters + ((*peak)->count - kParameters) * fixture.batch / kTracedBatch};
    }
    result.duration = Nanoseconds(2'000'000'000);
    writer.endRun(result);
}

} // namespace

TraceBatch lmTrace(const LmFixture& fixture, StringTable& strings)
{
    return Recorder(fixture, strings).record();
}

void writeLmFile(const std::filesystem::path& file, int steps)
{
    StringTable strings;
    store::RunWriter writer(file, strings);
    LmFixture fixture;
    fixture.steps = steps;
    writeRun(writer, fixture, strings);
    fixture.backend = "flash";
    writeRun(writer, fixture, strings);
    writer.beginRun({"lm-small2", "lm", specOf("sdpa"), "hash-sdpa", "Tilescope test"});
    RunResult result;
    result.status = RunStatus::Oom;
    result.reason = "out of memory in forward: asked for 64 GiB";
    result.device = "cuda:0";
    writer.endRun(result);
}

void writeGpuFile(const std::filesystem::path& file)
{
    StringTable strings;
    store::RunWriter writer(file, strings);
    for (const int batch : {kTracedBatch, 8, 16, 32})
        for (const char* backend : {"naive", "flash"}) {
            LmFixture fixture;
            fixture.backend = backend;
            fixture.batch = batch;
            fixture.isTraced = fixture.hasCounters = fixture.hasMetrics = batch == kTracedBatch;
            writeRun(writer, fixture, strings);
        }
    const std::string spec = specOf("naive", 65536, false); // its scores take 48 GiB a layer
    writer.beginRun({"lm-small2", "lm", spec, "hash-" + spec, "Tilescope test"});
    writeMachine(writer);
    RunResult result;
    result.status = RunStatus::Oom;
    result.reason = "out of memory in forward: asked for 48 GiB with 112 GiB allocated";
    result.device = "cuda:0";
    result.oom = OomInfo{.requested = Bytes{48 * 1024 * kMiB},
                         .allocated = Bytes{112 * 1024 * kMiB},
                         .reserved = Bytes{112 * 1024 * kMiB},
                         .phase = "forward"};
    writer.endRun(result);
}

namespace {

// Numbers of threads, streams, ids and correlations are unique in a run.
void becomeRank(TraceBatch& batch, int rank, StringTable& strings)
{
    const auto number = [rank](std::uint32_t value) {
        return value + 1'000'000U * static_cast<std::uint32_t>(rank);
    };
    const auto shift = Nanoseconds(250'000LL * rank);
    const auto move = [&](auto& event) {
        event.thread = ThreadId{number(event.thread.value)};
        event.start += shift;
        event.end += shift;
    };
    const auto renumber = [&](auto& id) {
        if (id)
            id = std::remove_reference_t<decltype(id)>{number(id.value)};
    };
    for (Range& range : batch.ranges) {
        move(range);
        renumber(range.id);
    }
    for (Op& op : batch.ops) {
        move(op);
        renumber(op.id);
        renumber(op.parent);
    }
    for (ApiCall& call : batch.apiCalls) {
        move(call);
        renumber(call.correlation);
    }
    const DeviceIndex device{static_cast<std::int16_t>(rank)};
    for (DeviceEvent& event : batch.deviceEvents) {
        event.start += shift;
        event.end += shift;
        if (event.launched != Timestamp{})
            event.launched += shift;
        event.device = device;
        renumber(event.stream);
        renumber(event.launchThread);
        renumber(event.correlation);
        renumber(event.op);
        renumber(event.range);
    }
    for (AllocEvent& event : batch.allocEvents) {
        event.time += shift;
        event.device = device;
        event.allocated += 64 * kMiB * rank;
        event.reserved += 64 * kMiB * rank;
        renumber(event.op);
    }
    for (ThreadName& thread : batch.threads) {
        thread.native = thread.thread.value;
        thread.thread = ThreadId{number(thread.thread.value)};
        thread.process = ProcessIndex{rank};
        thread.name = strings.intern(strings.text(thread.name));
    }
}

// A call for each range of the main thread, and the library's call between it and its children.
void addStacks(TraceBatch& batch, StringTable& strings)
{
    const ThreadId main = batch.ranges.front().thread;
    for (const Range& range : batch.ranges) {
        if (range.thread != main || range.end - range.start < Nanoseconds(4'000))
            continue;
        const std::string path(strings.text(range.path));
        const std::string own = path == "step" ? "train.py(41): step"
                                               : "model.py(" + std::to_string(10 + path.size()) +
                                                     "): " + path.substr(path.rfind('/') + 1);
        batch.frames.push_back({strings.intern(own), main, range.step, range.start, range.end});
        batch.frames.push_back({strings.intern("torch/nn/modules/module.py(1751): _call_impl"), main,
                                range.step, range.start + Nanoseconds(500), range.end - Nanoseconds(500)});
    }
    std::stable_sort(batch.frames.begin(), batch.frames.end(), [](const Frame& a, const Frame& b) {
        return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
}

} // namespace

void writeRanksFile(const std::filesystem::path& file)
{
    StringTable strings;
    store::RunWriter writer(file, strings);
    const char* spec =
        R"-({"workload":"trace","format":"trace of PyTorch's profiler (.json)","file":"two ranks"})-";
    writer.beginRun({"two ranks", "trace", spec, "hash-ranks", "Tilescope test"});
    RunTopology topology;
    topology.clocks = {{.id = ClockIndex{0}, .name = "node", .method = "same clock"}};
    RunResult result;
    result.device = "cuda:0";
    std::vector<TraceBatch> batches;
    for (int rank = 0; rank < 2; ++rank) {
        batches.push_back(lmTrace({}, strings));
        std::set<std::uint32_t> streams;
        for (const DeviceEvent& event : batches.back().deviceEvents)
            streams.insert(event.stream.value);
        if (rank == 0)
            addStacks(batches.back(), strings);
        becomeRank(batches.back(), rank, strings);
        const DeviceIndex device{static_cast<std::int16_t>(rank)};
        topology.processes.push_back({.id = ProcessIndex{rank},
                                      .pid = 1084 + rank,
                                      .host = "node",
                                      .name = "python",
                                      .rank = rank,
                                      .worldSize = 2,
                                      .clock = ClockIndex{0}});
        topology.devices.push_back({.id = device,
                                    .ordinal = rank,
                                    .name = "NVIDIA H200",
                                    .memory = Bytes{150'754'820'096},
                                    .multiprocessors = 132,
                                    .capability = "9.0"});
        for (const std::uint32_t stream : streams)
            topology.streams.push_back(
                {.device = device,
                 .id = StreamId{stream + 1'000'000U * static_cast<std::uint32_t>(rank)},
                 .process = ProcessIndex{rank},
                 .native = stream});
        for (const AllocEvent& event : batches.back().allocEvents) {
            result.peakAllocated = std::max(result.peakAllocated.value_or(Bytes{0}), Bytes{event.allocated});
            result.peakReserved = std::max(result.peakReserved.value_or(Bytes{0}), Bytes{event.reserved});
        }
    }
    writer.writeTopology(topology);
    for (const TraceBatch& batch : batches)
        writer.write(batch);
    writer.endRun(result);
}

void writeLargeFile(const std::filesystem::path& file, std::int64_t events, int streams)
{
    StringTable strings;
    store::RunWriter writer(file, strings);
    writer.beginRun({"large", "lm", specOf("naive"), "hash-large", "Tilescope test"});
    const char* names[] = {kSgemm, kSgemmNt, kCutlass, kMul, kAdd, kMean, kSoftmax, kGather, kAdamW};
    std::vector<StringId> ids;
    for (const char* name : names)
        ids.push_back(strings.intern(name));
    std::mt19937 random(1);
    std::vector<std::int64_t> free(static_cast<std::size_t>(streams), 0);
    constexpr std::int64_t kBatch = 100'000;
    std::int64_t now = 1'000'000'000;
    for (std::int64_t done = 0; done < events;) {
        TraceBatch batch;
        for (std::int64_t i = 0; i < std::min(kBatch, events - done); ++i) {
            const auto stream = std::size_t(random() % std::uint32_t(streams));
            now += std::int64_t(random() % 100);
            DeviceEvent event;
            event.name = ids[random() % ids.size()];
            event.device = kGpu;
            event.stream = StreamId{std::uint32_t(7 + stream)};
            event.step = 0;
            event.start = timestampAt(std::max(now, free[stream]));
            event.end = event.start + Nanoseconds(500 + std::int64_t(random() % 4000));
            free[stream] = nanosecondsOf(event.end);
            batch.deviceEvents.push_back(event);
        }
        std::sort(batch.deviceEvents.begin(), batch.deviceEvents.end(),
                  [](const DeviceEvent& a, const DeviceEvent& b) { return a.start < b.start; });
        done += std::int64_t(batch.deviceEvents.size());
        writer.write(batch);
    }
    RunResult result;
    result.device = "cuda:0";
    writer.endRun(result);
}

} // namespace tilescope::test
