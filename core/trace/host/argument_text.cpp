#include "core/trace/host/argument_text.h"

#include "core/trace/host/tensor_text.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

namespace tilescope::trace {

namespace {

void appendValue(std::string& text, std::int64_t number)
{
    text += std::to_string(number);
}

void appendValue(std::string& text, bool flag)
{
    text += flag ? "true" : "false";
}

/// A whole number keeps a point, so that it stays a floating-point number: `1.`.
void appendValue(std::string& text, double number)
{
    constexpr std::size_t kLongest = 32;
    std::array<char, kLongest> digits;
    const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    const std::string_view shown(digits.data(), static_cast<std::size_t>(end - digits.data()));
    text += shown;
    if (std::isfinite(number) && shown.find_first_of(".e") == std::string_view::npos)
        text += '.';
}

void appendValue(std::string& text, const at::Tensor& tensor)
{
    text += dtypeText(tensor.scalar_type());
    text += shapeText(tensor);
    if (tensor.layout() != at::kStrided || tensor.is_contiguous())
        return;
    text += '{';
    for (const std::int64_t stride : tensor.strides())
        text += (text.ends_with('{') ? "" : ", ") + std::to_string(stride);
    text += '}';
}

void appendList(std::string& text, const auto& values)
{
    text += '[';
    for (const auto value : values) {
        if (!text.ends_with('['))
            text += ", ";
        appendValue(text, value);
    }
    text += ']';
}

/// Whether a text can stand for itself among other arguments.
bool isWord(const std::string& text)
{
    return !text.empty() && text != "none" && std::ranges::all_of(text, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '-';
    });
}

void appendLiteral(std::string& text, const c10::IValue& input)
{
    text += '=';
    if (input.isNone() || input.isTensor())
        text += "none";
    else if (input.isBool())
        appendValue(text, input.toBool());
    else if (input.isInt())
        appendValue(text, input.toInt());
    else if (input.isDouble())
        appendValue(text, input.toDouble());
    else if (input.isString() && isWord(input.toStringRef()))
        text += input.toStringRef();
    else if (input.isIntList())
        appendList(text, input.toIntVector());
    else if (input.isBoolList())
        appendList(text, input.toBoolList().vec());
    else if (input.isDoubleList())
        appendList(text, input.toDoubleVector());
    else
        text += '?';
}

/// \return  whether the input holds a tensor
bool appendInput(std::string& text, const c10::IValue& input)
{
    if (input.isTensor() && input.toTensor().defined()) {
        appendValue(text, input.toTensor());
        return true;
    }
    if (!input.isTensorList()) {
        appendLiteral(text, input);
        return false;
    }
    text += '(';
    for (const c10::IValue& element : input.toListRef()) {
        if (!text.ends_with('('))
            text += ' ';
        appendValue(text, element.toTensor());
    }
    text += ')';
    return true;
}

} // namespace

std::string_view argumentsOf(const at::RecordFunction& function) noexcept
{
    thread_local std::string text;
    text.clear();
    try {
        bool hasTensors = false;
        for (const c10::IValue& input : function.inputs()) {
            if (!text.empty())
                text += ' ';
            hasTensors = appendInput(text, input) || hasTensors;
        }
        if (!hasTensors)
            text.clear();
    } catch (...) {
        text.clear(); // a tensor without sizes
    }
    return text;
}

} // namespace tilescope::trace
