#include "core/analysis/work/op_work.h"

#include "core/analysis/work/fused_op_work.h"
#include "core/analysis/work/op_table.h"
#include "core/model/attention_spec.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

namespace tilescope::analysis {

namespace {

using Kind = OpKind;
using Shapes = std::span<const TensorShape>;

/// Counts the work of one op from its shapes.
class Counter {
public:
    Counter(const OpRow& rule, const OpArguments& arguments, const WorkContext& context)
        : rule_(rule), arguments_(arguments), shapes_(arguments.tensors), context_(context)
    {
    }

    std::optional<Work> count() const
    {
        switch (rule_.kind) {
        case Kind::Uncounted:
        case Kind::Caller:
            return {};
        case Kind::View:
            return Work{};
        case Kind::Product:
            return product(0, 0);
        case Kind::AddedProduct:
            return has(3) ? product(1, bytesOf(0)) : std::nullopt;
        case Kind::Linear:
            return linear();
        case Kind::ScaledProduct:
            return scaledProduct();
        case Kind::GroupedProduct:
            return groupedProduct();
        case Kind::Convolution:
        case Kind::BackendConvolution:
            return convolution();
        case Kind::ConvolutionBackward:
            return convolutionBackward();
        case Kind::Attention:
            return attention(0, false, false);
        case Kind::AttentionByRow:
            return attention(0, true, false);
        case Kind::AttentionBackward:
            return attention(1, false, true);
        case Kind::AttentionBackwardByRow:
            return attention(1, true, true);
        case Kind::Map:
        case Kind::MaskedMap:
        case Kind::Compare:
            return map();
        case Kind::Reduce:
            return reduce();
        case Kind::Lists:
            return lists();
        case Kind::ListsReduce:
            return has(1) ? work(rule_.flops * totalElements(), restBytes(0)) : std::nullopt;
        case Kind::Traffic:
            return has(1) ? work(rule_.flops * elements(0), restBytes(0)) : std::nullopt;
        case Kind::Update:
            return update();
        case Kind::RotateInPlace:
            return rotateInPlace();
        case Kind::WriteCache:
            return writeCache();
        case Kind::Message:
            return has(1) ? work(0, restBytes(0)) : std::nullopt;
        case Kind::Rows:
            return has(1) ? work(rule_.flops * elements(0), 2 * bytesOf(0) + restBytes(1)) : std::nullopt;
        case Kind::RowsBackward:
            return has(2) ? work(rule_.flops * elements(0), 2 * bytesOf(0) + bytesOf(1) + restBytes(2))
                          : std::nullopt;
        case Kind::Gather:
            return gather();
        case Kind::Scatter:
            // Each gradient is read and added to a row; the row is read and written.
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
        case Kind::Fused:
            return workOfFusedOp(rule_.op, arguments_, context_);
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
    std::int64_t totalElements() const
    {
        std::int64_t sum = 0;
        for (const TensorShape& shape : shapes_)
            sum += shape.sizes.empty() ? 0 : shape.elements();
        return sum;
    }
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

    /// Leaves out the scales, which are few.
    std::optional<Work> scaledProduct() const
    {
        const std::optional<Work> same = product(0, 0);
        if (!same)
            return {};
        constexpr std::int64_t kResultBytes = 2;
        const std::int64_t results =
            elements(0) / std::max<std::int64_t>(1, shapes_[0].sizes.back()) * shapes_[1].sizes.back();
        return work(same->flops.count, same->bytes.count + results * (kResultBytes - elementBytes(0)));
    }

    /// (n, k) times the matrices (groups, k, m): each row is multiplied by one of them.
    std::optional<Work> groupedProduct() const
    {
        if (!has(2))
            return {};
        const auto& a = shapes_[0].sizes;
        const auto& b = shapes_[1].sizes;
        if (a.size() != 2 || b.size() != 3 || a[1] != b[1])
            return product(0, 0);
        constexpr std::int64_t kResultBytes = 2;
        const std::int64_t results = a[0] * b[2];
        return work(2 * results * a[1], bytesOf(0) + bytesOf(1) + results * kResultBytes);
    }

    /// The sizes of a literal such as `[1, 1]`; a single size applies to all dimensions.
    std::optional<std::vector<std::int64_t>> sizesAt(std::size_t position, std::size_t dimensions) const
    {
        const auto literal = arguments_.literal(position);
        const auto parsed = literal ? parseShapes(*literal) : std::nullopt;
        if (!parsed || parsed->size() != 1)
            return {};
        std::vector<std::int64_t> sizes = parsed->front().sizes;
        if (sizes.size() == 1)
            sizes.resize(dimensions, sizes.front());
        return sizes.size() == dimensions ? std::optional(std::move(sizes)) : std::nullopt;
    }

    /// Two FLOPs per weight that contributes to an element of the output or, if transposed, that an element
    /// of the input meets.
    std::optional<Work> convolution() const
    {
        if (!has(2) || shapes_[0].sizes.size() < 3 || shapes_[0].sizes.size() != shapes_[1].sizes.size())
            return {};
        const auto& input = shapes_[0].sizes;
        const auto& weight = shapes_[1].sizes; // output channels, input channels of a group, kernel
        const std::int64_t weights = elements(1) / std::max<std::int64_t>(1, weight[0]);
        const std::size_t dimensions = input.size() - 2;
        const bool isBackend = rule_.kind == Kind::BackendConvolution;
        const auto stride = sizesAt(3, dimensions);
        const auto padding = sizesAt(isBackend ? 2 : 4, dimensions);
        const auto dilation = sizesAt(isBackend ? 4 : 5, dimensions);
        if (!stride || !padding || !dilation)
            return {};
        std::int64_t results = input[0];
        if (!isBackend && arguments_.literal(6) == "true") {
            const auto more = sizesAt(7, dimensions);
            const auto groups = arguments_.literal(8) == "1" ? std::optional<std::int64_t>(1) : std::nullopt;
            if (!more || !groups)
                return {};
            for (std::size_t d = 0; d < dimensions; ++d)
                results *= (input[d + 2] - 1) * (*stride)[d] - 2 * (*padding)[d] +
                           (*dilation)[d] * (weight[d + 2] - 1) + (*more)[d] + 1;
            results *= weight[1];
            return work(2 * elements(0) * weights, bytesOf(0) + restBytes(1) + results * elementBytes(0));
        }
        results *= weight[0];
        for (std::size_t d = 0; d < dimensions; ++d)
            results *= (input[d + 2] + 2 * (*padding)[d] - (*dilation)[d] * (weight[d + 2] - 1) - 1) /
                           std::max<std::int64_t>(1, (*stride)[d]) +
                       1;
        return results < 0
                   ? std::nullopt
                   : work(2 * results * weights, bytesOf(0) + restBytes(1) + results * elementBytes(0));
    }

    std::optional<Work> convolutionBackward() const
    {
        if (!has(3) || shapes_[0].sizes.size() < 3 || shapes_[2].sizes.size() < 3 ||
            arguments_.literal(7) == "true")
            return {};
        const std::int64_t weights = elements(2) / std::max<std::int64_t>(1, shapes_[2].sizes[0]);
        const std::string_view wanted = arguments_.literal(10).value_or("[true, true, true]");
        const bool ofInput = wanted.starts_with("[true") || wanted.starts_with("[True");
        const std::int64_t each = 2 * elements(0) * weights;
        return work(ofInput ? 2 * each : each,
                    bytesOf(0) + bytesOf(1) + 2 * bytesOf(2) + (ofInput ? bytesOf(1) : 0));
    }

    /// Whether fused attention is causal; none: unknown.
    std::optional<bool> isCausal() const
    {
        const auto literal =
            rule_.causalAt < 0 ? std::nullopt : arguments_.literal(static_cast<std::size_t>(rule_.causalAt));
        return literal == "true" ? true : literal == "false" ? false : context_.causal;
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
        const std::size_t at = q.size() - (byRow && q.size() > 3 ? 3 : 2); // position of the length
        const std::int64_t rows = elements(first) / std::max<std::int64_t>(1, q.back());
        const std::int64_t heads = rows / std::max<std::int64_t>(1, q[at]);
        const std::optional<bool> causal = isCausal();
        if (!causal && visiblePairs(q[at], k[at], true) != visiblePairs(q[at], k[at], false))
            return {};
        const std::int64_t pairs = heads * visiblePairs(q[at], k[at], causal.value_or(false));
        const std::int64_t output = rows * v.back() * elementBytes(first);
        const std::int64_t statistics = rows * 4; // log-sum-exp of each row, in fp32
        const std::int64_t inputs = bytesOf(first) + bytesOf(first + 1) + bytesOf(first + 2);
        if (!backward)
            return work(2 * pairs * (q.back() + v.back()), inputs + output + statistics);
        // Recomputed scores, dP, dV, dQ, dK; also reads dO and o, and writes the gradients of q, k and v.
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
            // A scalar among tensors does not widen the type of the result.
            if (!sizes.empty() || operands == 1)
                widest = std::max(widest, elementBytes(i));
            complex = complex || shapes_[i].complex;
        }
        const std::int64_t elements =
            std::accumulate(result.begin(), result.end(), std::int64_t{1}, std::multiplies<>());
        const std::int64_t resultBytes = (rule_.kind == Kind::Compare ? 1
                                          : widest > 0                ? widest
                                                                      : 4) +
                                         (rule_.kind == Kind::MaskedMap ? 1 : 0);
        // A complex product is four multiplications and two additions; other complex operations are two.
        const std::int64_t times = !complex ? 1 : rule_.op.starts_with("aten::mul") ? 6 : 2;
        return work(rule_.flops * times * elements, read + elements * resultBytes);
    }

    std::optional<Work> reduce() const
    {
        if (!has(1))
            return {};
        std::int64_t read = 0;
        for (std::size_t i = 0; i < std::min(shapes_.size(), static_cast<std::size_t>(rule_.operands)); ++i)
            read += bytesOf(i);
        return work(rule_.flops * elements(0), read);
    }

    /// Tensors with the shape of the first one are read and written.
    std::optional<Work> update() const
    {
        if (!has(1))
            return {};
        std::int64_t bytes = restBytes(0);
        for (std::size_t i = 0; i < shapes_.size(); ++i)
            bytes += shapes_[i].sizes == shapes_[0].sizes ? bytesOf(i) : 0;
        return work(rule_.flops * elements(0), bytes);
    }

    /// Each position reads a row of the table. Counts only if whole heads rotate, so that the head dim is the
    /// width of a row: the call says so, or there is one head of keys.
    std::optional<Work> rotateInPlace() const
    {
        constexpr std::size_t kHeadDim = 3; // position in the signature
        if (!has(4) || shapes_[2].sizes.empty() || shapes_[3].sizes.size() != 2)
            return {};
        const std::int64_t rotated = shapes_[3].sizes[1];
        const auto headDim = arguments_.literal(kHeadDim);
        if (headDim ? *headDim != std::to_string(rotated) : shapes_[2].sizes.back() != rotated)
            return {};
        return work(rule_.flops * (elements(1) + elements(2)),
                    bytesOf(0) + 2 * (bytesOf(1) + bytesOf(2)) + elements(0) * rotated * elementBytes(3));
    }

    /// Each slot gets the key and the value of a token, in the type of the caches.
    std::optional<Work> writeCache() const
    {
        if (!has(5) || shapes_[0].sizes.empty() || shapes_[0].sizes != shapes_[1].sizes)
            return {};
        const std::int64_t token = elements(0) / std::max<std::int64_t>(1, shapes_[0].sizes[0]);
        const std::int64_t bytes = elementBytes(0) + elementBytes(1) + elementBytes(2) + elementBytes(3);
        return work(0, elements(4) * token * bytes + bytesOf(4));
    }

    /// All lists are equally long; the first one is read and written.
    std::optional<Work> lists() const
    {
        const auto number = static_cast<std::int64_t>(arguments_.lists());
        const std::int64_t lists = std::max<std::int64_t>(1, number > 0 ? number : rule_.operands);
        const std::int64_t bytes = restBytes(0);
        if (!has(1) || totalElements() % lists != 0)
            return {};
        // Fills and copies do not read what they write.
        const std::int64_t read = rule_.operands == 0 ? 0 : rule_.flops == 0 ? bytes - bytes / lists : bytes;
        return work(rule_.flops * (totalElements() / lists), read + bytes / lists);
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
        // One packed tensor, whose type is recorded, and a list, whose types are not.
        if (rule_.op == "aten::split_with_sizes_copy")
            return work(0, 2 * bytesOf(0));
        if (rule_.op == "aten::_chunk_cat") {
            const auto packed = std::ranges::find(arguments_.list, OpArgument::Kind::Tensor,
                                                  [](const OpArgument& each) { return each.kind; });
            return work(0, 2 * (packed == arguments_.list.end() ? restBytes(0) : bytesOf(packed->first)));
        }
        return has(2) ? work(0, bytesOf(0) + bytesOf(1)) : std::nullopt;
    }

    /// Lists are flattened: parameters, gradients and both moments are the tensors with at least one
    /// dimension.
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
        // Four lists are read; parameters and moments are written.
        return work(rule_.flops * (elements / 4), bytes + bytes / 4 * 3);
    }

    const OpRow& rule_;
    const OpArguments& arguments_;
    Shapes shapes_;
    const WorkContext& context_;
};

/// A kernel of TorchInductor, which PyTorch records as an op.
constexpr OpRow kInductorKernel{"triton_", Kind::Traffic, KernelFamily::Elementwise};

/// The row by which an op is counted; nullptr if it is not.
const OpRow* countedRow(std::string_view op)
{
    const OpRow* row = findOp(op);
    if (!row && op.ends_with('_') && !op.ends_with("__"))
        row = findOp(op.substr(0, op.size() - 1));
    if (!row &&
        (op.starts_with("triton_poi_") || op.starts_with("triton_red_") || op.starts_with("triton_per_")))
        row = &kInductorKernel;
    return row && row->kind != Kind::Uncounted && row->kind != Kind::Caller ? row : nullptr;
}

/// AddmmBackward0, torch::autograd::AccumulateGrad, CompiledFunctionBackward
bool isAutogradNode(std::string_view op)
{
    while (!op.empty() && op.back() >= '0' && op.back() <= '9')
        op.remove_suffix(1);
    return op.starts_with("autograd::") || op.starts_with("torch::autograd::") ||
           (op.ends_with("Backward") && op.find("::") == op.npos);
}

} // namespace

std::optional<OpRule> ruleOf(std::string_view op)
{
    const OpRow* row = countedRow(op);
    return row ? std::optional(OpRule{row->family, row->kind != Kind::View}) : std::nullopt;
}

bool callsOthers(std::string_view op)
{
    const OpRow* row = findOp(op);
    return row ? row->kind == Kind::Caller : isAutogradNode(op) || op == "CompiledFunction";
}

std::string_view whyNoRule(std::string_view op)
{
    if (op.starts_with("vllm::moe_forward"))
        return "its weights are not among its arguments";
    if (op.starts_with("vllm::unified_attention"))
        return "its work depends on the lengths of the sequences, which are not among its arguments";
    return {};
}

std::vector<std::string_view> opsWithRules()
{
    std::vector<std::string_view> names;
    for (const OpRow& row : opTable())
        if (countedRow(row.op))
            names.push_back(row.op);
    return names;
}

std::optional<Work> workOfOp(std::string_view op, std::string_view shapes, const WorkContext& context)
{
    const OpRow* row = countedRow(op);
    if (!row)
        return {};
    if (row->kind == Kind::View)
        return Work{};
    const auto arguments = parseArguments(shapes);
    return arguments ? Counter(*row, *arguments, context).count() : std::nullopt;
}

} // namespace tilescope::analysis
