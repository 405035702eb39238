#include "core/trace/host/path_tree.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tilescope::trace {
namespace {

const PathNode* path(std::initializer_list<const char*> components)
{
    PathTree& tree = PathTree::instance();
    const PathNode* node = tree.root();
    for (const char* component : components)
        node = tree.child(node, component);
    return node;
}

std::string backwardOf(std::initializer_list<const char*> components)
{
    const PathNode* twin = PathTree::instance().backward(path(components));
    return twin ? twin->path : "none";
}

TEST(PathTree, JoinsComponents)
{
    EXPECT_EQ(path({"step", "forward", "layers.3"})->path, "step/forward/layers.3");
    EXPECT_EQ(path({"step", "forward", "layers.3"})->component, "layers.3");
    EXPECT_EQ(path({"step", "forward"}), path({"step", "forward"}));
    EXPECT_EQ(PathTree::instance().node(path({"step", "forward"})->id), path({"step", "forward"}));
}

TEST(PathTree, AStepStartsAPathOfItsOwn)
{
    EXPECT_EQ(path({"trace", "step", "forward"}), path({"step", "forward"}));
}

TEST(PathTree, NamesWithAChangingNumberDoNotGrowItWithoutLimit)
{
    PathTree tree(64);
    const PathNode* first = tree.child(tree.names(), "request 0");
    for (int i = 0; i < 1000; ++i)
        tree.child(tree.names(), "request " + std::to_string(i));
    EXPECT_EQ(tree.child(tree.names(), "request 0"), first);
    EXPECT_EQ(tree.child(tree.names(), "request 1001")->component, "request …");
    EXPECT_EQ(tree.child(tree.names(), "request 1002"), tree.child(tree.names(), "request 1003"));
    EXPECT_GT(tree.merged(), 900U);
    // Where the names have no number, those of their parent are all that is left.
    for (int i = 0; i < 1000; ++i)
        tree.child(tree.root(), std::to_string(i) + " of many");
    EXPECT_EQ(tree.child(tree.root(), "77777 of many"), tree.root());
    EXPECT_LT(tree.child(tree.names(), "request 1001")->id, 64U + 64U / 8);
}

TEST(PathTree, NamesAreNotPaths)
{
    PathTree& tree = PathTree::instance();
    const PathNode* name = tree.child(tree.names(), "step");
    EXPECT_EQ(name->path, "step");
    EXPECT_NE(name, path({"step"}));
}

TEST(PathTree, FindsThePathOfBackward)
{
    EXPECT_EQ(backwardOf({"step", "forward", "layers.3", "attention"}), "step/backward/layers.3/attention");
    EXPECT_EQ(backwardOf({"step", "forward"}), "step/backward");
    EXPECT_EQ(backwardOf({"step", "loss"}), "step/backward/loss");
    EXPECT_EQ(backwardOf({"step", "backward", "layers.3"}), "step/backward/layers.3") << "recomputed there";
    EXPECT_EQ(backwardOf({"step"}), "none");
    EXPECT_EQ(backwardOf({"warmup", "layers.3"}), "none");
}

TEST(PathTree, KnowsTheBackwardOnlyOnceAsked)
{
    const PathNode* node = path({"step", "forward", "never asked before"});
    EXPECT_EQ(PathTree::knownBackward(node), nullptr);
    const PathNode* twin = PathTree::instance().backward(node);
    EXPECT_EQ(PathTree::knownBackward(node), twin);
    const PathNode* none = path({"nowhere"});
    PathTree::instance().backward(none);
    EXPECT_EQ(PathTree::knownBackward(none), nullptr);
}

TEST(PathCache, AgreesWithTheTree)
{
    PathTree& tree = PathTree::instance();
    PathCache cache;
    // More than it holds, twice over, so that entries are replaced and found again.
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 3000; ++i) {
            const std::string component = "layers." + std::to_string(i);
            ASSERT_EQ(cache.child(tree.root(), component), tree.child(tree.root(), component));
            ASSERT_EQ(cache.child(tree.names(), component), tree.child(tree.names(), component));
        }
    }
}

TEST(PathTree, ThreadsInternTheSamePaths)
{
    std::vector<const PathNode*> found(4);
    std::vector<std::thread> threads;
    for (const PathNode*& mine : found) {
        threads.emplace_back([&mine] {
            PathCache cache;
            PathTree& tree = PathTree::instance();
            for (int i = 0; i < 500; ++i) {
                mine = cache.child(tree.root(), "shared." + std::to_string(i));
                tree.backward(cache.child(tree.child(tree.child(tree.root(), "step"), "forward"), "m"));
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    for (const PathNode* node : found)
        EXPECT_EQ(node, found[0]);
}

} // namespace
} // namespace tilescope::trace
