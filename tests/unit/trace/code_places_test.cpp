#include "core/trace/host/code_places.h"

#include "core/trace/host/host_log.h"
#include "core/trace/host/path_tree.h"
#include "core/trace/host/range.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tilescope::trace {
namespace {

/// The line that it is called from.
std::int64_t lineHere(std::source_location where = std::source_location::current())
{
    return where.line();
}

/// A range that is opened on behalf of a caller.
struct Opener {
    explicit Opener(std::string_view component, std::source_location where = std::source_location::current())
        : range(component, where)
    {
    }
    ScopedRange range;
};

/// Ranges that are opened while a recording is on.
class CodePlaces : public ::testing::Test {
protected:
    void SetUp() override { HostLogs::instance().start(1 << 8, 0); }
    void TearDown() override { HostLogs::instance().stop(); }

    static const PathNode* node(std::initializer_list<const char*> components)
    {
        PathTree& tree = PathTree::instance();
        const PathNode* node = tree.root();
        for (const char* component : components)
            node = tree.child(node, component);
        return node;
    }
    static CodePlace placeOf(std::initializer_list<const char*> components)
    {
        const PathNode* wanted = node(components);
        for (const CodePlace& place : codePlaces({wanted}))
            if (place.path == wanted->path)
                return place;
        return {};
    }
};

TEST_F(CodePlaces, NameTheFileLineAndFunctionThatOpenedARange)
{
    const std::int64_t line = lineHere() + 1;
    const ScopedRange range("places_a");
    const CodePlace place = placeOf({"places_a"});
    EXPECT_EQ(place.file, "tests/unit/trace/code_places_test.cpp");
    EXPECT_EQ(place.line, line);
    EXPECT_EQ(place.function,
              "tilescope::trace::CodePlaces_NameTheFileLineAndFunctionThatOpenedARange_Test::TestBody");
}

TEST_F(CodePlaces, AreOfTheCallerWhereAHelperOpensTheRange)
{
    const std::int64_t line = lineHere() + 1;
    const Opener opener("places_b");
    EXPECT_EQ(placeOf({"places_b"}).line, line);
}

TEST_F(CodePlaces, AreThoseOfTheLastOpening)
{
    // Another experiment of the same process may have a module of the same name.
    {
        const ScopedRange range("places_c");
    }
    const std::int64_t line = lineHere() + 1;
    const ScopedRange range("places_c");
    EXPECT_EQ(placeOf({"places_c"}).line, line);
}

TEST_F(CodePlaces, OfABackwardPathAreThoseOfItsForward)
{
    const ScopedRange step("step");
    const ScopedRange forward("forward");
    const std::int64_t line = lineHere() + 1;
    const ScopedRange module("places_d");
    EXPECT_EQ(placeOf({"step", "backward", "places_d"}).line, line);
    EXPECT_NE(placeOf({"step", "backward"}), placeOf({"step", "forward"})) << "a phase is not a module";
}

TEST_F(CodePlaces, ComeWithThoseOfTheRangesAround)
{
    const ScopedRange outer("places_e");
    const ScopedRange inner("inner");
    const PathNode* unopened = node({"places_e", "inner", "never opened"});
    const std::vector<CodePlace> places = codePlaces({unopened, node({"places_e", "inner"})});
    ASSERT_EQ(places.size(), 2u);
    EXPECT_EQ(places[0].path, "places_e");
    EXPECT_EQ(places[1].path, "places_e/inner");
    EXPECT_EQ(places[1].line, places[0].line + 1);
}

TEST(CodePlace, FunctionNamesAreQualifiedAndBare)
{
    // What GCC says, and what Clang does.
    EXPECT_EQ(
        functionName("at::Tensor tilescope::engine::{anonymous}::Lm::ffn(const at::Tensor&, int) const"),
        "tilescope::engine::Lm::ffn");
    EXPECT_EQ(functionName("at::Tensor tilescope::(anonymous namespace)::Lm::ffn(const at::Tensor &)"),
              "tilescope::Lm::ffn");
    EXPECT_EQ(functionName("virtual void a::B::settle()"), "a::B::settle");
    EXPECT_EQ(functionName("a::B::run()::<lambda(int)>"), "a::B::run");
    EXPECT_EQ(functionName("std::pair<int, void (*)(int)> a::f(std::function<void(int)>) [with T = int]"),
              "a::f");
    EXPECT_EQ(functionName("void a::B<T, U>::f(T) [with T = int; U = char]"), "a::B<T, U>::f");
    EXPECT_EQ(functionName("int a::{anonymous}::F::operator()(int) const"), "a::F::operator()");
    EXPECT_EQ(functionName("main"), "main");
    EXPECT_EQ(functionName(""), "");
}

TEST(CodePlace, FilesAreNamedWithinTheTreeWhereverItWasCompiled)
{
    for (const char* file : {"/home/core/tilescope/core/engine/lm/lm.cpp", "../../core/engine/lm/lm.cpp",
                             "../core/engine/lm/lm.cpp", "core/engine/lm/lm.cpp"})
        EXPECT_EQ(fileInTree(file), "core/engine/lm/lm.cpp");
    EXPECT_EQ(fileInTree("/src/tests/unit/trace/a_test.cpp"), "tests/unit/trace/a_test.cpp");
}

TEST(CodePlace, FilesOfOtherTreesKeepTheirNames)
{
    EXPECT_EQ(fileInTree("/usr/include/c++/12/vector"), "/usr/include/c++/12/vector");
}

} // namespace
} // namespace tilescope::trace
