#include "core/analysis/work/op_work.h"

#include "core/model/attention_problem.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

namespace tilescope::analysis {

namespace {

using Family = KernelFamily;
using Shapes = std::span<const TensorShape>;

enum class Kind : std::uint8_t {
    View,              ///< nothing
    Product,           ///< a b: mm, bmm
    AddedProduct,      ///< c + a b: addmm, baddbmm
    Linear,            ///< x wᵀ + b
    Attention,         ///< q, k, v by head
    AttentionByRow,    ///< q, k, v with heads inside rows
    AttentionBackward, ///< dO, q, k, v, o
    Map,               ///< one result of the operands' common shape
    Compare,           ///< the same, one byte an element
    Reduce,            ///< reads its operands; the result's size is not told and left out
    Rows,              ///< reads rows, writes rows: softmax, norms
    RowsBackward,      ///< reads two tensors of rows, writes one
    Gather,            ///< rows of a table
    Scatter,           ///< gradients of rows into a table, whose zeros are an op beneath it
    Pick,              ///< one value of each row, by index
    PickBackward,      ///< gradients of those into rows, whose zeros are an op beneath it
    Copy,              ///< destination, source
    Fill,              ///< writes its first operand
    Adam,              ///< lists of parameters, gradients and two moments
};

struct Rule {
    std::string_view op;
    Kind kind;
    Family family;
    int operands = 1;       ///< Map, Reduce: tensors that are read; those after them are where to write
    std::int64_t flops = 0; ///< per element of the result (Reduce: of the first operand)
};

// Sorted by name. Costs per element count what the textbook form of the function does; see
// resources/help/analysis.md.
constexpr std::array kRules{
    Rule{"aten::_cudnn_attention_forward", Kind::Attention, Family::Attention},
    Rule{"aten::_efficient_attention_forward", Kind::AttentionByRow, Family::Attention},
    Rule{"aten::_flash_attention_forward", Kind::AttentionByRow, Family::Attention},
    Rule{"aten::_fused_adamw_", Kind::Adam, Family::Optimizer, 4, 14},
    Rule{"aten::_fused_rms_norm", Kind::Rows, Family::Norm, 1, 4},
    Rule{"aten::_fused_rms_norm_backward", Kind::RowsBackward, Family::Norm, 2, 9},
    Rule{"aten::_log_softmax", Kind::Rows, Family::Softmax, 1, 5},
    Rule{"aten::_log_softmax_backward_data", Kind::RowsBackward, Family::Softmax, 2, 4},
    Rule{"aten::_reshape_alias", Kind::View, Family::Other},
    Rule{"aten::_scaled_dot_product_cudnn_attention", Kind::Attention, Family::Attention},
    Rule{"aten::_scaled_dot_product_cudnn_attention_backward", Kind::AttentionBackward, Family::Attention},
    Rule{"aten::_scaled_dot_product_efficient_attention", Kind::Attention, Family::Attention},
    Rule{"aten::_scaled_dot_product_efficient_attention_backward", Kind::AttentionBackward,
         Family::Attention},
    Rule{"aten::_scaled_dot_product_flash_attention", Kind::Attention, Family::Attention},
    Rule{"aten::_scaled_dot_product_flash_attention_backward", Kind::AttentionBackward, Family::Attention},
    Rule{"aten::_scaled_dot_product_flash_attention_for_cpu", Kind::Attention, Family::Attention},
    Rule{"aten::_scaled_dot_product_flash_attention_for_cpu_backward", Kind::AttentionBackward,
         Family::Attention},
    Rule{"aten::_softmax", Kind::Rows, Family::Softmax, 1, 5},
    Rule{"aten::_softmax_backward_data", Kind::RowsBackward, Family::Softmax, 2, 4},
    Rule{"aten::_unsafe_view", Kind::View, Family::Other},
    Rule{"aten::abs", Kind::Map, Family::Elementwise, 1, 1},
    Rule{"aten::add", Kind::Map, Family::Elementwise, 2, 1},
    Rule{"aten::add_", Kind::Map, Family::Elementwise, 2, 1},
    Rule{"aten::addcdiv_", Kind::Map, Family::Elementwise, 3, 3},
    Rule{"aten::addcmul_", Kind::Map, Family::Elementwise, 3, 3},
    Rule{"aten::addmm", Kind::AddedProduct, Family::Matmul},
    Rule{"aten::addmm_", Kind::AddedProduct, Family::Matmul},
    Rule{"aten::alias", Kind::View, Family::Other},
    Rule{"aten::amax", Kind::Reduce, Family::Reduction, 1, 1},
    Rule{"aten::as_strided", Kind::View, Family::Other},
    Rule{"aten::baddbmm", Kind::AddedProduct, Family::Matmul},
    Rule{"aten::baddbmm_", Kind::AddedProduct, Family::Matmul},
    Rule{"aten::bmm", Kind::Product, Family::Matmul},
    Rule{"aten::cat", Kind::Copy, Family::Copy},
    Rule{"aten::conj", Kind::View, Family::Other},
    Rule{"aten::copy_", Kind::Copy, Family::Copy},
    Rule{"aten::cos", Kind::Map, Family::Elementwise, 1, 1},
    Rule{"aten::detach", Kind::View, Family::Other},
    Rule{"aten::div", Kind::Map, Family::Elementwise, 2, 1},
    Rule{"aten::div_", Kind::Map, Family::Elementwise, 2, 1},
    Rule{"aten::embedding", Kind::Gather, Family::Embedding},
    Rule{"aten::embedding_dense_backward", Kind::Scatter, Family::Embedding},
    Rule{"aten::empty", Kind::View, Family::Other},
    Rule{"aten::empty_like", Kind::View, Family::Other},
    Rule{"aten::empty_strided", Kind::View, Family::Other},
    Rule{"aten::eq", Kind::Compare, Family::Elementwise, 2, 1},
    Rule{"aten::exp", Kind::Map, Family::Elementwise, 1, 1},
    Rule{"aten::exp_", Kind::Map, Family::Elementwise, 1, 1},
    Rule{"aten::expand", Kind::View, Family::Other},
    Rule{"aten::fill_", Kind::Fill, Family::Memset},
    Rule{"aten::ge", Kind::Compare, Family::Elementwise, 2, 1},
    Rule{"aten::gelu", Kind::Map, Family::Elementwise, 1, 5},
    Rule{"aten::gt", Kind::Compare, Family::Elementwise, 2, 1},
    Rule{"aten::index_select", Kind::Gather, Family::Embedding},
    Rule{"aten::le", Kind::Compare, Family::Elementwise, 2, 1},
    Rule{"aten::linear", Kind::Linear, Family::Matmul},
    Rule{"aten::log", Kind::Map, Family::Elementwise, 1, 1},
    Rule{"aten::lt", Kind::Compare, Family::Elementwise, 2, 1},
    Rule{"aten::masked_fill", Kind::Map, Family::Elementwise, 2},
    Rule{"aten::masked_fill_", Kind::Map, Family::Elementwise, 2},
    Rule{"aten::maximum", Kind::Map, Family::Elementwise, 2, 1},
    Rule{"aten::mean", Kind::Reduce, Family::Reduction, 1, 1},
    Rule{"aten::mm", Kind::Product, Family::Matmul},
    Rule{"aten::mul", Kind::Map, Family::Elementwise, 2, 1},
    Rule{"aten::mul_", Kind::Map, Family::Elementwise, 2, 1},
    Rule{"aten::narrow", Kind::View, Family::Other},
    Rule{"aten::native_layer_norm", Kind::Rows, Family::Norm, 1, 7},
    Rule{"aten::native_layer_norm_backward", Kind::RowsBackward, Family::Norm, 2, 12},
    Rule{"aten::neg", Kind::Map, Family::Elementwise, 1, 1},
    Rule{"aten::nll_loss_backward", Kind::PickBackward, Family::Elementwise},
    Rule{"aten::nll_loss_forward", Kind::Pick, Family::Reduction},
    Rule{"aten::normal_", Kind::Fill, Family::Elementwise},
    Rule{"aten::permute", Kind::View, Family::Other},
    Rule{"aten::pow", Kind::Map, Family::Elementwise, 1, 1},
    Rule{"aten::random_", Kind::Fill, Family::Elementwise},
    Rule{"aten::reciprocal", Kind::Map, Family::Elementwise, 1, 1},
    Rule{"aten::resolve_conj", Kind::View, Family::Other},
    Rule{"aten::rsqrt", Kind::Map, Family::Elementwise, 1, 1},
    Rule{"aten::select", Kind::View, Family::Other},
    Rule{"aten::sigmoid", Kind::Map, Family::Elementwise, 1, 4},
    Rule{"aten::silu", Kind::Map, Family::Elementwise, 1, 5},
    Rule{"aten::silu_backward", Kind::Map, Family::Elementwise, 2, 9},
    Rule{"aten::sin", Kind::Map, Family::Elementwise, 1, 1},
    Rule{"aten::slice", Kind::View, Family::Other},
    Rule{"aten::sqrt", Kind::Map, Family::Elementwise, 1, 1},
    Rule{"aten::squeeze", Kind::View, Family::Other},
    Rule{"aten::sub", Kind::Map, Family::Elementwise, 2, 1},
    Rule{"aten::sub_", Kind::Map, Family::Elementwise, 2, 1},
    Rule{"aten::sum", Kind::Reduce, Family::Reduction, 1, 1},
    Rule{"aten::t", Kind::View, Family::Other},
    Rule{"aten::tanh", Kind::Map, Family::Elementwise, 1, 1},
    Rule{"aten::transpose", Kind::View, Family::Other},
    Rule{"aten::tril_", Kind::Map, Family::Elementwise, 1},
    Rule{"aten::triu_", Kind::Map, Family::Elementwise, 1},
    Rule{"aten::unsqueeze", Kind::View, Family::Other},
    Rule{"aten::view", Kind::View, Family::Other},
    Rule{"aten::view_as_complex", Kind::View, Family::Other},
    Rule{"aten::view_as_real", Kind::View, Family::Other},
    Rule{"aten::where", Kind::Map, Family::Elementwise, 3},
    Rule{"aten::zero_", Kind::Fill, Family::Memset},
    Rule{"tilescope::attention", Kind::Attention, Family::Attention},
    Rule{"tilescope::attention_backward", Kind::AttentionBackward, Family::Attention},
    Rule{"tilescope::attention_forward", Kind::Attention, Family::Attention},
};

constexpr bool sorted()
{
    for (std::size_t i = 1; i < kRules.size(); ++i)
        if (!(kRules[i - 1].op < kRules[i].op))
            return false;
    return true;
}
static_assert(sorted(), "rules are found by bisection");

const Rule* find(std::string_view op)
{
    const auto* rule = std::lower_bound(kRules.begin(), kRules.end(), op,
                                        [](const Rule& r, std::string_view name) { return r.op < name; });
    return rule != kRules.end() && rule->op == op ? &*rule : nullptr;
}

/// Counts in the shapes of one op.
class Counter {
public:
    Counter(const Rule& rule, Shapes shapes, const WorkContext& context)
        : rule_(rule), shapes_(shapes), context_(context)
    {
    }

    std::optional<Work> count() const
    {
        switch (rule_.kind) {
        case Kind::View:
            return Work{};
        case Kind::Product:
            return product(0, 0);
        case Kind::AddedProduct:
            return has(3) ? product(1, bytesOf(0)) : std::nullopt;
        case Kind::Linear:
            return linear();
        case Kind::Attention:
            return attention(0, false, false);
        case Kind::AttentionByRow:
            return attention(0, true, false);
        case Kind::AttentionBackward:
            return attention(1, false, true);
        case Kind::Map:
        case Kind::Compare:
            return map();
        case Kind::Reduce:
            return has(1) ? work(rule_.flops * elements(0), bytesOf(0)) : std::nullopt;
        case Kind::Rows:
            return has(1) ? work(rule_.flops * elements(0), 2 * bytesOf(0) + restBytes(1)) : std::nullopt;
        case Kind::RowsBackward:
            return has(2) ? work(rule_.flops * elements(0), 2 * bytesOf(0) + bytesOf(1) + restBytes(2))
                          : std::nullopt;
        case Kind::Gather:
            return gather();
        case Kind::Scatter:
            // Each gradient is read and added to a row, which is read and written.
            return has(2) ? work(elements(0), 3 * bytesOf(0) + bytesOf(1)) : std::nullopt;
        case Kind::Pick:
            return has(2) ? work(elements(1), bytesOf(1) + elements(1) * elementBytes(0)) : std::nullopt;
        case Kind::PickBackward:
            return has(3) ? work(0, bytesOf(2) + elements(2) * elementBytes(1)) : std::nullopt;
        case Kind::Copy:
            return copy();
        case Kind::Fill:
            return has(1) ? work(0, bytesOf(0)) : std::nullopt;
        case Kind::Adam:
            return adam();
        }
        return {};
    }

private:
    static std::optional<Work> work(std::int64_t flops, std::int64_t bytes) { return Work{{flops}, {bytes}}; }
    bool has(std::size_t count) const { return shapes_.size() >= count; }
    std::int64_t elements(std::size_t i) const { return shapes_[i].elements(); }
    std::int64_t elementBytes(std::size_t i) const
    {
        return shapes_[i].elementBytes > 0 ? shapes_[i].elementBytes : context_.elementBytes;
    }
    std::int64_t bytesOf(std::size_t i) const { return elements(i) * elementBytes(i); }
    std::int64_t restBytes(std::size_t from) const
    {
        std::int64_t sum = 0;
        for (std::size_t i = from; i < shapes_.size(); ++i)
            if (!shapes_[i].sizes.empty())
                sum += bytesOf(i);
        return sum;
    }

    /// (…, n, k) (…, k, m), from the operand `first` on.
    std::optional<Work> product(std::size_t first, std::int64_t more) const
    {
        if (!has(first + 2))
            return {};
        const auto& a = shapes_[first].sizes;
        const auto& b = shapes_[first + 1].sizes;
        if (a.size() < 2 || a.size() != b.size() || a.back() != b[b.size() - 2])
            return {};
        const std::int64_t results = elements(first) / std::max<std::int64_t>(1, a.back()) * b.back();
        return work(2 * results * a.back(),
                    bytesOf(first) + bytesOf(first + 1) + results * elementBytes(first) + more);
    }

    std::optional<Work> linear() const
    {
        if (!has(2) || shapes_[0].sizes.empty() || shapes_[1].sizes.size() != 2 ||
            shapes_[0].sizes.back() != shapes_[1].sizes[1])
            return {};
        const std::int64_t inner = shapes_[1].sizes[1];
        const std::int64_t results = elements(0) / std::max<std::int64_t>(1, inner) * shapes_[1].sizes[0];
        return work(2 * results * inner,
                    bytesOf(0) + bytesOf(1) + results * elementBytes(0) + (has(3) ? bytesOf(2) : 0));
    }

    /// \param byRow  (batch, length, heads, head dim) instead of (batch, heads, length, head dim)
    std::optional<Work> attention(std::size_t first, bool byRow, bool backward) const
    {
        if (!has(first + 3))
            return {};
        const auto& q = shapes_[first].sizes;
        const auto& k = shapes_[first + 1].sizes;
        const auto& v = shapes_[first + 2].sizes;
        if (q.size() < 3 || q.size() != k.size() || k.size() != v.size() || q.back() != k.back())
            return {};
        const std::size_t at = q.size() - (byRow && q.size() > 3 ? 3 : 2); // where the length stands
        const std::int64_t rows = elements(first) / std::max<std::int64_t>(1, q.back());
        const std::int64_t heads = rows / std::max<std::int64_t>(1, q[at]);
        const std::int64_t pairs = heads * visiblePairs(q[at], k[at], context_.causal);
        const std::int64_t output = rows * v.back() * elementBytes(first);
        const std::int64_t statistics = rows * 4; // log-sum-exp of each row, in fp32
        const std::int64_t inputs = bytesOf(first) + bytesOf(first + 1) + bytesOf(first + 2);
        if (!backward)
            return work(2 * pairs * (q.back() + v.back()), inputs + output + statistics);
        // Scores again, dP, dV, dQ, dK; reads dO and o besides, writes the gradients of q, k and v.
        return work(2 * pairs * (3 * q.back() + 2 * v.back()), 2 * inputs + 2 * output + statistics);
    }

    std::optional<Work> map() const
    {
        const std::size_t operands = std::min(shapes_.size(), static_cast<std::size_t>(rule_.operands));
        if (operands == 0)
            return {};
        std::vector<std::int64_t> result; // of the broadcast, from the last dimension on
        std::int64_t read = 0;
        std::int64_t widest = 0;
        bool complex = false;
        for (std::size_t i = 0; i < operands; ++i) {
            const auto& sizes = shapes_[i].sizes;
            result.resize(std::max(result.size(), sizes.size()), 1);
            for (std::size_t d = 0; d < sizes.size(); ++d) {
                const std::int64_t size = sizes[sizes.size() - 1 - d];
                result[d] = result[d] == 1 ? size : result[d];
            }
            read += bytesOf(i);
            // A number among tensors does not widen the result.
            if (!sizes.empty() || operands == 1)
                widest = std::max(widest, elementBytes(i));
            complex = complex || shapes_[i].complex;
        }
        const std::int64_t elements =
            std::accumulate(result.begin(), result.end(), std::int64_t{1}, std::multiplies<>());
        const std::int64_t resultBytes = rule_.kind == Kind::Compare ? 1 : widest > 0 ? widest : 4;
        // A complex product is four multiplications and two additions; other complex operations are two.
        const std::int64_t times = !complex ? 1 : rule_.op.starts_with("aten::mul") ? 6 : 2;
        return work(rule_.flops * times * elements, read + elements * resultBytes);
    }

    std::optional<Work> gather() const
    {
        if (!has(2) || shapes_[0].sizes.size() != 2)
            return {};
        const std::int64_t rows = elements(1) * shapes_[0].sizes[1] * elementBytes(0);
        const std::int64_t indices =
            elements(1) * (shapes_[1].elementBytes > 0 ? shapes_[1].elementBytes : 8);
        return work(0, 2 * rows + indices);
    }

    std::optional<Work> copy() const
    {
        if (!has(1))
            return {};
        if (rule_.op == "aten::cat")
            return work(0, 2 * restBytes(0));
        return has(2) ? work(0, bytesOf(0) + bytesOf(1)) : std::nullopt;
    }

    /// Lists unfold into one: parameters, gradients and both moments are the tensors that are no numbers.
    std::optional<Work> adam() const
    {
        std::int64_t elements = 0;
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < shapes_.size(); ++i)
            if (!shapes_[i].sizes.empty()) {
                elements += shapes_[i].elements();
                bytes += bytesOf(i);
            }
        if (elements == 0 || elements % 4 != 0)
            return {};
        // Four are read; parameters and moments are written.
        return work(rule_.flops * (elements / 4), bytes + bytes / 4 * 3);
    }

    const Rule& rule_;
    Shapes shapes_;
    const WorkContext& context_;
};

} // namespace

std::optional<OpRule> ruleOf(std::string_view op)
{
    const Rule* rule = find(op);
    return rule ? std::optional(OpRule{rule->family, rule->kind != Kind::View}) : std::nullopt;
}

std::vector<std::string_view> opsWithRules()
{
    std::vector<std::string_view> names;
    for (const Rule& rule : kRules)
        names.push_back(rule.op);
    return names;
}

std::optional<Work> workOfOp(std::string_view op, std::string_view shapes, const WorkContext& context)
{
    const Rule* rule = find(op);
    if (!rule)
        return {};
    if (rule->kind == Kind::View)
        return Work{};
    const auto tensors = parseShapes(shapes);
    return tensors ? Counter(*rule, *tensors, context).count() : std::nullopt;
}

} // namespace tilescope::analysis
