#include "core/query/advice/advice_table.h"

#include "core/base/error.h"
#include "core/query/steps/step_tables.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_ranks.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/query/random_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

namespace tilescope::query {

namespace {

using namespace tilescope::literals;
using analysis::AdviceRule;
using testing::FakeTrace;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kStepLength = 1'000'000;

/// Traces of two steps of 1 ms.
class AdviceTables : public ::testing::Test {
protected:
    using Plant = std::function<void(FakeTrace& trace, std::int64_t start)>;
    using Edit = std::function<void(TraceBatch& batch, StringTable& strings)>;

    /// \param plant  adds to each step; it gets the step's start
    /// \param edit   changes what was planted
    AdviceTable adviceFor(const Plant& plant, const Edit& edit = {}, bool withHopper = true)
    {
        FakeTrace trace;
        for (int step = 0; step < 2; ++step) {
            const std::int64_t start = 1'000'000 + kStepLength * step;
            trace.step(step, start, start + kStepLength);
            plant(trace, start);
        }
        return adviceOf(trace, edit, withHopper);
    }

    AdviceTable adviceOf(FakeTrace& trace, const Edit& edit, bool withHopper)
    {
        store::RunWriter writer(file_, trace.strings());
        writer.beginRun({"one", "lm", "{}", "hash", "test"});
        if (withHopper)
            writer.writeEnvironment(std::vector<EnvironmentEntry>{{"gpu.0.name", "NVIDIA H200", ""},
                                                                  {"gpu.0.compute_capability", "9.0", ""},
                                                                  {"gpu.0.multiprocessors", "132", ""}});
        TraceBatch batch = trace.batch();
        if (edit)
            edit(batch, trace.strings());
        writer.write(batch);
        RunResult result;
        result.device = withHopper ? "cuda:0" : "cpu";
        writer.endRun(result);
        const store::RunReader reader(file_);
        return advice(reader, {});
    }

    static const Advice* find(const AdviceTable& table, AdviceRule rule)
    {
        const auto found = std::ranges::find(table.rows, rule, &Advice::rule);
        return found == table.rows.end() ? nullptr : &*found;
    }
    /// The finding of the rule, whose evidence adds up to what is at stake.
    static Advice only(const AdviceTable& table, AdviceRule rule)
    {
        const Advice* const found = find(table, rule);
        EXPECT_TRUE(found) << wordOf(rule);
        if (!found)
            return {};
        Nanoseconds sum{0};
        for (const AdviceEvidence& row : found->evidence)
            sum += row.atStake;
        EXPECT_EQ(sum, found->atStake) << wordOf(rule);
        EXPECT_LE(found->atStake, table.wall);
        EXPECT_FALSE(found->sentence.empty());
        EXPECT_FALSE(found->bound.empty());
        EXPECT_FALSE(found->remedy.empty());
        return *found;
    }
    static bool isSilent(const AdviceTable& table, AdviceRule rule)
    {
        return std::ranges::find(table.silent, rule) != table.silent.end();
    }
    static std::string whyNot(const AdviceTable& table, AdviceRule rule)
    {
        const auto found = std::ranges::find(table.unjudged, rule, &UnjudgedRule::rule);
        return found == table.unjudged.end() ? std::string() : found->why;
    }

    /// A kernel from the step's first nanosecond on, launched at once.
    static void longKernel(FakeTrace& trace, std::int64_t start, std::int64_t length = kStepLength)
    {
        trace.kernel("norm_kernel", start, start + length).launchedAt(start).at("step/forward");
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "advice.tscope";
};

/// At stake by the rule, 0 without a finding.
Nanoseconds of(const AdviceTable& table, AdviceRule rule)
{
    const auto found = std::ranges::find(table.rows, rule, &Advice::rule);
    return found == table.rows.end() ? 0_ns : found->atStake;
}

} // namespace

TEST_F(AdviceTables, ABusyStepNeedsNone)
{
    const AdviceTable table =
        adviceFor([](FakeTrace& trace, std::int64_t start) { longKernel(trace, start); });
    EXPECT_THAT(table.rows, IsEmpty());
    EXPECT_EQ(table.steps, 2);
    EXPECT_EQ(table.wall, 2'000'000_ns);
    EXPECT_TRUE(isSilent(table, AdviceRule::LaunchBound));
    EXPECT_TRUE(isSilent(table, AdviceRule::ExposedCommunication));
    EXPECT_EQ(whyNot(table, AdviceRule::Synchronization), "no CUDA calls of the host were recorded");
    EXPECT_EQ(whyNot(table, AdviceRule::Recomputation), "no ops of backward were recorded");
}

TEST_F(AdviceTables, IdleTimeBeforeALaunchIsLaunchBound)
{
    const AdviceTable table = adviceFor([](FakeTrace& trace, std::int64_t start) {
        longKernel(trace, start, 700'000);
        trace.kernel("late", start + 900'000, start + 1'000'000)
            .launchedAt(start + 890'000)
            .at("step/forward/layers.3/ffn");
    });
    const Advice found = only(table, AdviceRule::LaunchBound);
    EXPECT_EQ(found.atStake, 380'000_ns) << "190 µs a step until the launch";
    EXPECT_DOUBLE_EQ(table.perStep(found.atStake), 190'000);
    EXPECT_DOUBLE_EQ(table.percent(found.atStake), 19);
    ASSERT_EQ(found.evidence.size(), 1U);
    EXPECT_EQ(found.evidence[0].name, "forward/layers.*/ffn");
    EXPECT_EQ(found.evidence[0].count, 2);
    const store::RunReader reader(file_);
    Nanoseconds launching{0};
    for (const StepRow& row : steps(reader, {}).rows)
        launching += row.partition.launching;
    EXPECT_EQ(found.atStake, launching) << "as in the table of steps";
}

TEST_F(AdviceTables, AWaitNamesTheFunctionOfTheProgram)
{
    const auto wait = [](FakeTrace& trace, std::int64_t start) {
        longKernel(trace, start, 700'000);
        trace.call("cudaStreamSynchronize", ApiKind::Synchronize, start + 500'000, start + 710'000);
        trace.call("cudaStreamWaitEvent", ApiKind::Synchronize, start + 720'000, start + 721'000);
        trace.kernel("late", start + 900'000, start + 1'000'000).launchedAt(start + 890'000);
    };
    const auto stacks = [](TraceBatch& batch, StringTable& strings) {
        for (const Range& step : batch.ranges)
            for (const auto& [name, from] :
                 std::vector<std::pair<std::string, std::int64_t>>{{"train.py(96): step", 0},
                                                                   {"torch/_tensor.py(1): item", 400'000},
                                                                   {"<built-in item>", 450'000}})
                batch.frames.push_back({strings.intern(name), ThreadId{1}, step.step,
                                        step.start + Nanoseconds(from), step.start + Nanoseconds(800'000)});
    };
    const AdviceTable table = adviceFor(wait, stacks);
    const Advice found = only(table, AdviceRule::Synchronization);
    EXPECT_EQ(found.atStake, 380'000_ns);
    ASSERT_EQ(found.evidence.size(), 1U);
    EXPECT_EQ(found.evidence[0].name, "cudaStreamSynchronize");
    EXPECT_EQ(found.evidence[0].place, "train.py(96): step");
    EXPECT_EQ(found.evidence[0].count, 2);
    EXPECT_EQ(found.evidence[0].total, 420'000_ns);
    EXPECT_FALSE(find(table, AdviceRule::LaunchBound)) << "it counts there only";
}

TEST_F(AdviceTables, AWaitBesideABusyGpuCostsNothing)
{
    const AdviceTable table = adviceFor([](FakeTrace& trace, std::int64_t start) {
        longKernel(trace, start);
        trace.call("cudaStreamSynchronize", ApiKind::Synchronize, start + 100'000, start + 900'000);
    });
    EXPECT_TRUE(isSilent(table, AdviceRule::Synchronization));
}

TEST_F(AdviceTables, LoadingDataLeavesTheGpuIdle)
{
    const AdviceTable table = adviceFor([](FakeTrace& trace, std::int64_t start) {
        trace.range("step/enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start,
                    start + 250'000);
        trace.kernel("norm_kernel", start + 300'000, start + kStepLength).launchedAt(start + 290'000);
    });
    EXPECT_EQ(only(table, AdviceRule::DataLoading).atStake, 500'000_ns);
    EXPECT_EQ(only(table, AdviceRule::LaunchBound).atStake, 80'000_ns) << "the rest of the gap";
}

TEST_F(AdviceTables, OnACpuLoadingIsJudgedAndTheGpuIsNot)
{
    const AdviceTable table = adviceFor(
        [](FakeTrace& trace, std::int64_t start) {
            trace.op("get_batch", start, start + 100'000).op("aten::mm", start + 100'000, start + 900'000);
        },
        {}, false);
    EXPECT_EQ(only(table, AdviceRule::DataLoading).atStake, 200'000_ns);
    EXPECT_EQ(whyNot(table, AdviceRule::LaunchBound), "no GPU activity was recorded");
    EXPECT_EQ(whyNot(table, AdviceRule::TensorCores), "no GPU activity was recorded");
}

TEST_F(AdviceTables, CopiesFromPageableMemoryAndExposedOnesAreToldApart)
{
    const auto withCopy = [this](const char* name, std::int64_t length) {
        return adviceFor(
            [=](FakeTrace& trace, std::int64_t start) {
                longKernel(trace, start, 800'000);
                trace.kernel(name, start + 750'000, start + 750'000 + length).launchedAt(start).on(8);
            },
            [](TraceBatch& batch, StringTable&) {
                for (DeviceEvent& event : batch.deviceEvents)
                    if (event.stream == StreamId{8}) {
                        event.kind = DeviceEventKind::Memcpy;
                        event.copy = CopyKind::HostToDevice;
                    }
            });
    };
    const AdviceTable pageable = withCopy("Memcpy HtoD (Pageable -> Device)", 150'000);
    EXPECT_EQ(only(pageable, AdviceRule::PageableCopy).atStake, 200'000_ns);
    EXPECT_TRUE(isSilent(pageable, AdviceRule::ExposedCopy));
    const AdviceTable pinned = withCopy("Memcpy HtoD (Pinned -> Device)", 150'000);
    EXPECT_TRUE(isSilent(pinned, AdviceRule::PageableCopy));
    EXPECT_EQ(only(pinned, AdviceRule::ExposedCopy).atStake, 200'000_ns);
    EXPECT_EQ(whyNot(withCopy("Memcpy HtoD", 150'000), AdviceRule::PageableCopy),
              "whether the host's memory is page-locked was not recorded");
    EXPECT_TRUE(isSilent(withCopy("Memcpy HtoD (Pinned -> Device)", 50'000), AdviceRule::ExposedCopy));
}

TEST_F(AdviceTables, CopiesThatNoKernelCouldHideAreAFindingOfTheirOwn)
{
    const AdviceTable table = adviceFor(
        [](FakeTrace& trace, std::int64_t start) {
            longKernel(trace, start, 30'000);
            trace.kernel("Memcpy HtoD (Pinned -> Device)", start + 30'000, start + kStepLength)
                .launchedAt(start);
        },
        [](TraceBatch& batch, StringTable& strings) {
            for (DeviceEvent& event : batch.deviceEvents)
                if (strings.text(event.name).starts_with("Memcpy")) {
                    event.kind = DeviceEventKind::Memcpy;
                    event.copy = CopyKind::HostToDevice;
                }
        });
    EXPECT_EQ(only(table, AdviceRule::HostCopies).atStake, 1'940'000_ns);
    EXPECT_EQ(table.rows.front().rule, AdviceRule::HostCopies) << "97 % of the step comes first";
    EXPECT_EQ(only(table, AdviceRule::ExposedCopy).atStake, 60'000_ns) << "kernels could hide no more";
}

TEST_F(AdviceTables, WhatAProcessDoesOnceIsStartUpAndNoLaunchBoundStep)
{
    FakeTrace trace;
    trace.call("cudaDeviceGetStreamPriorityRange", ApiKind::Other, 0, 29'000'000);
    trace.call("cudaFree", ApiKind::Memory, 29'000'000, 30'000'000);
    trace.call("cudaLaunchKernel", ApiKind::Launch, 30'000'000, 33'000'000);
    trace.kernel("norm_kernel", 33'100'000, 34'000'000).launchedAt(30'000'000);
    trace.kernel("norm_kernel", 34'100'000, 35'000'000).launchedAt(34'090'000);
    const AdviceTable table = adviceOf(
        trace,
        [](TraceBatch& batch, StringTable&) {
            batch.apiCalls.back().correlation = batch.deviceEvents.front().correlation;
        },
        true);
    const Advice found = only(table, AdviceRule::StartUp);
    EXPECT_EQ(found.atStake, 33'000'000_ns);
    EXPECT_THAT(found.sentence, HasSubstr("most for CUDA initialisation"));
    EXPECT_EQ(found.evidence.size(), 3U) << "two calls that initialise, and a kernel that is loaded";
    EXPECT_LT(of(table, AdviceRule::LaunchBound), 200'000_ns);
    EXPECT_EQ(of(table, AdviceRule::Fragmentation), 0_ns);
}

TEST_F(AdviceTables, LayoutsOfConvolutionsAreNamed)
{
    const AdviceTable table = adviceFor([](FakeTrace& trace, std::int64_t start) {
        trace.kernel("void cudnn::ops::nchwToNhwcKernel<float>(float*)", start, start + 100'000)
            .launchedAt(start);
        trace.kernel("sm80_xmma_fprop_implicit_gemm_f32", start + 100'000, start + kStepLength)
            .launchedAt(start);
    });
    EXPECT_EQ(only(table, AdviceRule::ConvolutionLayouts).atStake, 200'000_ns);
}

TEST_F(AdviceTables, StepsThatReplayNoGraphWhileOthersDoAreNamed)
{
    const auto plant = [](FakeTrace& trace, std::int64_t start) {
        for (int i = 0; i < 10; ++i)
            trace.kernel("norm_kernel", start + i * 100'000, start + i * 100'000 + 50'000)
                .launchedAt(start + i * 100'000 - 5'000);
    };
    const AdviceTable table = adviceFor(plant, [](TraceBatch& batch, StringTable&) {
        for (DeviceEvent& event : batch.deviceEvents)
            if (event.step == 0)
                event.graphNode = 1;
    });
    EXPECT_EQ(only(table, AdviceRule::EagerSteps).atStake, 500'000_ns);
    EXPECT_TRUE(isSilent(adviceFor(plant), AdviceRule::EagerSteps)) << "none replays a graph";
}

TEST_F(AdviceTables, SmallNeighboursCouldBeOneKernel)
{
    const AdviceTable table = adviceFor([](FakeTrace& trace, std::int64_t start) {
        longKernel(trace, start, 900'000);
        trace.kernel("add", start + 950'000, start + 956'000).launchedAt(start);
        trace.kernel("mul", start + 957'000, start + 965'000).launchedAt(start);
    });
    const Advice found = only(table, AdviceRule::SmallKernels);
    EXPECT_EQ(found.atStake, 14'000_ns) << "6 µs and the gap of 1 µs a step";
    EXPECT_THAT(found.sentence, HasSubstr("2 kernels in a step"));
}

TEST_F(AdviceTables, RemediesLeaveOutWhatIsDoneAlready)
{
    const auto smallKernels = [this](std::string_view first, std::string_view second) {
        return only(adviceFor([&](FakeTrace& trace, std::int64_t start) {
                        longKernel(trace, start, 800'000);
                        for (int i = 0; i < 6; ++i)
                            trace
                                .kernel(i % 2 == 0 ? first : second, start + 800'000 + 9'000 * i,
                                        start + 808'000 + 9'000 * i)
                                .launchedAt(start);
                    }),
                    AdviceRule::SmallKernels)
            .remedy;
    };
    constexpr std::string_view kAdd =
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)";
    constexpr std::string_view kForeach =
        "void at::native::(anonymous "
        "namespace)::multi_tensor_apply_kernel<at::native::TensorListMetadata<2>, "
        "at::native::BinaryOpScalarFunctor<float, 2, 1, 1> >(int)";
    constexpr std::string_view kFused =
        "void at::native::(anonymous "
        "namespace)::multi_tensor_apply_kernel<at::native::FusedOptimizerTensorListMetadata<4>, "
        "at::native::FusedAdamMathFunctor<float, 4> >(int)";
    EXPECT_EQ(smallKernels(kAdd, kForeach),
              "Fuse them: torch.compile for chains of element-wise work, a fused optimizer.");
    EXPECT_EQ(smallKernels(kAdd, kFused), "Fuse them: torch.compile for chains of element-wise work.");
    EXPECT_THAT(smallKernels(kAdd, "triton_poi_fused_add_0"), HasSubstr("outside of the compiled parts"));
    const std::string compiled = smallKernels("triton_poi_fused_add_0", "triton_red_fused_mean_1");
    EXPECT_THAT(compiled, HasSubstr("of TorchInductor, which has fused them already"));
    EXPECT_THAT(compiled, ::testing::Not(HasSubstr("torch.compile")));
    EXPECT_THAT(smallKernels("loop_multiply_fusion", "input_reduce_fusion_3"), HasSubstr("of XLA"));
    EXPECT_EQ(smallKernels("add", "mul"), "Fuse them: one kernel for a chain of element-wise work.")
        << "nothing tells whose program it is";
}

TEST_F(AdviceTables, ALaunchBoundStepThatReplaysGraphsIsNotToldToDoSo)
{
    const auto launchRemedy = [this](std::string_view name, int graphNodes) {
        return only(adviceFor(
                        [&](FakeTrace& trace, std::int64_t start) {
                            for (int i = 0; i < 10; ++i)
                                trace.kernel(name, start + i * 100'000, start + i * 100'000 + 50'000)
                                    .launchedAt(start + i * 100'000 - 5'000);
                        },
                        [&](TraceBatch& batch, StringTable&) {
                            for (std::size_t i = 0; i < batch.deviceEvents.size(); ++i)
                                if (i % 10 < static_cast<std::size_t>(graphNodes))
                                    batch.deviceEvents[i].graphNode = 1 + i % 10;
                        }),
                    AdviceRule::LaunchBound)
            .remedy;
    };
    EXPECT_THAT(launchRemedy("void at::native::add_kernel<float>(int)", 0),
                HasSubstr("torch.compile with mode reduce-overhead"));
    EXPECT_EQ(launchRemedy("add_kernel", 0),
              "Replay the step as a CUDA graph, or launch fewer and larger kernels.");
    EXPECT_THAT(launchRemedy("triton_poi_fused_add_0", 0), HasSubstr("is compiled already"));
    EXPECT_THAT(launchRemedy("loop_add_fusion", 0), HasSubstr("jax.jit"));
    EXPECT_THAT(launchRemedy("triton_poi_fused_add_0", 8),
                HasSubstr("CUDA graphs replay 80.0 % of the GPU's work already"));
}

TEST_F(AdviceTables, WhereTheHostDecidesShorterKernelsComeLast)
{
    // Busy for 80 % of the time, with products in fp32 that the tensor cores would do in a fraction of it.
    const auto plant = [](FakeTrace& trace, std::int64_t start) {
        for (int i = 0; i < 10; ++i)
            trace.kernel("ampere_sgemm_128x64_tn", start + 100'000 * i + 20'000, start + 100'000 * (i + 1))
                .launchedAt(start + 100'000 * i + 15'000);
    };
    const AdviceTable table = adviceFor(plant);
    EXPECT_EQ(table.rows.front().rule, AdviceRule::LaunchBound);
    const Advice products = only(table, AdviceRule::TensorCores);
    EXPECT_GT(products.atStake, table.rows.front().atStake);
    EXPECT_THAT(products.sentence, HasSubstr("Most steps are launch-bound"));
    // The GPU is busy, and the host ahead: now the products decide.
    const AdviceTable busy = adviceFor([](FakeTrace& trace, std::int64_t start) {
        for (int i = 0; i < 10; ++i)
            trace.kernel("ampere_sgemm_128x64_tn", start + 100'000 * i, start + 100'000 * (i + 1))
                .launchedAt(start);
    });
    EXPECT_EQ(busy.rows.front().rule, AdviceRule::TensorCores);
    EXPECT_THAT(busy.rows.front().sentence, ::testing::Not(HasSubstr("launch-bound")));
}

TEST_F(AdviceTables, KernelsThatOneGraphLaunchStartsAreReplayed)
{
    const auto plant = [](FakeTrace& trace, std::int64_t start) {
        trace.call("cudaGraphLaunch", ApiKind::Launch, start, start + 5'000);
        for (int i = 0; i < 10; ++i)
            trace.kernel("add_kernel", start + 10'000 + i * 80'000, start + 60'000 + i * 80'000)
                .launchedAt(start);
    };
    const AdviceTable table = adviceFor(plant, [](TraceBatch& batch, StringTable&) {
        for (ApiCall& call : batch.apiCalls)
            call.correlation = CorrelationId{static_cast<std::uint32_t>(100 + call.step)};
        for (DeviceEvent& event : batch.deviceEvents)
            event.correlation = CorrelationId{static_cast<std::uint32_t>(100 + event.step)};
    });
    EXPECT_THAT(only(table, AdviceRule::LaunchBound).remedy, HasSubstr("CUDA graphs replay 100 %"));
}

TEST_F(AdviceTables, LoadingByWorkersAsksForMoreOfThem)
{
    const auto remedyWith = [this](std::string_view iterator) {
        return only(adviceFor([&](FakeTrace& trace, std::int64_t start) {
                        trace.range("enumerate(DataLoader)#" + std::string(iterator) + ".__next__", start,
                                    start + 300'000);
                        longKernel(trace, start + 310'000, 690'000);
                    }),
                    AdviceRule::DataLoading)
            .remedy;
    };
    EXPECT_THAT(remedyWith("_SingleProcessDataLoaderIter"), HasSubstr("in other processes"));
    EXPECT_THAT(remedyWith("_MultiProcessingDataLoaderIter"),
                HasSubstr("Worker processes load the batches already"));
}

TEST_F(AdviceTables, LowOccupancyNamesTheLimit)
{
    const auto step = [](FakeTrace& trace, std::int64_t start) { longKernel(trace, start); };
    const auto withRegisters = [&](std::uint32_t registers) {
        return adviceFor(step, [=](TraceBatch& batch, StringTable&) {
            for (DeviceEvent& event : batch.deviceEvents) {
                event.launch.grid = {100'000, 1, 1};
                event.launch.block = {128, 1, 1};
                event.launch.registersPerThread = registers;
            }
        });
    };
    const Advice found = only(withRegisters(168), AdviceRule::LowOccupancy);
    EXPECT_EQ(found.atStake, 1'625'000_ns) << "52 of 64 warps cannot run";
    EXPECT_THAT(found.evidence[0].note, HasSubstr("limited by registers"));
    EXPECT_TRUE(isSilent(withRegisters(32), AdviceRule::LowOccupancy));
    EXPECT_EQ(whyNot(adviceFor(step), AdviceRule::LowOccupancy),
              "grids and blocks of launches were not recorded");
}

TEST_F(AdviceTables, Fp32ProductsCouldUseTensorCores)
{
    const auto product = [](const char* name) {
        return [=](FakeTrace& trace, std::int64_t start) {
            trace.kernel(name, start, start + kStepLength).launchedAt(start);
        };
    };
    // H200: 66.9 against 989.4 TFLOP/s.
    const Advice found = only(adviceFor(product("ampere_sgemm_128x64_tn")), AdviceRule::TensorCores);
    EXPECT_EQ(found.atStake.count(), std::llround(2'000'000 * (1 - 66.9 / 989.4)));
    EXPECT_TRUE(
        isSilent(adviceFor(product("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4>"
                                   "(cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4::Params)")),
                 AdviceRule::TensorCores));
}

TEST_F(AdviceTables, AConversionWithoutProductsIsACost)
{
    const AdviceTable table = adviceFor([](FakeTrace& trace, std::int64_t start) {
        longKernel(trace, start, 900'000);
        trace
            .kernel("void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda("
                    "at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
                    start + 900'000, start + 1'000'000)
            .launchedAt(start)
            .at("step/forward/layers.1/norm");
    });
    const Advice found = only(table, AdviceRule::Conversions);
    EXPECT_EQ(found.atStake, 200'000_ns);
    EXPECT_EQ(found.evidence[0].name, "forward/layers.*/norm");
}

TEST_F(AdviceTables, ForwardWithinBackwardIsRecomputation)
{
    const auto checkpointed = [this](std::int64_t sequence) {
        return adviceFor(
            [](FakeTrace& trace, std::int64_t start) {
                trace.op("CheckpointFunctionBackward", start, start + 500'000);
                const OpId backward = trace.lastOp();
                trace.op("aten::linear", start, start + 300'000, backward);
                longKernel(trace, start, 300'000);
                trace.by(trace.lastOp());
                trace.kernel("norm_kernel", start + 300'000, start + kStepLength)
                    .launchedAt(start)
                    .by(backward);
            },
            [sequence](TraceBatch& batch, StringTable&) {
                for (Op& op : batch.ops)
                    if (op.parent)
                        op.sequence = sequence;
                    else
                        op.scope = OpScope::Backward;
            });
    };
    EXPECT_EQ(only(checkpointed(8), AdviceRule::Recomputation).atStake, 600'000_ns);
    EXPECT_TRUE(isSilent(checkpointed(-1), AdviceRule::Recomputation));
}

TEST_F(AdviceTables, ForwardAttentionInBackwardIsRecomputedWithoutOps)
{
    const auto compiled = [this](const char* phase) {
        return adviceFor([phase](FakeTrace& trace, std::int64_t start) {
            trace.kernel("fmha_cutlassF_f32_aligned_64x64_rf_sm80", start, start + 200'000)
                .launchedAt(start)
                .at(std::string("step/") + phase);
            trace.kernel("triton_poi_fused_mul_0", start + 200'000, start + kStepLength)
                .launchedAt(start)
                .at("step/backward");
        });
    };
    EXPECT_EQ(only(compiled("backward"), AdviceRule::Recomputation).atStake, 400'000_ns);
    EXPECT_TRUE(isSilent(compiled("forward"), AdviceRule::Recomputation));
}

TEST_F(AdviceTables, WaitsOfTheMeasurementAreNotTheProgram)
{
    const auto waiting = [this](const char* path) {
        return adviceFor(
            [path](FakeTrace& trace, std::int64_t start) {
                trace.range(path, start, start + 600'000);
                longKernel(trace, start, 300'000);
                trace.call("cudaDeviceSynchronize", ApiKind::Synchronize, start + 200'000, start + 500'000);
                trace.kernel("norm_kernel", start + 600'000, start + kStepLength).launchedAt(start + 590'000);
            },
            [](TraceBatch& batch, StringTable&) {
                // The last range of each step is the one that was planted.
                for (std::size_t i = 0; i < batch.apiCalls.size(); ++i)
                    batch.apiCalls[i].range = batch.ranges[2 * i + 1].id;
            });
    };
    const AdviceTable own = waiting("step/forward");
    EXPECT_TRUE(isSilent(own, AdviceRule::Synchronization));
    EXPECT_TRUE(isSilent(own, AdviceRule::LaunchBound)) << "the wait emptied the queue";
    EXPECT_EQ(only(waiting("step/forward/loss"), AdviceRule::Synchronization).atStake, 580'000_ns)
        << "from the end of the kernel to the next launch";
}

TEST_F(AdviceTables, UnusedReservedMemoryIsFragmentation)
{
    const auto withUnused = [this](std::int64_t bytes) {
        return adviceFor(
            [](FakeTrace& trace, std::int64_t start) {
                longKernel(trace, start);
                trace.alloc(static_cast<std::uint64_t>(start), 100 << 20, start + 10);
            },
            [bytes](TraceBatch& batch, StringTable&) {
                for (AllocEvent& event : batch.allocEvents)
                    event.reserved = event.allocated + bytes;
            });
    };
    const Advice found = only(withUnused(64 << 20), AdviceRule::Fragmentation);
    EXPECT_EQ(found.bytes, 64_MiB);
    EXPECT_EQ(found.atStake, 0_ns);
    EXPECT_THAT(found.sentence, HasSubstr("no time"));
    EXPECT_TRUE(isSilent(withUnused(8 << 20), AdviceRule::Fragmentation));
}

TEST_F(AdviceTables, CallsOfTheDriverForMemoryCostIdleTime)
{
    const AdviceTable table = adviceFor([](FakeTrace& trace, std::int64_t start) {
        trace.call("cudaMalloc", ApiKind::Memory, start, start + 90'000);
        trace.call("cudaMemcpyAsync", ApiKind::Memory, start + 90'000, start + 95'000);
        trace.kernel("norm_kernel", start + 100'000, start + kStepLength).launchedAt(start + 95'000);
    });
    const Advice found = only(table, AdviceRule::Fragmentation);
    EXPECT_EQ(found.atStake, 180'000_ns);
    EXPECT_FALSE(found.bytes);
    EXPECT_EQ(found.evidence[0].name, "cudaMalloc");
}

TEST_F(AdviceTables, WithoutStepsTheRecordingIsOne)
{
    FakeTrace trace;
    trace.kernel("norm_kernel", 1'000'000, 1'100'000).launchedAt(1'000'000);
    trace.kernel("norm_kernel", 1'300'000, 1'400'000).launchedAt(1'290'000);
    const AdviceTable table = adviceOf(trace, {}, true);
    EXPECT_TRUE(table.isWhole);
    EXPECT_EQ(table.steps, 1);
    EXPECT_EQ(table.wall, 400'000_ns);
    EXPECT_EQ(table.perStep(table.wall), 400'000);
    EXPECT_EQ(AdviceTable{}.perStep(7_ns), 7) << "as everywhere, the sum is that of one step";
    EXPECT_EQ(only(table, AdviceRule::LaunchBound).atStake, 190'000_ns);
    EXPECT_EQ(whyNot(table, AdviceRule::DataLoading), "no host events were recorded");
}

/// What is at stake in all ranks is the sum of what is at stake in each. A rank leaves out what is little.
void expectSumOf(const std::vector<AdviceTable>& ranks, const Advice& finding)
{
    Nanoseconds sum{0};
    Nanoseconds leftOut{0};
    for (const AdviceTable& table : ranks) {
        const Nanoseconds atStake = of(table, finding.rule);
        sum += atStake;
        if (atStake.count() == 0)
            leftOut += Nanoseconds(
                std::llround(analysis::kLeastShareAtStake * static_cast<double>(table.wall.count())));
    }
    EXPECT_GE(finding.atStake, sum) << wordOf(finding.rule);
    EXPECT_LE(finding.atStake, sum + leftOut) << wordOf(finding.rule);
}

TEST_F(AdviceTables, FindingsAreOfTheMeanOfAllRanksUnlessOneIsAskedFor)
{
    testing::writeFakeRanks(file_, {});
    const store::RunReader reader(file_);
    const AdviceTable first = advice(reader, {}, {.rank = 0});
    EXPECT_EQ(first.rank, 0);
    EXPECT_EQ(first.process, "rank 0");
    EXPECT_EQ(first.steps, 8);
    const AdviceTable second = advice(reader, {}, {.rank = 1});
    EXPECT_EQ(second.process, "rank 1");
    EXPECT_THAT(only(second, AdviceRule::ExposedCommunication).command, HasSubstr("--rank 1"));
    // In each step: the gather of 0.4 ms, which rank 0 waits for nobody; the last all-reduce of 0.4 ms; and 2 ms in which
    // rank 0 waits for rank 1 in the all-reduce of layers.1.
    EXPECT_GT(only(first, AdviceRule::ExposedCommunication).atStake,
              only(second, AdviceRule::ExposedCommunication).atStake);
    const AdviceTable mean = advice(reader, {});
    EXPECT_FALSE(mean.rank);
    EXPECT_EQ(mean.process, "mean of 2 ranks");
    EXPECT_EQ(mean.steps, 16);
    EXPECT_EQ(mean.wall, first.wall + second.wall);
    const std::vector<AdviceTable> ranks{first, second};
    for (const Advice& finding : mean.rows)
        expectSumOf(ranks, finding);
    EXPECT_THROW(advice(reader, {}, {.rank = 9}), Error);
}

/// What is at stake by row of evidence.
std::map<std::string, std::int64_t> evidenceOf(const AdviceTable& table, AdviceRule rule)
{
    std::map<std::string, std::int64_t> rows;
    for (const Advice& finding : table.rows)
        if (finding.rule == rule)
            for (const AdviceEvidence& row : finding.evidence)
                rows[row.kind + ' ' + row.name + ' ' + row.place + ' ' + row.note] += row.atStake.count();
    return rows;
}

TEST_F(AdviceTables, TheMeanOfAllRanksIsTheMeanOfEveryRowOfEach)
{
    constexpr int kRanks = 3;
    writeRandomRanks(file_, kRanks, 4);
    const store::RunReader reader(file_);
    const AdviceTable mean = advice(reader, {});
    std::vector<AdviceTable> ofRanks;
    for (int rank = 0; rank < kRanks; ++rank)
        ofRanks.push_back(advice(reader, {}, {.rank = rank}));
    Nanoseconds wall{0};
    for (const AdviceTable& table : ofRanks)
        wall += table.wall;
    EXPECT_EQ(mean.wall, wall);
    std::size_t compared = 0;
    for (const Advice& finding : mean.rows) {
        SCOPED_TRACE(wordOf(finding.rule));
        expectSumOf(ofRanks, finding);
        const bool allHaveIt = std::ranges::all_of(
            ofRanks, [&](const AdviceTable& table) { return of(table, finding.rule).count() > 0; });
        if (!allHaveIt)
            continue;
        ++compared;
        std::map<std::string, std::int64_t> sums;
        double perStep = 0;
        for (const AdviceTable& table : ofRanks) {
            perStep += table.perStep(of(table, finding.rule)) / kRanks;
            for (const auto& [row, atStake] : evidenceOf(table, finding.rule))
                sums[row] += atStake;
        }
        EXPECT_NEAR(mean.perStep(finding.atStake), perStep, 1e-6);
        EXPECT_EQ(evidenceOf(mean, finding.rule), sums);
        EXPECT_EQ(only(mean, finding.rule).evidence.size(), sums.size());
    }
    EXPECT_GE(compared, 2U);
}

} // namespace tilescope::query
