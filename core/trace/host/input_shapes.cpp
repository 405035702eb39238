#include "core/trace/host/input_shapes.h"

#include "core/trace/host/tensor_text.h"

#include <ATen/record_function.h>

namespace tilescope::trace {

namespace {

void appendWords(std::vector<std::int64_t>& words, const at::Tensor& tensor)
{
    if (!tensor.defined()) {
        words.push_back(-1);
        return;
    }
    const at::IntArrayRef sizes = tensor.sizes();
    words.push_back(static_cast<std::int64_t>(tensor.scalar_type()) << 32 |
                    static_cast<std::int64_t>(sizes.size()));
    words.insert(words.end(), sizes.begin(), sizes.end());
}

std::uint64_t hashOf(const std::vector<std::int64_t>& words)
{
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
    std::uint64_t hash = words.size();
    for (const std::int64_t word : words) {
        hash = (hash ^ static_cast<std::uint64_t>(word)) * kOdd;
        hash ^= hash >> 29;
    }
    return hash;
}

} // namespace

bool InputShapes::readWords(const at::RecordFunction& function)
{
    words_.clear();
    for (const c10::IValue& input : function.inputs()) {
        if (input.isTensor()) {
            appendWords(words_, input.toTensor());
        } else if (input.isTensorList()) {
            for (const c10::IValue& element : input.toListRef())
                appendWords(words_, element.toTensor());
        }
    }
    return !words_.empty();
}

std::uint32_t InputShapes::of(const at::RecordFunction& function, NumberOf numberOf) noexcept
{
    try {
        if (!readWords(function))
            return kNone;
        const std::uint64_t hash = hashOf(words_);
        Known& known = known_[hash % kKnown];
        if (known.hash != hash || known.words != words_) {
            const std::uint32_t number = numberOf(shapesOf(function));
            if (number == kNone)
                return kNone;
            known.number = number;
            known.words = words_;
            known.hash = hash;
        }
        return known.number;
    } catch (...) {
        return kNone; // a tensor without sizes, or no memory
    }
}

} // namespace tilescope::trace
