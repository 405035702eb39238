#include "core/analysis/waiting/host_cause.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace tilescope::analysis {
namespace {

/// The cause of a sample whose stack has these calls, outermost first.
HostCause causeOf(std::initializer_list<const char*> calls, std::uint32_t state = SampleState::kRan)
{
    std::vector<HostStack> stacks;
    for (const char* call : calls)
        stacks.push_back({.caller = stacks.empty() ? kNoStack : static_cast<std::uint32_t>(stacks.size()) - 1,
                          .function = call,
                          .line = 1});
    const std::uint32_t innermost = stacks.empty() ? kNoStack : static_cast<std::uint32_t>(stacks.size()) - 1;
    return HostCauses(stacks).of({.stack = innermost, .state = state});
}

TEST(HostCauses, FollowFromTheOutermostLibraryThatIsKnown)
{
    EXPECT_EQ(causeOf({"train.py(1): step"}), HostCause::Python);
    EXPECT_EQ(causeOf({"train.py(1): step", "torch/optim/adamw.py(5): step", "torch/utils/x.py(1): f"}),
              HostCause::Optimizer);
    EXPECT_EQ(causeOf({"train.py(1): step", "torch/utils/data/dataloader.py(5): __next__",
                       "data.py(3): __getitem__"}),
              HostCause::DataLoading);
    EXPECT_EQ(causeOf({"train.py(1): step", "/usr/lib/python3.11/logging/__init__.py(5): info"}),
              HostCause::Logging);
    EXPECT_EQ(causeOf({"train.py(1): step", "tqdm/std.py(5): update"}), HostCause::Logging);
    EXPECT_EQ(causeOf({"train.py(1): step", "torch/autograd/graph.py(5): _engine_run_backward"}),
              HostCause::Backward);
}

TEST(HostCauses, FollowFromTheStateOfTheThreadFirst)
{
    EXPECT_EQ(causeOf({"train.py(1): step"}, 0), HostCause::OffCore);
    EXPECT_EQ(causeOf({"train.py(1): step"}, SampleState::kLock), HostCause::InterpreterLock);
    EXPECT_EQ(causeOf({"train.py(1): step"}, SampleState::kCoreless), HostCause::OtherProcesses);
    EXPECT_EQ(causeOf({"train.py(1): step"}, SampleState::kCollects | SampleState::kRan),
              HostCause::GarbageCollection);
    EXPECT_EQ(causeOf({"train.py(1): step"}, SampleState::kInCall), HostCause::CudaCalls);
    EXPECT_EQ(causeOf({}), HostCause::Unexplained);
    EXPECT_EQ(causeOf({"train.py(1): step"}, SampleState::kInNative), HostCause::Native);
    EXPECT_EQ(causeOf({"torch/optim/adam.py(1): step"}, SampleState::kInNative), HostCause::Optimizer);
    EXPECT_EQ(causeOf({"torch/distributed/distributed_c10d.py(1): barrier"}, 0), HostCause::OtherRanks);
    EXPECT_EQ(causeOf({"torch/distributed/distributed_c10d.py(1): barrier"}), HostCause::Python) << "it runs";
    EXPECT_EQ(causeOf({"torch/autograd/graph.py(5): backward"}, 0), HostCause::Backward)
        << "another thread works";
}

TEST(HostCauses, OfAnImportedModuleAreThoseOfItsFunctions)
{
    const char* import = "<frozen importlib._bootstrap>(1349): _find_and_load";
    EXPECT_EQ(causeOf({"main.py(1): <module>", import, "train.py(1): <module>"}), HostCause::Import);
    EXPECT_EQ(causeOf({"main.py(1): <module>", import, "torch/nn/functional.py(1): <module>"}),
              HostCause::Import);
    EXPECT_EQ(causeOf({"main.py(1): <module>", import, "train.py(1): <module>", "train.py(9): step"}),
              HostCause::Python);
}

TEST(HostCauses, OfCallsFollowFromTheirNames)
{
    EXPECT_EQ(causeOfCall("cudaMalloc", false), HostCause::Allocator);
    EXPECT_EQ(causeOfCall("cuMemCreate", false), HostCause::Allocator);
    EXPECT_EQ(causeOfCall("cudaStreamSynchronize", true), HostCause::Synchronization);
    EXPECT_EQ(causeOfCall("cudaEventRecord", false), HostCause::CudaCalls);
}

TEST(HostCauses, HaveWordsThatCanBeReadBack)
{
    for (std::size_t i = 0; i < kHostCauses; ++i)
        EXPECT_EQ(hostCauseOf(wordOf(static_cast<HostCause>(i))), static_cast<HostCause>(i));
    EXPECT_FALSE(hostCauseOf("train.py"));
}

TEST(FunctionParts, AreFileNameAndFirstLine)
{
    const FunctionParts parts = partsOf("a(b)/train.py(12): step");
    EXPECT_EQ(parts.file, "a(b)/train.py");
    EXPECT_EQ(parts.name, "step");
    EXPECT_EQ(parts.firstLine, 12);
    EXPECT_EQ(partsOf("<built-in method mm>").name, "<built-in method mm>");
}

} // namespace
} // namespace tilescope::analysis
