#include "core/analysis/work/op_work.h"

#include "core/analysis/work/op_table.h"
#include "core/model/attention_problem.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

namespace tilescope::analysis {

namespace {

using Kind = OpKind;
using Shapes = std::span<const TensorShape>;

/// Counts in the shapes of one op.
class Counter {
public:
    Counter(const OpRow& rule, Shapes shapes, const WorkContext& context)
        : rule_(rule), shapes_(shapes), context_(context)
    {
    }

    std::optional<Work> count() const
    {
        switch (rule_.kind) {
        case Kind::Uncounted:
            return {};
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
        const std::size_t at = q.size() - (byRow && q.size() > 3 ? 3 : 2); // position of the length
        const std::int64_t rows = elements(first) / std::max<std::int64_t>(1, q.back());
        const std::int64_t heads = rows / std::max<std::int64_t>(1, q[at]);
        const std::int64_t pairs = heads * visiblePairs(q[at], k[at], context_.causal);
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
        // Four are read; parameters and moments are written.
        return work(rule_.flops * (elements / 4), bytes + bytes / 4 * 3);
    }

    const OpRow& rule_;
    Shapes shapes_;
    const WorkContext& context_;
};

} // namespace

std::optional<OpRule> ruleOf(std::string_view op)
{
    const OpRow* row = findOp(op);
    if (!row || row->kind == Kind::Uncounted)
        return {};
    return OpRule{row->family, row->kind != Kind::View};
}

std::vector<std::string_view> opsWithRules()
{
    std::vector<std::string_view> names;
    for (const OpRow& row : opTable())
        if (row.kind != Kind::Uncounted)
            names.push_back(row.op);
    return names;
}

std::optional<Work> workOfOp(std::string_view op, std::string_view shapes, const WorkContext& context)
{
    const OpRow* row = findOp(op);
    if (!row || row->kind == Kind::Uncounted)
        return {};
    if (row->kind == Kind::View)
        return Work{};
    const auto tensors = parseShapes(shapes);
    return tensors ? Counter(*row, *tensors, context).count() : std::nullopt;
}

} // namespace tilescope::analysis
