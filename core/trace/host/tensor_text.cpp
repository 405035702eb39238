#include "core/trace/host/tensor_text.h"

#include "core/model/element_type.h"

#include <ATen/record_function.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace tilescope::trace {

namespace {

void appendSizes(std::string& text, at::IntArrayRef sizes)
{
    // Each dimension takes its digits and a separator.
    constexpr std::size_t kLongest = 22;
    constexpr std::size_t kUsual = 8;
    std::array<char, kUsual * kLongest> digits;
    text += '[';
    for (std::size_t first = 0; first < sizes.size(); first += kUsual) {
        char* end = digits.data();
        for (std::size_t i = first; i < std::min(sizes.size(), first + kUsual); ++i) {
            if (i > 0) {
                *end++ = ',';
                *end++ = ' ';
            }
            end = std::to_chars(end, digits.data() + digits.size(), sizes[i]).ptr;
        }
        text.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
    }
    text += ']';
}

void append(std::string& text, const at::Tensor& tensor)
{
    if (!text.empty())
        text += ' ';
    if (!tensor.defined()) {
        text += "[]";
        return;
    }
    text += dtypeText(tensor.scalar_type());
    appendSizes(text, tensor.sizes());
}

} // namespace

const char* dtypeText(at::ScalarType type)
{
    // Once for each type: ops are recorded with the types of all their tensors.
    static const auto kWords = [] {
        std::array<const char*, static_cast<std::size_t>(at::ScalarType::NumOptions)> words{};
        for (std::size_t i = 0; i < words.size(); ++i) {
            const char* name = c10::toString(static_cast<at::ScalarType>(i));
            const ElementType* known = findElementType(&ElementType::torch, name);
            words[i] = known ? known->word.data() : name;
        }
        return words;
    }();
    const auto place = static_cast<std::size_t>(type);
    return place < kWords.size() ? kWords[place] : c10::toString(type);
}

std::string shapeText(const at::Tensor& tensor)
{
    std::string text;
    appendSizes(text, tensor.sizes());
    return text;
}

std::string_view shapesOf(const at::RecordFunction& function) noexcept
{
    thread_local std::string text;
    text.clear();
    try {
        for (const c10::IValue& input : function.inputs()) {
            if (input.isTensor()) {
                append(text, input.toTensor());
            } else if (input.isTensorList()) {
                for (const c10::IValue& element : input.toListRef())
                    append(text, element.toTensor());
            }
        }
    } catch (...) {
        text.clear(); // a tensor without sizes
    }
    return text;
}

} // namespace tilescope::trace
