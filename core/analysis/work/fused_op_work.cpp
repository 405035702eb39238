#include "core/analysis/work/fused_op_work.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace tilescope::analysis {

namespace {

/// The arguments of one call.
class FusedCall {
public:
    FusedCall(const OpArguments& arguments, const WorkContext& context)
        : arguments_(arguments), context_(context)
    {
    }

    /// Arguments: x, an optional addend, weight. The addend has the type of the result.
    std::optional<Work> addRmsNorm() const
    {
        if (!hasRows(0))
            return {};
        const bool adds = hasRows(1);
        const std::size_t weight = adds ? 2 : 1;
        if (weight >= tensors().size() || elements(weight) != columns(0) ||
            (adds && elements(1) != elements(0)))
            return {};
        const std::int64_t result = elements(0) * (adds ? elementBytes(1) : context_.elementBytes);
        const std::int64_t reciprocals = rows(0) * elementBytes(0);
        const std::int64_t sum = adds ? bytes(1) + bytes(0) : 0;
        return work((adds ? 5 : 4) * elements(0), bytes(0) + sum + bytes(weight) + result + reciprocals);
    }

    /// Arguments: gradient of y, x, weight, reciprocals, an optional gradient of the other use of x.
    std::optional<Work> rmsNormBackward() const
    {
        if (tensors().size() < 4 || !hasRows(0) || !hasRows(1) || elements(0) != elements(1))
            return {};
        const bool adds = hasRows(4);
        const std::int64_t read = bytes(0) + bytes(1) + bytes(2) + bytes(3) + (adds ? bytes(4) : 0);
        return work((adds ? 10 : 9) * elements(0), read + bytes(0) + bytes(1));
    }

    /// Arguments: sum, parts.
    std::optional<Work> sumParts() const
    {
        return hasRows(1) ? work(elements(1), bytes(0) + bytes(1)) : std::nullopt;
    }

    /// Arguments: x, cosines and sines by position, number of heads. Each pair of neighbours takes six
    /// operations.
    std::optional<Work> rotateHeads() const
    {
        const auto heads = number(2);
        if (!hasRows(0) || tensors().size() < 2 || tensors()[1].sizes.size() != 3 || !heads)
            return {};
        const std::int64_t rotated = rows(0) * *heads * 2 * tensors()[1].sizes[1];
        return rotated < 0 || rotated > elements(0)
                   ? std::nullopt
                   : work(3 * rotated, 2 * rotated * elementBytes(0) + bytes(1));
    }

    /// Arguments: x, number of bf16 copies. Each element takes two differences.
    std::optional<Work> splitBf16() const
    {
        const auto copies = number(1);
        return hasRows(0) && copies ? work(2 * elements(0), bytes(0) + *copies * 2 * elements(0))
                                    : std::nullopt;
    }

    /// Argument: x. Each element takes a magnitude, a maximum and a product. Each row has a scale.
    std::optional<Work> quantizeRows() const
    {
        constexpr std::int64_t kScaleBytes = 4;
        return hasRows(0) ? work(3 * elements(0), bytes(0) + elements(0) + kScaleBytes * rows(0))
                          : std::nullopt;
    }

    /// Arguments: values, transposed values, scales, x. x is read twice.
    std::optional<Work> quantizeMatrix() const
    {
        return hasRows(3) ? work(3 * elements(3), 2 * bytes(3) + bytes(0) + bytes(1) + bytes(2))
                          : std::nullopt;
    }

    /// Argument: gate and up side by side.
    std::optional<Work> swiGlu() const
    {
        return hasRows(0) ? work(3 * elements(0), bytes(0) + bytes(0) / 2) : std::nullopt;
    }

    /// Arguments: gradient of y, x; both are overwritten with results. The derivative of silu takes 9
    /// operations, silu itself one more, and there are three further products.
    std::optional<Work> swiGluBackward() const
    {
        return hasRows(0) && hasRows(1) ? work(13 * elements(0), 2 * (bytes(0) + bytes(1))) : std::nullopt;
    }

    /// Arguments: logits, which become their gradients, and targets. The work is a softmax and one product.
    std::optional<Work> crossEntropy() const
    {
        if (!hasRows(0) || tensors().size() < 2)
            return {};
        const std::int64_t losses = rows(0) * std::max<std::int64_t>(4, elementBytes(0));
        return work(6 * elements(0), 2 * bytes(0) + bytes(1) + losses);
    }

    /// Arguments: gradient, tokens, number of rows of the result.
    std::optional<Work> embeddingBackward() const
    {
        const auto vocabulary = number(2);
        if (!hasRows(0) || tensors().size() < 2 || !vocabulary)
            return {};
        return work(elements(0), bytes(0) + bytes(1) + *vocabulary * columns(0) * elementBytes(0));
    }

    /// Arguments: lists of weights, remainders of 16-bit weights, gradients and both moments. All but
    /// gradients are written.
    std::optional<Work> adamw() const
    {
        std::int64_t number = 0; // number of tensors
        std::int64_t all = 0;
        std::int64_t read = 0;
        bool hasRemainders = false;
        for (std::size_t i = 0; i < tensors().size(); ++i) {
            if (tensors()[i].sizes.empty())
                continue; // the step count count
            ++number;
            all += elements(i);
            read += bytes(i);
            hasRemainders = hasRemainders || arguments_.types[i] == "i16";
        }
        const std::int64_t lists = hasRemainders ? 5 : 4;
        if (number == 0 || number % lists != 0 || all % lists != 0)
            return {};
        // Gradients of weights with remainders are fp32; otherwise all lists have one type.
        const std::int64_t weights = all / lists;
        const std::int64_t gradients = hasRemainders ? 4 * weights : read / lists;
        return work(14 * weights, 2 * read - gradients);
    }

    /// Weight, remainder and both moments, which are read and written, and the factors of the gradient: rows of
    /// gradients and of inputs.
    std::optional<Work> adamwProduct() const
    {
        constexpr std::size_t kWritten = 4;
        constexpr std::size_t kGradient = kWritten;
        constexpr std::size_t kInput = kGradient + 1;
        if (!hasRows(0) || !hasRows(kGradient) || !hasRows(kInput) || rows(kGradient) != rows(kInput) ||
            columns(kGradient) != rows(0) || columns(kInput) != columns(0))
            return {};
        std::int64_t moved = bytes(kGradient) + bytes(kInput);
        for (std::size_t i = 0; i < kWritten; ++i)
            moved += 2 * bytes(i);
        return work((14 + 2 * rows(kInput)) * elements(0), moved);
    }

private:
    static std::optional<Work> work(std::int64_t flops, std::int64_t bytes) { return Work{{flops}, {bytes}}; }
    std::span<const TensorShape> tensors() const { return arguments_.tensors; }
    bool hasRows(std::size_t i) const { return i < tensors().size() && tensors()[i].sizes.size() == 2; }
    std::int64_t rows(std::size_t i) const { return tensors()[i].sizes[0]; }
    std::int64_t columns(std::size_t i) const { return tensors()[i].sizes[1]; }
    std::int64_t elements(std::size_t i) const { return tensors()[i].elements(); }
    std::int64_t elementBytes(std::size_t i) const
    {
        return tensors()[i].elementBytes > 0 ? tensors()[i].elementBytes : context_.elementBytes;
    }
    std::int64_t bytes(std::size_t i) const { return elements(i) * elementBytes(i); }

    std::optional<std::int64_t> number(std::size_t position) const
    {
        const auto text = arguments_.literal(position);
        std::int64_t value = 0;
        if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc{} ||
            value < 0)
            return {};
        return value;
    }

    const OpArguments& arguments_;
    const WorkContext& context_;
};

struct Rule {
    std::string_view op;
    std::optional<Work> (FusedCall::*count)() const;
};

constexpr std::array kRules{
    Rule{"tilescope::adamw_", &FusedCall::adamw},
    Rule{"tilescope::adamw_product_", &FusedCall::adamwProduct},
    Rule{"tilescope::add_rms_norm", &FusedCall::addRmsNorm},
    Rule{"tilescope::cross_entropy_", &FusedCall::crossEntropy},
    Rule{"tilescope::embedding_backward", &FusedCall::embeddingBackward},
    Rule{"tilescope::quantize_matrix_", &FusedCall::quantizeMatrix},
    Rule{"tilescope::quantize_rows", &FusedCall::quantizeRows},
    Rule{"tilescope::rms_norm_backward", &FusedCall::rmsNormBackward},
    Rule{"tilescope::rotate_heads_", &FusedCall::rotateHeads},
    Rule{"tilescope::split_bf16", &FusedCall::splitBf16},
    Rule{"tilescope::sum_parts_", &FusedCall::sumParts},
    Rule{"tilescope::swiglu", &FusedCall::swiGlu},
    Rule{"tilescope::swiglu_backward_", &FusedCall::swiGluBackward},
};

} // namespace

std::optional<Work> workOfFusedOp(std::string_view op, const OpArguments& arguments,
                                  const WorkContext& context)
{
    const auto* const rule = std::ranges::find(kRules, op, &Rule::op);
    return rule == kRules.end() ? std::nullopt : (FusedCall(arguments, context).*rule->count)();
}

} // namespace tilescope::analysis
