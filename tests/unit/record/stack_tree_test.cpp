#include "app/record/stack_tree.h"

#include <gtest/gtest.h>

namespace tilescope::record {
namespace {

TEST(StackTree, GivesEqualStacksOneNumber)
{
    StackTree tree;
    const std::uint32_t main = tree.child(kNoString, {.name = 1, .line = 3});
    const std::uint32_t step = tree.child(main, {.name = 2, .line = 7});
    EXPECT_NE(main, step);
    EXPECT_EQ(tree.child(main, {.name = 2, .line = 7}), step);
    EXPECT_NE(tree.child(main, {.name = 2, .line = 8}), step);
    EXPECT_NE(tree.child(step, {.name = 2, .line = 7}), step);
    EXPECT_EQ(tree.takeNew([](std::uint32_t name) { return name; }).size(), 4U);
    EXPECT_TRUE(tree.takeNew([](std::uint32_t name) { return name; }).empty());
}

TEST(StackTree, GivesTheCallersStackWhereThereAreTooMany)
{
    StackTree tree(2);
    const std::uint32_t main = tree.child(kNoString, {.name = 1, .line = 3});
    const std::uint32_t step = tree.child(main, {.name = 2, .line = 7});
    EXPECT_EQ(tree.merged(), 0U);
    EXPECT_EQ(tree.child(main, {.name = 2, .line = 8}), main);
    EXPECT_EQ(tree.child(kNoString, {.name = 9, .line = 1}), kNoString);
    EXPECT_EQ(tree.child(main, {.name = 2, .line = 7}), step) << "it is known";
    EXPECT_EQ(tree.merged(), 2U);
    EXPECT_EQ(tree.takeNew([](std::uint32_t name) { return name; }).size(), 2U);
}

} // namespace
} // namespace tilescope::record
