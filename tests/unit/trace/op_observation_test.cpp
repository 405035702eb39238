// What is noted of LibTorch's operators: the numbers of their shapes, and which operators are observed.

#include "core/trace/host/argument_text.h"
#include "core/trace/host/input_shapes.h"
#include "core/trace/host/observed_views.h"
#include "core/trace/host/tensor_text.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tilescope::trace {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;

struct Noted {
    std::string name;
    std::string shapes; ///< as text
    std::uint32_t number = InputShapes::kNone;
    std::string arguments;
};
std::vector<Noted> noted;
std::vector<std::string> texts; ///< by their number
int asked = 0;
bool refuses = false;

std::uint32_t numberOf(std::string_view text)
{
    ++asked;
    if (refuses)
        return InputShapes::kNone;
    const auto found = std::ranges::find(texts, text);
    if (found != texts.end())
        return static_cast<std::uint32_t>(found - texts.begin());
    texts.emplace_back(text);
    return static_cast<std::uint32_t>(texts.size() - 1);
}

std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& function)
{
    static InputShapes shapes;
    noted.push_back({function.name(), std::string(shapesOf(function)), shapes.of(function, &numberOf),
                     std::string(argumentsOf(function))});
    return nullptr;
}

/// Notes the operators of this thread.
class OpObservation : public ::testing::Test {
protected:
    OpObservation()
    {
        noted.clear();
        asked = 0;
        at::RecordFunctionCallback callback(&note, [](const at::RecordFunction&, at::ObserverContext*) {});
        callback.needsInputs(true).scopes({at::RecordScope::FUNCTION});
        handle_ = at::addThreadLocalCallback(callback);
    }
    ~OpObservation() override
    {
        at::removeCallback(handle_);
        setViewsObserved(true);
    }
    static std::vector<std::string> names()
    {
        std::vector<std::string> all;
        for (const Noted& op : noted)
            all.push_back(op.name);
        return all;
    }

private:
    at::CallbackHandle handle_;
};

TEST_F(OpObservation, ANumberStandsForTheTextOfTheShapes)
{
    std::mt19937 random(7);
    const std::vector<at::ScalarType> types = {at::kFloat, at::kDouble, at::kLong};
    for (int i = 0; i < 2000; ++i) {
        std::vector<std::int64_t> sizes(random() % 4);
        for (std::int64_t& size : sizes)
            size = static_cast<std::int64_t>(random() % 5);
        const at::Tensor tensor = at::zeros(sizes, types[random() % types.size()]);
        tensor.add(tensor);
        at::stack({tensor, tensor});
        at::where(tensor == 0, tensor, tensor);
    }
    ASSERT_GT(noted.size(), 6000U);
    for (const Noted& op : noted)
        EXPECT_EQ(op.number == InputShapes::kNone ? "" : texts.at(op.number), op.shapes) << op.name;
}

TEST_F(OpObservation, TheTextOfKnownShapesIsNotMadeAgain)
{
    const at::Tensor tensor = at::ones({3, 5});
    tensor.add(tensor);
    const int first = asked;
    for (int i = 0; i < 10; ++i)
        tensor.add(tensor);
    EXPECT_EQ(asked, first);
    EXPECT_EQ(texts.at(noted.back().number), "f32[3, 5] f32[3, 5]");
}

TEST_F(OpObservation, ANumberThatWasRefusedIsAskedForAgain)
{
    const at::Tensor tensor = at::ones({7, 11});
    refuses = true;
    tensor.add(tensor);
    EXPECT_EQ(noted.back().number, InputShapes::kNone);
    refuses = false;
    tensor.add(tensor);
    EXPECT_EQ(texts.at(noted.back().number), "f32[7, 11] f32[7, 11]");
}

TEST_F(OpObservation, UndefinedTensorsCount)
{
    const at::Tensor input = at::ones({2, 4});
    at::layer_norm(input, {4}, at::Tensor(), at::ones({4}));
    at::layer_norm(input, {4}, at::ones({4}), at::Tensor());
    std::vector<std::string> shapes;
    for (const Noted& op : noted)
        if (op.name == "aten::layer_norm")
            shapes.push_back(texts.at(op.number));
    EXPECT_EQ(shapes, (std::vector<std::string>{"f32[2, 4] [] f32[4]", "f32[2, 4] f32[4] []"}));
}

TEST_F(OpObservation, ArgumentsHaveStridesLiteralsAndLists)
{
    const auto argumentsOfOp = [](const char* name) {
        const auto found = std::ranges::find(noted, name, &Noted::name);
        return found == noted.end() ? std::string("not called") : found->arguments;
    };
    const at::Tensor matrix = at::ones({2, 4});
    at::mm(matrix, at::ones({3, 4}).t());
    EXPECT_EQ(argumentsOfOp("aten::mm"), "f32[2, 4] f32[4, 3]{1, 4}");
    at::add(matrix, matrix, 2.0);
    EXPECT_EQ(argumentsOfOp("aten::add"), "f32[2, 4] f32[2, 4] =2.");
    at::_softmax(matrix, -1, false);
    EXPECT_EQ(argumentsOfOp("aten::_softmax"), "f32[2, 4] =-1 =false");
    at::layer_norm(matrix, {4}, at::Tensor(), at::ones({4}));
    EXPECT_EQ(argumentsOfOp("aten::layer_norm"), "f32[2, 4] =[4] =none f32[4] =1e-05 =true");
    at::cat({matrix, at::ones({1, 4}, at::kBFloat16)});
    EXPECT_EQ(argumentsOfOp("aten::cat"), "(f32[2, 4] bf16[1, 4]) =0");
    at::empty({3});
    EXPECT_EQ(argumentsOfOp("aten::empty"), "") << "no tensor";
    at::div(matrix, matrix, "floor");
    EXPECT_EQ(argumentsOfOp("aten::div"), "f32[2, 4] f32[2, 4] =floor");
}

TEST_F(OpObservation, ViewsAreLeftOutOnRequest)
{
    EXPECT_GT(setViewsObserved(false), 50);
    const at::Tensor tensor = at::ones({2, 3, 4});
    tensor.view({6, 4});
    tensor.transpose(0, 1).reshape({-1});
    tensor.detach().select(0, 1).unsqueeze(0);
    tensor.to(at::kDouble);
    tensor.add_(1);
    const std::vector<std::string> without = names();
    for (const char* view : {"aten::view", "aten::transpose", "aten::as_strided", "aten::reshape",
                             "aten::detach", "aten::select", "aten::unsqueeze", "aten::to"})
        EXPECT_THAT(without, Not(Contains(view)));
    EXPECT_THAT(without,
                IsSupersetOf({"aten::ones", "aten::clone", "aten::_to_copy", "aten::copy_", "aten::add_"}))
        << "what reshape() and to() call";
    setViewsObserved(true);
    tensor.view({6, 4});
    EXPECT_THAT(names(), Contains("aten::view"));
}

} // namespace
} // namespace tilescope::trace
