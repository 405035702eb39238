#include "core/base/error.h"
#include "core/engine/run/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::engine {

namespace {

using Kind = ReplayArgument::Kind;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

ReplayArgument tensor(std::vector<std::int64_t> sizes, std::string type = "f32",
                      std::vector<std::int64_t> strides = {})
{
    return {.kind = Kind::Tensor, .tensors = {{std::move(type), std::move(sizes), std::move(strides)}}};
}

ReplayArgument literal(std::string text)
{
    return {.kind = Kind::Literal, .literal = std::move(text)};
}

class Replay : public ::testing::Test {
protected:
    ReplayResult of(std::string op, std::vector<ReplayArgument> arguments, bool isPositional = true,
                    std::int64_t indices = 2)
    {
        return engine_.replay({.device = {DeviceRequest::Kind::Cpu},
                               .op = std::move(op),
                               .arguments = std::move(arguments),
                               .isPositional = isPositional,
                               .indices = indices,
                               .samples = 2});
    }
    std::string refusal(std::string op, std::vector<ReplayArgument> arguments, bool isPositional = true)
    {
        try {
            of(std::move(op), std::move(arguments), isPositional);
        } catch (const Error& error) {
            return error.sentence();
        }
        return {};
    }

    StringTable strings_;
    Engine engine_{strings_};
};

} // namespace

TEST_F(Replay, ChoosesTheOverloadThatAcceptsTheArguments)
{
    const ReplayResult product = of("aten::mm", {tensor({8, 4}), tensor({4, 6}, "f32", {1, 4})});
    EXPECT_THAT(product.samplesNs, SizeIs(2));
    EXPECT_THAT(product.samplesNs, Each(Gt(0)));
    EXPECT_GT(product.calls, 0);
    EXPECT_EQ(product.device, "cpu");
    EXPECT_FALSE(product.isGraphed);
    EXPECT_THAT(product.signature, HasSubstr("aten::mm("));
    EXPECT_THAT(of("aten::add", {tensor({8}), tensor({8}), literal("1")}).signature,
                HasSubstr("aten::add.Tensor("));
    EXPECT_THAT(
        of("aten::sum", {tensor({8, 4}), literal("[1]"), literal("false"), literal("none")}).signature,
        HasSubstr("dim_IntList"));
    EXPECT_THAT(of("aten::_softmax", {tensor({8, 4}), literal("-1"), literal("false")}).samplesNs, SizeIs(2));
    EXPECT_THAT(of("aten::cat", {{.kind = Kind::List, .tensors = {{"f32", {2, 3}, {}}, {"f32", {4, 3}, {}}}},
                                 literal("0")})
                    .samplesNs,
                SizeIs(2));
    EXPECT_THAT(of("aten::embedding",
                   {tensor({10, 4}), tensor({6}, "i64"), literal("-1"), literal("false"), literal("false")},
                   true, 10)
                    .samplesNs,
                SizeIs(2));
}

TEST_F(Replay, MeasuresOpsOfTilescope)
{
    EXPECT_THAT(of("tilescope::swiglu", {tensor({4, 32})}).samplesNs, SizeIs(2));
    const ReplayArgument heads = tensor({1, 2, 16, 8});
    EXPECT_THAT(
        of("tilescope::attention", {heads, heads, heads, literal("true"), literal("none"), literal("ieee")})
            .samplesNs,
        SizeIs(2));
}

TEST_F(Replay, TakesDefaultsWhereLiteralsWereNotRecorded)
{
    EXPECT_THAT(of("aten::addmm", {tensor({6}), tensor({8, 4}), tensor({4, 6})}, false).signature,
                HasSubstr("aten::addmm("));
    EXPECT_THAT(refusal("aten::_softmax", {tensor({8, 4})}, false),
                HasSubstr("no overload of aten::_softmax"));
}

TEST_F(Replay, WritesIntoTensorsThatTakeTheResult)
{
    EXPECT_THAT(of("aten::mm", {tensor({8, 4}), tensor({4, 6}), tensor({8, 6})}).signature,
                HasSubstr("aten::mm.out("));
    EXPECT_THAT(of("aten::mm", {tensor({8, 4}), tensor({4, 6}), tensor({8, 6})}, false).signature,
                HasSubstr("aten::mm.out("));
    EXPECT_THAT(of("aten::add", {tensor({8}), tensor({8}), literal("1"), tensor({8})}).signature,
                HasSubstr("aten::add.out("));
    EXPECT_THAT(of("aten::cat", {{.kind = Kind::List, .tensors = {{"f32", {2, 3}, {}}, {"f32", {4, 3}, {}}}},
                                 literal("0"),
                                 tensor({6, 3})})
                    .signature,
                HasSubstr("aten::cat.out("));
}

TEST_F(Replay, SaysWhyAnOpCannotBeMeasured)
{
    EXPECT_THAT(refusal("aten::no_such_op", {tensor({2})}),
                HasSubstr("this LibTorch has no op aten::no_such_op"));
    EXPECT_THAT(refusal("aten::add_", {tensor({2}), tensor({2}), literal("1")}),
                HasSubstr("all overloads of aten::add_ change their arguments"));
    EXPECT_THAT(refusal("aten::mm", {tensor({8, 4}), literal("1")}),
                AllOf(HasSubstr("no overload of aten::mm accepts"), Not(HasSubstr("shapes"))))
        << "the values of its arguments were recorded";
    EXPECT_THAT(refusal("aten::mm", {tensor({8, 4}), tensor({5, 6})}), HasSubstr("aten::mm failed"));
    EXPECT_THAT(refusal("aten::mm", {tensor({8, 4}, "q4"), tensor({5, 6})}), HasSubstr("type 'q4'"));
}

} // namespace tilescope::engine
