// The model and a toy on several ranks, in fp64, against one process with the sequences of all ranks.

#include "core/engine/lm/adamw.h"
#include "core/engine/lm/lm.h"
#include "core/engine/parallel/parallelism.h"
#include "core/engine/parallel/shard.h"
#include "core/engine/parallel/tensor_parts.h"
#include "core/model/text.h"
#include "tests/unit/engine/fixtures.h"
#include "tests/unit/engine/ranks_as_threads.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <map>

namespace tilescope::engine {

namespace {

using at::Tensor;
using test::Where;
using Tensors = std::map<std::string, Tensor>;

constexpr int kSteps = 3;

/// Relative error of a quantity computed in fp64: sums of fewer than 2^13 terms, each with a relative error of 2^-53, and
/// fewer than 2^5 operations that pass on the errors of the one before.
const double kRounding = std::ldexp(1, -53 + 13 + 5);

double largest(const Tensor& tensor)
{
    return tensor.numel() > 0 ? tensor.abs().max().item<double>() : 0;
}

ExperimentSpec parallelSpec(Parallel parallel, int ranks, int checkpointEvery)
{
    ExperimentSpec spec = test::tinyLm();
    spec.layers = 3;
    spec.vocab = 101;
    spec.dModel = 40; // with 3 ranks, most weights have uneven parts
    spec.heads = spec.kvHeads = 4;
    spec.dFf = 52;
    spec.mode = Mode::Train;
    spec.loss = LossKind::CrossEntropy;
    spec.parallel = parallel;
    spec.gpus = ranks;
    spec.bucket = Bytes{8 << 10};
    if (checkpointEvery > 0)
        spec.checkpointing = {Checkpointing::Kind::Block, checkpointEvery};
    return spec;
}

/// Tokens and targets of all batches in a step.
std::pair<Tensor, Tensor> batchTokens(const ExperimentSpec& spec, int batches, int step)
{
    at::Generator source = at::detail::createCPUGenerator(static_cast<std::uint64_t>(step));
    const Tensor all = at::randint(spec.vocab, {2, batches * spec.batch * spec.context}, source, at::kLong);
    return {all[0], all[1]};
}

/// The gradients after the first backward and the weights after kSteps, by name.
struct Course {
    Tensors gradients;
    Tensors weights;
};

/// A model and its training; `parallelism` is null for one process.
class Training {
public:
    Training(const ExperimentSpec& spec, const Device& device, Parallelism* parallelism, int batches,
             int mine)
        : spec_(spec), device_(device.torch()), parallelism_(parallelism), batches_(batches), mine_(mine),
          model_(spec, ops()), updated_(parallelism ? parallelism->updated() : ownWeights()),
          optimizer_(updated_, device.torch(), false)
    {
    }

    Course run()
    {
        Course course;
        for (int step = 0; step < kSteps; ++step) {
            dropGradients();
            backward(step);
            if (step == 0)
                for (const auto& [name, tensor] : updated_)
                    course.gradients[name] = tensor.grad().cpu().clone();
            optimizer_.step();
            if (parallelism_)
                parallelism_->finishUpdate();
        }
        for (const auto& [name, tensor] : updated_)
            course.weights[name] = tensor.detach().cpu().clone();
        return course;
    }

private:
    EagerOps ops() const
    {
        AttentionSpec call = attentionOf(spec_);
        const std::int64_t parts = gridOf(spec_).tensor;
        call.heads /= parts;
        call.kvHeads /= parts;
        return {spec_, at::device(device_).dtype(at::kDouble), call, at::kDouble, parallelism_};
    }

    std::vector<NamedTensor> ownWeights() const
    {
        std::vector<NamedTensor> weights;
        for (std::size_t i = 0; i < model_.parameters().size(); ++i)
            weights.push_back({model_.parameterNames()[i], model_.parameters()[i]});
        return weights;
    }

    void dropGradients()
    {
        if (parallelism_)
            parallelism_->dropGradients();
        else
            for (const NamedTensor& weight : updated_)
                weight.tensor.mutable_grad().reset();
    }

    void backward(int step)
    {
        const auto [tokens, targets] = batchTokens(spec_, batches_, step);
        const std::int64_t count = parallelism_ ? spec_.batch * spec_.context : tokens.numel();
        if (parallelism_)
            parallelism_->beginForward();
        const Tensor logits = model_.forward(tokens.narrow(0, mine_ * count, count).to(device_));
        if (parallelism_)
            parallelism_->endForward();
        const Tensor loss =
            at::cross_entropy_loss(logits, targets.narrow(0, mine_ * count, count).to(device_));
        if (parallelism_)
            parallelism_->beginBackward();
        const double share = parallelism_ ? 1.0 / batches_ : 1;
        torch::autograd::backward({loss}, {at::full({}, share, loss.options())});
        if (parallelism_)
            parallelism_->finishBackward();
    }

    ExperimentSpec spec_;
    at::Device device_;
    Parallelism* parallelism_;
    int batches_;
    int mine_;
    LanguageModel model_;
    std::vector<NamedTensor> updated_;
    AdamW optimizer_;
};

Course courseOfOneProcess(const ExperimentSpec& ranks, Where where)
{
    const int batches = gridOf(ranks).data;
    at::set_num_threads(1);
    ExperimentSpec spec = ranks;
    spec.parallel = Parallel::None;
    spec.gpus = 1;
    spec.batch *= batches;
    return Training(spec, test::deviceOf(where, 0), nullptr, 1, 0).run();
}

/// This rank's part of a weight or gradient of one process.
Tensor partOf(const ExperimentSpec& spec, const std::string& name, const Tensor& whole, int rank)
{
    const RankGrid grid = gridOf(spec);
    Tensor part = whole;
    for (const LinearMap& map : blockMaps(spec))
        if (name.ends_with(std::string("/") + map.name))
            part = cutOut(whole, map, grid.tensorOf(rank), grid.tensor);
    const ShardLayout layout{.elements = part.numel(), .ranks = grid.data};
    if (spec.parallel == Parallel::Zero1)
        return flatView(part).narrow(0, layout.begin(rank), layout.count(rank));
    if (spec.parallel == Parallel::Fsdp || spec.parallel == Parallel::FsdpTp)
        return engine::partOf(padded(flatView(part), layout), layout, grid.dataOf(rank));
    return part;
}

struct ParallelCase {
    Parallel parallel;
    int ranks;
    int checkpointEvery = 0;
    Where where = Where::Cpu;
};

std::string nameOf(const ::testing::TestParamInfo<ParallelCase>& info)
{
    std::string name = std::string(wordOf(info.param.parallel)) + "_" + std::to_string(info.param.ranks);
    if (info.param.checkpointEvery > 0)
        name += "_block" + std::to_string(info.param.checkpointEvery);
    if (info.param.where == Where::Gpus)
        name += "_on_gpus";
    std::ranges::replace_if(
        name, [](char c) { return c == '-' || c == '+'; }, '_');
    return name;
}

class ParallelModel : public ::testing::TestWithParam<ParallelCase> {};

} // namespace

TEST_P(ParallelModel, TrainsLikeOneProcessWithTheSequencesOfAllRanks)
{
    const Where where = GetParam().where;
    if (!test::hasDevices(where, GetParam().ranks))
        GTEST_SKIP() << "needs " << GetParam().ranks << " GPUs";
    const ExperimentSpec spec =
        parallelSpec(GetParam().parallel, GetParam().ranks, GetParam().checkpointEvery);
    const Course one = courseOfOneProcess(spec, where);
    const auto compare = [&](Ranks& ranks) {
        const RankGrid grid = gridOf(spec);
        const auto parallelism = makeParallelism(spec, ranks);
        Training training(spec, test::deviceOf(where, ranks.rank()), parallelism.get(), grid.data,
                          grid.dataOf(ranks.rank()));
        const Course course = training.run();
        ASSERT_FALSE(course.weights.empty());
        for (const auto& [name, gradient] : course.gradients) {
            const Tensor expected = partOf(spec, name, one.gradients.at(name), ranks.rank());
            const double scale = largest(one.gradients.at(name));
            EXPECT_LE(largest(gradient - expected), kRounding * scale) << name << " of rank " << ranks.rank();
            // AdamW divides a gradient by its size or by 1e-8, whichever is larger, and multiplies by 1e-3.
            EXPECT_LE(
                largest(course.weights.at(name) - partOf(spec, name, one.weights.at(name), ranks.rank())),
                kSteps * 1e-3 / 1e-8 * kRounding * scale)
                << name << " of rank " << ranks.rank();
        }
    };
    test::onRanks(spec.gpus, compare, where);
}

INSTANTIATE_TEST_SUITE_P(
    OnTheCpu, ParallelModel,
    ::testing::Values(ParallelCase{Parallel::DdpNaive, 2}, ParallelCase{Parallel::DdpFlat, 3},
                      ParallelCase{Parallel::Ddp, 2}, ParallelCase{Parallel::Ddp, 4},
                      ParallelCase{Parallel::OptimizerSharding, 2},
                      ParallelCase{Parallel::OptimizerSharding, 4}, ParallelCase{Parallel::Zero1, 2},
                      ParallelCase{Parallel::Zero1, 3}, ParallelCase{Parallel::Zero1, 4},
                      ParallelCase{Parallel::Fsdp, 2}, ParallelCase{Parallel::Fsdp, 3},
                      ParallelCase{Parallel::Fsdp, 4}, ParallelCase{Parallel::Fsdp, 2, 1},
                      ParallelCase{Parallel::Fsdp, 2, 2}, ParallelCase{Parallel::Tp, 2},
                      ParallelCase{Parallel::Tp, 4}, ParallelCase{Parallel::Tp, 2, 1},
                      ParallelCase{Parallel::FsdpTp, 4}, ParallelCase{Parallel::FsdpTp, 4, 2}),
    nameOf);

INSTANTIATE_TEST_SUITE_P(OnGpus, ParallelModel,
                         ::testing::Values(ParallelCase{Parallel::DdpNaive, 2, 0, Where::Gpus},
                                           ParallelCase{Parallel::DdpFlat, 2, 0, Where::Gpus},
                                           ParallelCase{Parallel::Ddp, 2, 0, Where::Gpus},
                                           ParallelCase{Parallel::OptimizerSharding, 2, 0, Where::Gpus},
                                           ParallelCase{Parallel::Zero1, 2, 0, Where::Gpus},
                                           ParallelCase{Parallel::Fsdp, 2, 0, Where::Gpus},
                                           ParallelCase{Parallel::Fsdp, 2, 2, Where::Gpus},
                                           ParallelCase{Parallel::Tp, 2, 0, Where::Gpus},
                                           ParallelCase{Parallel::FsdpTp, 4, 0, Where::Gpus}),
                         nameOf);

namespace {

/// A network of two products and a scale. The first weight is used twice, the scale is frozen, and sizes are odd.
class Toy {
public:
    /// \param seed  of the weights before they are placed
    Toy(int seed, Parallelism* parallelism)
    {
        at::Generator source = at::detail::createCPUGenerator(static_cast<std::uint64_t>(seed));
        const auto place = [&](const char* name, at::IntArrayRef shape, bool isFrozen) {
            const Tensor whole =
                at::randn(shape, source, at::dtype(at::kDouble)).set_requires_grad(!isFrozen);
            return parallelism ? parallelism->placed(name, whole, nullptr) : whole;
        };
        tied_ = place("tied", {7, 7}, false);
        scale_ = place("scale", {7}, true);
        last_ = place("last", {7, 3}, false);
        bias_ = place("bias", {1}, false);
    }

    Tensor forward(const Tensor& x) const
    {
        const Tensor hidden = at::relu(at::mm(at::relu(at::mm(x, tied_)) * scale_, tied_));
        return at::mm(hidden, last_) + bias_;
    }

    std::vector<NamedTensor> trained() const { return {{"tied", tied_}, {"last", last_}, {"bias", bias_}}; }
    const Tensor& scale() const { return scale_; }

private:
    Tensor tied_;
    Tensor scale_;
    Tensor last_;
    Tensor bias_;
};

constexpr int kRows = 4; // of a rank
constexpr int kToySteps = 10;
/// AdamW divides a gradient by 1e-8 at least and multiplies by 1e-3; the gradients are below 2^5 and have fewer than 2^8
/// roundings.
const double kToyRounding = kToySteps * 1e-3 / 1e-8 * std::ldexp(1, -53 + 8 + 5);

std::pair<Tensor, Tensor> batchOf(int step, int ranks)
{
    at::Generator source = at::detail::createCPUGenerator(static_cast<std::uint64_t>(step) + 100);
    return {at::randn({kRows * ranks, 7}, source, at::dtype(at::kDouble)),
            at::randn({kRows * ranks, 3}, source, at::dtype(at::kDouble))};
}

/// The weights after kToySteps.
Tensors trainedToy(Toy& toy, Parallelism* parallelism, int rank, int ranks)
{
    const std::vector<NamedTensor> updated = parallelism ? parallelism->updated() : toy.trained();
    AdamW optimizer(updated, at::kCPU, false);
    for (int step = 0; step < kToySteps; ++step) {
        const auto [x, y] = batchOf(step, ranks);
        for (const NamedTensor& weight : updated)
            weight.tensor.mutable_grad().reset();
        if (parallelism) {
            parallelism->dropGradients();
            parallelism->beginForward();
        }
        const std::int64_t rows = parallelism ? kRows : kRows * ranks;
        const Tensor loss =
            at::mse_loss(toy.forward(x.narrow(0, rank * rows, rows)), y.narrow(0, rank * rows, rows));
        if (parallelism)
            parallelism->beginBackward();
        torch::autograd::backward({loss}, {at::full({}, parallelism ? 1.0 / ranks : 1.0, at::kDouble)});
        if (parallelism)
            parallelism->finishBackward();
        optimizer.step();
        if (parallelism)
            parallelism->finishUpdate();
    }
    Tensors weights;
    for (const auto& [name, tensor] : updated)
        weights[name] = tensor.detach().clone();
    return weights;
}

struct ToyCase {
    Parallel parallel;
    int ranks;
    std::int64_t bucket = 1 << 20;
};

class ParallelToy : public ::testing::TestWithParam<ToyCase> {};

} // namespace

TEST_P(ParallelToy, TiesAndFreezesWeightsLikeOneProcess)
{
    const auto [parallel, size, bucket] = GetParam();
    ExperimentSpec spec = parallelSpec(parallel, size, 0);
    spec.layers = 1; // without weights
    spec.bucket = Bytes{bucket};
    Toy whole(0, nullptr);
    const Tensors expected = trainedToy(whole, nullptr, 0, size);
    test::onRanks(size, [&](Ranks& ranks) {
        const auto parallelism = makeParallelism(spec, ranks);
        Toy toy(ranks.rank(), parallelism.get());
        EXPECT_TRUE(at::equal(toy.scale(), whole.scale())) << "a frozen weight is that of rank 0";
        for (const auto& [name, weight] : trainedToy(toy, parallelism.get(), ranks.rank(), size))
            EXPECT_LE(largest(weight - partOf(spec, name, expected.at(name), ranks.rank())), kToyRounding)
                << name << " of rank " << ranks.rank();
        EXPECT_TRUE(at::equal(toy.scale(), whole.scale()));
        if (parallel == Parallel::Fsdp)
            return;
        for (const auto& [name, weight] : toy.trained()) {
            const Tensor ofFirst = weight.detach().clone();
            ranks.broadcast(ofFirst, 0).wait();
            EXPECT_TRUE(at::equal(weight, ofFirst)) << name << " of rank " << ranks.rank();
        }
    });
}

INSTANTIATE_TEST_SUITE_P(OnTheCpu, ParallelToy,
                         ::testing::Values(ToyCase{Parallel::DdpNaive, 2}, ToyCase{Parallel::DdpFlat, 2},
                                           ToyCase{Parallel::Ddp, 2, 1}, ToyCase{Parallel::Ddp, 2, 200},
                                           ToyCase{Parallel::Ddp, 2}, ToyCase{Parallel::Ddp, 4, 200},
                                           ToyCase{Parallel::OptimizerSharding, 2},
                                           ToyCase{Parallel::OptimizerSharding, 4},
                                           ToyCase{Parallel::Zero1, 2}, ToyCase{Parallel::Zero1, 4},
                                           ToyCase{Parallel::Fsdp, 2}, ToyCase{Parallel::Fsdp, 4}));

TEST(CutOut, DividesEachPackedMap)
{
    // Two maps of two columns side by side.
    const Tensor weight = at::arange(8, at::kDouble).view({2, 4});
    const LinearMap columns{
        .module = "", .name = "", .in = 2, .out = 4, .packed = 2, .division = LinearMap::Division::Columns};
    EXPECT_TRUE(
        at::equal(cutOut(weight, columns, 1, 2), at::stack({weight.select(1, 1), weight.select(1, 3)}, 1)));
    const LinearMap rows{
        .module = "", .name = "", .in = 2, .out = 4, .packed = 1, .division = LinearMap::Division::Rows};
    EXPECT_TRUE(at::equal(cutOut(weight, rows, 1, 2), weight.narrow(0, 1, 1)));
}

} // namespace tilescope::engine
