#include "trace_source.h"

#include "core/trace/host/path_tree.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tilescope::bench {

namespace {

constexpr std::uint32_t kThread = 31'415;
constexpr int kModulesAPhase = 200;

/// As a compiler would mangle it: at::native::kernel_17<float>(int, float*, float*).
std::string mangledName(int number)
{
    const std::string function = "vectorized_elementwise_kernel_" + std::to_string(number);
    return "_ZN2at6native" + std::to_string(function.size()) + function + "IfEEviPT_S2_";
}

} // namespace

TraceSource::TraceSource(StringTable& strings)
    : decoder_(cupti_, strings), assembler_(strings, 0, 0), time_(nanosecondsOf(TraceClock::now())),
      gpuFree_(time_)
{
    trace::PathTree& tree = trace::PathTree::instance();
    const trace::PathNode* step = tree.child(tree.root(), "step");
    for (const char* phase : {"forward", "backward", "optimizer"})
        for (int i = 0; i < kModulesAPhase; ++i) {
            const trace::PathNode* layer =
                tree.child(tree.child(step, phase), "layers." + std::to_string(i / 8));
            const trace::PathNode* part = tree.child(layer, "part" + std::to_string(i % 8));
            modules_.push_back({.path = part->id, .name = part->id, .backward = phase[0] == 'b'});
        }
    for (int i = 0; i < 120; ++i)
        ops_.push_back(tree.child(tree.names(), "aten::op_" + std::to_string(i))->id);
    for (int i = 0; i < 250; ++i)
        kernelNames_.push_back(mangledName(i));
    for (std::uint32_t i = 0; i < 700; ++i) {
        CUpti_ActivityKernel10 record = trace::FakeCupti::kernelRecord(0, nullptr, {0, 0});
        record.gridX = static_cast<int>(i + 1);
        record.gridY = static_cast<int>(1 + i % 3);
        record.blockX = static_cast<int>(128 + 128 * (i % 4));
        record.registersPerThread = static_cast<std::uint16_t>(32 + i % 200);
        record.dynamicSharedMemory = static_cast<int>(64 * i);
        launches_.push_back(record);
    }
    decoder_.begin();
    assembler_.begin();
}

std::uint64_t TraceSource::random(std::uint64_t below)
{
    // splitmix64: fast enough to stay out of what is measured.
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return (z ^ (z >> 31)) % below;
}

TraceBatch TraceSource::next()
{
    for (std::int64_t i = 0; i < kEventsPerBatch / 10; ++i)
        playModule();
    decodeBuffer();
    TraceBatch batch = assembler_.take();
    batch.recordsChecked = kEventsPerBatch;
    return batch;
}

void TraceSource::playModule()
{
    const std::uint32_t id = nextRange_++;
    const Module& module = modules_[id % modules_.size()];
    if (id % modules_.size() == 0) {
        ++step_;
        stepRange_ = id;
    }
    trace::HostRecord record;
    record.kind = trace::HostRecord::Kind::Range;
    record.step = step_;
    record.context.path = module.path;
    record.range = {.id = id,
                    .parent = id == stepRange_ ? trace::kNone : stepRange_,
                    .name = module.name,
                    .start = time_,
                    .end = 0};
    for (int i = 0; i < 3; ++i)
        playOp(module, id, i == 0 ? 2 : 1);
    const trace::HostContext context{.path = module.path, .range = id, .op = nextOp_ - 1};
    playAllocation(AllocAction::Alloc, context);
    playAllocation(AllocAction::FreeCompleted, context);
    record.range.end = time_ += 100;
    assembler_.addHost(kThread, record);
}

void TraceSource::playOp(const Module& module, std::uint32_t range, int kernels)
{
    trace::HostRecord record;
    record.kind = trace::HostRecord::Kind::Op;
    record.step = step_;
    record.detail = static_cast<std::uint8_t>(module.backward ? OpScope::Backward : OpScope::Function);
    record.context = {.path = module.path, .range = range, .op = trace::kNone};
    record.op = {.id = nextOp_++,
                 .name = ops_[random(ops_.size())],
                 .ordinal = 0,
                 .shapes = trace::kNone,
                 .sequence = nextOp_,
                 .start = time_ += static_cast<std::int64_t>(300 + random(700)),
                 .end = 0};
    const trace::HostContext context{.path = module.path, .range = range, .op = record.op.id};
    for (int i = 0; i < kernels; ++i)
        playKernel(context);
    record.op.end = time_ += static_cast<std::int64_t>(500 + random(2'000));
    assembler_.addHost(kThread, record);
}

void TraceSource::playKernel(const trace::HostContext& context)
{
    trace::HostRecord launch;
    launch.kind = trace::HostRecord::Kind::Launch;
    launch.step = step_;
    launch.context = context;
    launch.launch = {.correlation = nextCorrelation_,
                     .ordinal = 0,
                     .time = time_ += static_cast<std::int64_t>(500 + random(1'000))};
    assembler_.addHost(kThread, launch);
    CUpti_ActivityKernel10 kernel = launches_[random(launches_.size())];
    kernel.correlationId = nextCorrelation_++;
    kernel.name = kernelNames_[random(kernelNames_.size())].c_str();
    gpuFree_ = std::max(gpuFree_ + 800, time_ + 4'000);
    kernel.start = static_cast<std::uint64_t>(gpuFree_);
    gpuFree_ += static_cast<std::int64_t>(1'000 + random(500));
    kernel.end = static_cast<std::uint64_t>(gpuFree_);
    put(kernel);
}

void TraceSource::playAllocation(AllocAction action, const trace::HostContext& context)
{
    const auto bytes = static_cast<std::int64_t>(512 * (1 + random(1 << 14)));
    allocated_ = std::clamp<std::int64_t>(allocated_ + (action == AllocAction::Alloc ? bytes : -bytes), 0,
                                          std::int64_t{1} << 34);
    const trace::DeviceAllocRecord record{.time = time_ += 200,
                                          .address = 0x7f00'0000'0000ULL + (random(1 << 20) << 9),
                                          .bytes = bytes,
                                          .allocated = allocated_,
                                          .reserved = std::int64_t{1} << 34,
                                          .context = context,
                                          .step = step_,
                                          .action = action};
    assembler_.addAllocation(record, DeviceIndex{0}, StreamId{7});
}

void TraceSource::put(const CUpti_ActivityKernel10& record)
{
    if (buffer_.data && buffers_.bytesEach() - buffer_.bytes < sizeof(record))
        decodeBuffer();
    if (!buffer_.data) {
        buffer_ = {.data = buffers_.request(), .bytes = 0, .context = nullptr, .stream = 7};
        if (!buffer_.data)
            throw std::logic_error("no activity buffer is free");
    }
    std::memcpy(buffer_.data + buffer_.bytes, &record, sizeof(record));
    buffer_.bytes += sizeof(record);
}

/// The way of every buffer: completed by CUPTI, taken, decoded and given back by the tracer's thread.
void TraceSource::decodeBuffer()
{
    if (!buffer_.data)
        return;
    buffers_.complete(buffer_);
    buffer_ = {};
    while (const auto filled = buffers_.take()) {
        decoder_.decode(*filled, assembler_);
        buffers_.giveBack(*filled);
    }
}

} // namespace tilescope::bench
