#include "training_generator.h"

#include <algorithm>
#include <array>

namespace tilescope::bench {

namespace {

constexpr ThreadId kMain{31'415};
constexpr ThreadId kAutograd{31'416};
constexpr std::int64_t kWidth = 1024;
constexpr std::int64_t kHidden = 4096;
constexpr std::array<std::int64_t, 8> kLengths{512, 576, 640, 704, 768, 832, 896, 1024};

std::string tensor(std::initializer_list<std::int64_t> sizes)
{
    std::string text = "bf16[";
    for (const std::int64_t size : sizes)
        text += (text.ends_with('[') ? "" : ", ") + std::to_string(size);
    return text + "]";
}

} // namespace

TrainingGenerator::TrainingGenerator(StringTable& strings, Timestamp origin, std::uint64_t seed)
    : strings_(strings), state_(seed), time_(origin), gpuFree_(origin)
{
}

std::uint64_t TrainingGenerator::random(std::uint64_t below)
{
    // splitmix64
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return (z ^ (z >> 31)) % below;
}

void TrainingGenerator::range(const std::string& name, const Inner& inner)
{
    path_.push_back(path_.empty() ? name : path_.back() + "/" + name);
    Range made;
    made.id = RangeId{nextRange_++};
    made.parent = ranges_.empty() ? RangeId{} : ranges_.back();
    made.path = strings_.intern(path_.back());
    made.name = strings_.intern(name);
    made.thread = thread_;
    made.step = step_;
    made.start = time_ += Nanoseconds(400);
    const std::size_t place = batch_->ranges.size();
    batch_->ranges.push_back(made);
    ranges_.push_back(made.id);
    inner();
    ranges_.pop_back();
    path_.pop_back();
    batch_->ranges[place].end = time_ += Nanoseconds(200);
}

void TrainingGenerator::op(std::string_view name, const std::string& shapes, const Inner& inner)
{
    Op made;
    made.id = OpId{nextOp_++};
    made.parent = ops_.empty() ? OpId{} : ops_.back();
    made.name = strings_.intern(name);
    made.shapes = shapes.empty() ? StringId{} : strings_.intern(shapes);
    made.path = strings_.intern(path_.back());
    made.range = ranges_.back();
    made.thread = thread_;
    made.scope = thread_ == kAutograd ? OpScope::Backward : OpScope::Function;
    made.step = step_;
    made.start = time_ += Nanoseconds(300 + random(300));
    const std::size_t place = batch_->ops.size();
    batch_->ops.push_back(made);
    ops_.push_back(made.id);
    if (inner)
        inner();
    ops_.pop_back();
    batch_->ops[place].end = time_ += Nanoseconds(200 + random(800));
}

void TrainingGenerator::kernel(std::string_view name, std::int64_t nanoseconds)
{
    ApiCall call;
    call.name = strings_.intern("cudaLaunchKernel");
    call.kind = ApiKind::Launch;
    call.correlation = CorrelationId{nextCorrelation_++};
    call.range = ranges_.back();
    call.op = ops_.back();
    call.thread = thread_;
    call.step = step_;
    call.start = time_ += Nanoseconds(500 + random(500));
    call.end = time_ += Nanoseconds(1'500 + random(1'500));
    batch_->apiCalls.push_back(call);
    DeviceEvent event;
    event.name = strings_.intern(name);
    event.path = strings_.intern(path_.back());
    event.device = DeviceIndex{0};
    event.stream = StreamId{7};
    event.correlation = call.correlation;
    event.range = call.range;
    event.op = call.op;
    event.launchThread = thread_;
    event.step = step_;
    event.launch = {{static_cast<std::uint32_t>(length_), 1, 1}, {256, 1, 1}, {1, 1, 1}, 64, 0, 0, 0};
    event.launched = call.start;
    event.start = std::max(gpuFree_ + Nanoseconds(900), call.end + Nanoseconds(3'000));
    const auto vary = static_cast<std::uint64_t>(nanoseconds / 10 + 1);
    event.end = gpuFree_ = event.start + Nanoseconds(nanoseconds + static_cast<std::int64_t>(random(vary)));
    batch_->deviceEvents.push_back(event);
}

void TrainingGenerator::allocate(std::int64_t bytes)
{
    const auto add = [this](AllocEvent event) {
        event.allocated = allocated_;
        event.reserved = 1LL << 35;
        event.step = step_;
        event.time = time_ += Nanoseconds(150);
        batch_->allocEvents.push_back(event);
    };
    AllocEvent event;
    event.device = DeviceIndex{0};
    event.stream = StreamId{7};
    event.address = nextAddress_;
    event.bytes = bytes;
    event.category = strings_.intern(thread_ == kAutograd ? "gradients" : "activations");
    event.path = strings_.intern(path_.back());
    event.op = ops_.back();
    nextAddress_ += static_cast<std::uint64_t>(bytes);
    allocated_ += bytes;
    live_.push_back(event);
    add(event);
    if (live_.size() <= kBlocks)
        return;
    AllocEvent old = live_.front();
    live_.pop_front();
    old.action = AllocAction::FreeCompleted;
    allocated_ -= old.bytes;
    add(old);
}

void TrainingGenerator::product(std::string_view name, const std::string& left, const std::string& right)
{
    op(name, left + " " + right, [&] {
        op("aten::empty", "", [&] { allocate(8 * length_ * kWidth * 2); });
        kernel("nvjet_tst_128x256_64x4_2x1_v_bz_TNT", 90 * length_);
    });
}

void TrainingGenerator::linear(const std::string& left, const std::string& right)
{
    op("aten::linear", left + " " + right, [&] {
        op("aten::t", right, [&] { op("aten::transpose", right + " =0 =1"); });
        op("aten::view", left);
        product("aten::mm", left, right);
        op("aten::_unsafe_view", left);
    });
}

void TrainingGenerator::elementwise(std::string_view name, const std::string& shapes)
{
    op(name, shapes, [&] {
        op("aten::empty", "", [&] { allocate(8 * length_ * kWidth * 2); });
        kernel("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_" +
                   std::string(name) +
                   "<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor<c10::BFloat16>)",
               8 * length_);
    });
}

void TrainingGenerator::forwardLayer()
{
    const std::int64_t rows = 8 * length_;
    const std::string x = tensor({rows, kWidth});
    const std::string heads = tensor({8, 16, length_, 64});
    const auto norm = [&] {
        op("aten::rms_norm", x,
           [&] { elementwise("aten::_fused_rms_norm", x + " =[1024] bf16[1024] =1e-05"); });
    };
    range("norm1", norm);
    range("attention", [&] {
        range("qkv", [&] { linear(x, tensor({kWidth, 3 * kWidth})); });
        range("rope", [&] {
            for (int i = 0; i < 2; ++i) {
                elementwise("aten::mul", heads + " " + heads);
                elementwise("aten::mul", heads + " " + heads);
                elementwise("aten::add", heads + " " + heads + " =1");
            }
        });
        op("aten::scaled_dot_product_attention", heads + " " + heads + " " + heads, [&] {
            op("aten::_scaled_dot_product_flash_attention",
               heads + " " + heads + " " + heads + " =0 =true =false =none", [&] {
                   op("aten::_flash_attention_forward", "", [&] {
                       allocate(rows * kWidth * 2);
                       kernel("flash_fwd_kernel", 140 * length_);
                   });
               });
        });
        range("out", [&] { linear(x, tensor({kWidth, kWidth})); });
    });
    elementwise("aten::add", x + " " + x + " =1");
    range("norm2", norm);
    range("mlp", [&] {
        range("up", [&] { linear(x, tensor({kWidth, kHidden})); });
        range("gate", [&] { linear(x, tensor({kWidth, kHidden})); });
        elementwise("aten::silu", tensor({rows, kHidden}));
        elementwise("aten::mul", tensor({rows, kHidden}) + " " + tensor({rows, kHidden}));
        range("down", [&] { linear(tensor({rows, kHidden}), tensor({kHidden, kWidth})); });
    });
    elementwise("aten::add", x + " " + x + " =1");
}

void TrainingGenerator::backwardOf(const std::string& name, const Inner& inner)
{
    op("autograd::engine::evaluate_function: " + name, "", [&] { op(name, "", inner); });
}

void TrainingGenerator::backwardLayer()
{
    const std::int64_t rows = 8 * length_;
    const std::string x = tensor({rows, kWidth});
    const std::string heads = tensor({8, 16, length_, 64});
    const auto linearBackward = [&](std::int64_t in, std::int64_t out) {
        backwardOf("MmBackward0", [&] {
            product("aten::mm", tensor({in, rows}), tensor({rows, out}));
            product("aten::mm", tensor({rows, out}), tensor({out, in}));
        });
        backwardOf("torch::autograd::AccumulateGrad", [&] {
            elementwise("aten::add_", tensor({in, out}) + " " + tensor({in, out}) + " =1");
        });
    };
    range("mlp", [&] {
        range("down", [&] { linearBackward(kHidden, kWidth); });
        backwardOf("MulBackward0", [&] { elementwise("aten::mul", tensor({rows, kHidden})); });
        backwardOf("SiluBackward0", [&] { elementwise("aten::silu_backward", tensor({rows, kHidden})); });
        range("gate", [&] { linearBackward(kWidth, kHidden); });
        range("up", [&] { linearBackward(kWidth, kHidden); });
    });
    range("norm2",
          [&] { backwardOf("FusedRmsNormBackward0", [&] { elementwise("aten::mul", x + " " + x); }); });
    range("attention", [&] {
        range("out", [&] { linearBackward(kWidth, kWidth); });
        backwardOf("ScaledDotProductFlashAttentionBackward0", [&] {
            op("aten::_scaled_dot_product_flash_attention_backward",
               heads + " " + heads + " " + heads + " " + heads,
               [&] { kernel("flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", 330 * length_); });
        });
        range("rope", [&] {
            for (int i = 0; i < 4; ++i)
                backwardOf("MulBackward0", [&] { elementwise("aten::mul", heads + " " + heads); });
        });
        range("qkv", [&] { linearBackward(kWidth, 3 * kWidth); });
    });
    range("norm1",
          [&] { backwardOf("FusedRmsNormBackward0", [&] { elementwise("aten::mul", x + " " + x); }); });
}

void TrainingGenerator::optimizer()
{
    for (int i = 0; i < kLayers; ++i)
        op("aten::_fused_adamw_", "",
           [&] { kernel("multi_tensor_apply_kernel<FusedAdamMathFunctor>", 200'000); });
}

std::int64_t TrainingGenerator::next(TraceBatch& batch)
{
    batch.ranges.clear();
    batch.ops.clear();
    batch.apiCalls.clear();
    batch.deviceEvents.clear();
    batch.allocEvents.clear();
    batch_ = &batch;
    ++step_;
    length_ = kLengths[random(kLengths.size())];
    thread_ = kMain;
    range("step", [&] {
        range("forward", [&] {
            for (int i = 0; i < kLayers; ++i)
                range("layers." + std::to_string(i), [&] { forwardLayer(); });
        });
        thread_ = kAutograd;
        range("backward", [&] {
            for (int i = kLayers; i-- > 0;)
                range("layers." + std::to_string(i), [&] { backwardLayer(); });
        });
        thread_ = kMain;
        range("optimizer", [&] { optimizer(); });
        // loss.item() waits for the step.
        ApiCall wait;
        wait.name = strings_.intern("cudaStreamSynchronize");
        wait.kind = ApiKind::Synchronize;
        wait.thread = thread_;
        wait.step = step_;
        wait.start = time_;
        wait.end = time_ = std::max(time_, gpuFree_) + Nanoseconds(5'000);
        batch_->apiCalls.push_back(wait);
    });
    const auto events = batch.ranges.size() + batch.ops.size() + batch.apiCalls.size() +
                        batch.deviceEvents.size() + batch.allocEvents.size();
    batch.recordsChecked = static_cast<std::int64_t>(events);
    return batch.recordsChecked;
}

} // namespace tilescope::bench
