#include "core/trace/assembly/graph_description.h"

#include <gtest/gtest.h>

#include <map>

namespace tilescope::trace {

namespace {

using Kind = GraphNodeFacts::Kind;

class GraphDescriptionTest : public ::testing::Test {
protected:
    std::uint64_t add(Kind kind, const std::string& path, const std::string& kernel = {})
    {
        nodes_.push_back({.id = nodes_.size() + 1, .kind = kind, .kernel = kernel});
        paths_[nodes_.size()] = path;
        return nodes_.size();
    }
    GraphDescription describe() const
    {
        return describeGraph(7, nodes_,
                             [this](std::uint64_t node) { return std::string_view(paths_.at(node)); });
    }

    std::vector<GraphNodeFacts> nodes_;
    std::map<std::uint64_t, std::string> paths_;
};

TEST_F(GraphDescriptionTest, CountsWhatAReplayRuns)
{
    add(Kind::Kernel, "step");
    add(Kind::Kernel, "step");
    add(Kind::Copy, "step");
    add(Kind::Other, "step");
    EXPECT_EQ(describe().name, "CUDA graph 7: 2 kernels, 1 copy");
}

TEST_F(GraphDescriptionTest, BelongsToTheInnermostModuleThatContainsAllNodes)
{
    add(Kind::Kernel, "step/forward/Model/layers.1/attention");
    add(Kind::Kernel, "step/forward/Model/layers.1");
    add(Kind::Set, "");
    EXPECT_EQ(describe().path, "step/forward/Model/layers.1");
    add(Kind::Kernel, "step/forward/Model/layers.12");
    EXPECT_EQ(describe().path, "step/forward/Model");
}

TEST_F(GraphDescriptionTest, ListsKernelsByPathInTheirOrder)
{
    add(Kind::Kernel, "step/b", "_Z4gemmIfEvPT_");
    add(Kind::Kernel, "step/a", "_Z7softmaxPf");
    add(Kind::Kernel, "step/b", "_Z4gemmIfEvPT_");
    add(Kind::Kernel, "step/a", "_ZN2at12_GLOBAL__N_14copyEPf");
    add(Kind::Set, "");
    EXPECT_EQ(describe().nodes, "step/b: gemm x 2; step/a: softmax, at::copy; unknown place: memset");
}

TEST_F(GraphDescriptionTest, CutsLongLists)
{
    for (int i = 0; i < 2000; ++i)
        add(Kind::Kernel, "step/layers." + std::to_string(i), "gemm");
    const std::string nodes = describe().nodes;
    EXPECT_LT(nodes.size(), 9000U);
    EXPECT_TRUE(nodes.ends_with(" more places")) << nodes.substr(nodes.size() - 60);
}

TEST_F(GraphDescriptionTest, WithoutNodesHasItsNumber)
{
    EXPECT_EQ(describe().name, "CUDA graph 7");
    EXPECT_EQ(describe().path, "");
}

} // namespace

} // namespace tilescope::trace
