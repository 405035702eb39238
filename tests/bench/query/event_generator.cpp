#include "event_generator.h"

#include <algorithm>
#include <string>

namespace tilescope::bench {

namespace {

constexpr int kModules = 200;
constexpr std::uint32_t kThread = 31'415; // and the next ones

} // namespace

EventGenerator::EventGenerator(StringTable& strings, Timestamp origin, std::uint64_t seed)
    : strings_(strings), state_(seed), time_(origin), gpuFree_(kStreams, origin)
{
    for (int i = 0; i < 250; ++i)
        kernelNames_.push_back(strings_.intern(
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_" + std::to_string(i) +
            "<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor<float>, std::array<char*, "
            "3ul>)"));
    for (int i = 0; i < 120; ++i)
        opNames_.push_back(strings_.intern("aten::op_" + std::to_string(i)));
    for (const char* phase : {"step/forward/layers.", "step/backward/layers.", "step/optimizer/layers."})
        for (int i = 0; i < kModules; ++i) {
            const std::string module = std::to_string(i / 8) + "/part" + std::to_string(i % 8);
            paths_.push_back(strings_.intern(phase + module));
            names_.push_back(strings_.intern("part" + std::to_string(i % 8)));
        }
    stepPath_ = strings_.intern("step");
    for (const char* category : {"parameters", "gradients", "activations", "temporaries"})
        categories_.push_back(strings_.intern(category));
    for (std::uint32_t i = 0; i < 700; ++i)
        launches_.push_back(
            {{i + 1, 1 + i % 3, 1}, {128 + 128 * (i % 4), 1, 1}, {1, 1, 1}, 32 + i % 200, 0, i * 64, 0});
}

std::uint64_t EventGenerator::random(std::uint64_t below)
{
    // splitmix64: fast enough not to affect the measurement.
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return (z ^ (z >> 31)) % below;
}

/// Ten events: a range with three ops and their four kernels, an allocation and a free.
void EventGenerator::step(TraceBatch& batch)
{
    const std::size_t module = module_;
    module_ = (module_ + 1) % paths_.size();
    if (module == 0)
        beginStep();
    Range range;
    range.id = RangeId{nextRange_++};
    range.parent = stepRange_.id;
    range.path = paths_[module];
    range.name = names_[module];
    range.thread = ThreadId{kThread};
    range.step = step_;
    range.start = time_;
    for (int i = 0; i < 3; ++i) {
        Op op;
        op.id = OpId{nextOp_++};
        op.parent = i == 0 ? OpId::none() : OpId{op.id.value - static_cast<std::uint32_t>(i)};
        op.name = opNames_[random(opNames_.size())];
        op.path = range.path;
        op.range = range.id;
        op.thread = ThreadId{kThread + range.id.value % kThreads};
        op.sequence = i == 0 ? op.id.value / 3 : -1;
        op.scope = module >= kModules && module < 2 * kModules ? OpScope::Backward : OpScope::Function;
        op.step = step_;
        op.start = time_ += Nanoseconds(300 + random(700));
        op.end = op.start + Nanoseconds(2'000 + random(20'000));
        batch.ops.push_back(op);
        for (int k = 0; k < (i == 0 ? 2 : 1); ++k) {
            DeviceEvent kernel;
            kernel.name = kernelNames_[random(kernelNames_.size())];
            kernel.path = range.path;
            kernel.device = DeviceIndex{0};
            kernel.correlation = CorrelationId{nextCorrelation_++};
            kernel.stream = StreamId{7 + kernel.correlation.value % kStreams};
            kernel.range = range.id;
            kernel.op = op.id;
            kernel.launchThread = op.thread;
            kernel.step = step_;
            kernel.launch = launches_[random(launches_.size())];
            kernel.launched = time_ += Nanoseconds(500 + random(1'000));
            Timestamp& free = gpuFree_[kernel.stream.value - 7];
            kernel.start = std::max(free + Nanoseconds(800), time_ + Nanoseconds(4'000));
            kernel.end = free = kernel.start + Nanoseconds(20'000 + random(30'000));
            batch.deviceEvents.push_back(kernel);
        }
    }
    allocate(batch, range);
    if (live_.size() > kBlocks)
        freeOldest(batch, range);
    else
        allocate(batch, range);
    range.end = time_ += Nanoseconds(100);
    batch.ranges.push_back(range);
    if (module_ == 0)
        endStep(batch);
}

void EventGenerator::beginStep()
{
    stepRange_ = {};
    stepRange_.id = RangeId{nextRange_++};
    stepRange_.path = stepRange_.name = stepPath_;
    stepRange_.thread = ThreadId{kThread};
    stepRange_.step = ++step_;
    stepRange_.start = time_;
}

/// Emits a range when it has ended, like a tracer.
void EventGenerator::endStep(TraceBatch& batch)
{
    stepRange_.end = time_;
    batch.ranges.push_back(stepRange_);
}

void EventGenerator::allocate(TraceBatch& batch, const Range& range)
{
    AllocEvent event;
    event.device = DeviceIndex{0};
    event.stream = StreamId{7};
    event.address = nextAddress_;
    event.bytes = static_cast<std::int64_t>(512 * (1 + random(1 << 14)));
    event.category = categories_[random(categories_.size())];
    event.path = range.path;
    event.op = OpId{nextOp_ - 1};
    event.step = step_;
    nextAddress_ += static_cast<std::uint64_t>(event.bytes);
    allocated_ += event.bytes;
    live_.push_back(event);
    addAllocation(batch, event);
}

void EventGenerator::freeOldest(TraceBatch& batch, const Range& range)
{
    AllocEvent event = live_.front();
    live_.pop_front();
    event.action = AllocAction::FreeCompleted;
    event.path = range.path;
    event.step = step_;
    allocated_ -= event.bytes;
    addAllocation(batch, event);
}

void EventGenerator::addAllocation(TraceBatch& batch, AllocEvent event)
{
    event.allocated = allocated_;
    event.reserved = 1LL << 35;
    event.time = time_ += Nanoseconds(200);
    batch.allocEvents.push_back(event);
}

void EventGenerator::next(TraceBatch& batch)
{
    batch.ranges.clear();
    batch.ops.clear();
    batch.apiCalls.clear();
    batch.deviceEvents.clear();
    batch.allocEvents.clear();
    for (int i = 0; i < kEventsPerBatch / 10; ++i)
        step(batch);
    batch.recordsChecked = kEventsPerBatch;
}

} // namespace tilescope::bench
