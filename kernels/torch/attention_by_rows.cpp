#include "kernels/torch/attention_by_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tilescope::kernels {

namespace {

constexpr double kLargestScale = 0x1p10;
constexpr double kLargestUncheckedScale = 0x1p4;
constexpr double kLargestScaledScore = 0x1p24;
constexpr double kSmallestScale = 0x1p-100;
constexpr std::int64_t kScoresAtOnce = std::int64_t{1} << 22;

/// The probabilities of a block of rows, and of each row its largest scaled score, the sum of its exponentials
/// and the log-sum-exp.
struct Block {
    std::int64_t first, count;
    at::Tensor probabilities, largest, sum, logSumExp;
};

/// One problem: 4-D operands in one floating-point type, with a key head for each query head.
class RowBlocks {
public:
    RowBlocks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionOptions& options,
              at::ScalarType type)
        : keyHeads_(withHeads(k).size(1)), group_(withHeads(q).size(1) / keyHeads_), type_(type),
          causal_(options.causal),
          scale_(options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))))), q_(queriesLike(q)),
          k_(keysLike(k)), v_(keysLike(v))
    {
    }
    double scale() const { return scale_; }
    const at::Tensor& q() const { return q_; }
    const at::Tensor& k() const { return k_; }
    const at::Tensor& v() const { return v_; }

    at::Tensor queriesLike(const at::Tensor& tensor) const { return withHeads(tensor).to(type_); }
    at::Tensor keysLike(const at::Tensor& tensor) const
    {
        const at::Tensor keys = withHeads(tensor).to(type_);
        return group_ == 1 ? keys : keys.repeat_interleave(group_, 1);
    }
    /// The sum over the query heads of each key head.
    at::Tensor sumOfGroups(const at::Tensor& gradient) const
    {
        return group_ == 1 ? gradient : gradient.unflatten(1, {keyHeads_, group_}).sum(2);
    }

    template <class Body> void forEach(const Body& body) const
    {
        const std::int64_t rows = q_.size(2);
        const std::int64_t scoresOfRow = std::max<std::int64_t>(1, q_.size(0) * q_.size(1) * k_.size(2));
        const std::int64_t step = std::max<std::int64_t>(1, kScoresAtOnce / scoresOfRow);
        for (std::int64_t first = 0; first < rows; first += step) {
            body(block(first, std::min(step, rows - first)));
        }
    }

private:
    Block block(std::int64_t first, std::int64_t count) const
    {
        at::Tensor scores = q_.narrow(2, first, count).matmul(k_.transpose(-1, -2));
        if (scale_ < 0) {
            scores = scores.neg();
        }
        const at::Tensor hidden = hiddenFrom(first, count);
        if (causal_) {
            scores = scores.masked_fill(hidden, -INFINITY);
        }
        // Detached: it cancels, and so do its derivatives.
        const at::Tensor most = scores.detach().amax(-1, /*keepdim=*/true);
        const at::Tensor largest = most.masked_fill(most == -INFINITY, 0);
        // An infinite scale would turn a difference of 0 into NaN.
        const double range = type_ == at::kDouble ? std::numeric_limits<double>::max()
                                                  : double{std::numeric_limits<float>::max()};
        const double scale = std::min(std::abs(scale_), range);
        at::Tensor exponentials = scores.sub(largest).mul(scale).exp();
        if (causal_) {
            exponentials = exponentials.masked_fill(hidden, 0);
        }
        const at::Tensor sum = exponentials.sum(-1, /*keepdim=*/true);
        const at::Tensor blind = sum == 0;
        const at::Tensor divisor = sum.masked_fill(blind, 1);
        const at::Tensor scaled = largest * scale;
        return {first,  count, exponentials / divisor,
                scaled, sum,   (scaled + divisor.log()).masked_fill(blind, -INFINITY).squeeze(-1)};
    }

    at::Tensor hiddenFrom(std::int64_t first, std::int64_t count) const
    {
        if (!causal_) {
            return {};
        }
        const auto integers = q_.options().dtype(at::kLong);
        const std::int64_t offset = first + k_.size(2) - q_.size(2);
        return at::arange(k_.size(2), integers) > at::arange(offset, offset + count, integers).unsqueeze(1);
    }

    std::int64_t keyHeads_, group_;
    at::ScalarType type_;
    bool causal_;
    double scale_;
    at::Tensor q_, k_, v_;
};

at::ScalarType statisticsType(const at::Tensor& q)
{
    return q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// Blocks of rows as one tensor; without the dimension of heads if `like` has three dimensions.
at::Tensor joined(const std::vector<at::Tensor>& blocks, const at::Tensor& like, at::ScalarType type)
{
    const at::Tensor all = at::cat(blocks, 2).to(type);
    return like.dim() == 3 ? all.squeeze(1) : all;
}

/// RowStatistics of a block of rows, as the CUDA kernels keep them.
at::Tensor statisticsOf(const Block& block)
{
    // The reciprocal belongs to the offset that is kept, which is rounded.
    const at::Tensor offset = block.largest.to(at::kFloat);
    const at::Tensor reciprocal =
        (offset - block.largest).exp().div(block.sum).masked_fill(block.sum == 0, 0);
    return at::cat({offset.to(block.sum.scalar_type()), reciprocal}, -1);
}

double largestNorm(const at::Tensor& rows)
{
    return at::linalg_vector_norm(rows, 2, /*dim=*/-1, /*keepdim=*/false, at::kFloat).amax().item<double>();
}

} // namespace

bool fitsFp32(double scale)
{
    return scale == 0 || (std::abs(scale) >= kSmallestScale && std::abs(scale) <= kLargestScale);
}

bool kernelsTake(const at::Tensor& q, const at::Tensor& k, double scale)
{
    if (!q.is_cuda() || !fitsFp32(scale) || std::abs(scale) <= kLargestUncheckedScale) {
        return fitsFp32(scale);
    }
    // A graph replays with other values than it is captured with, and a capture may not wait for the device.
    if (isCapturedByCuda(q.device())) {
        return false;
    }
    // A call before the capture, which warms up, may take the kernels.
    prepareCaptureByCuda(q.device());
    // No score exceeds the product of the norms. A norm that overflows or is NaN does not pass.
    return largestNorm(q) * largestNorm(k) * std::abs(scale) <= kLargestScaledScore;
}

TensorTriple attentionByRows(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const AttentionOptions& options)
{
    const RowBlocks blocks(q, k, v, options, at::kDouble);
    std::vector<at::Tensor> outputs, logSumExps, statistics;
    blocks.forEach([&](const Block& block) {
        outputs.push_back(block.probabilities.matmul(blocks.v()));
        logSumExps.push_back(block.logSumExp);
        statistics.push_back(statisticsOf(block));
    });
    return {joined(outputs, q, q.scalar_type()), joined(logSumExps, q, statisticsType(q)),
            joined(statistics, q, statisticsType(q))};
}

TensorTriple attentionGradientsByRows(const at::Tensor& gradO, const at::Tensor& gradLogSumExp,
                                      const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const AttentionOptions& options)
{
    const RowBlocks blocks(q, k, v, options, at::kDouble);
    const at::Tensor gradOutput = blocks.queriesLike(gradO);
    const at::Tensor gradLse =
        gradLogSumExp.defined()
            ? (q.dim() == 3 ? gradLogSumExp.unsqueeze(1) : gradLogSumExp).to(at::kDouble).unsqueeze(-1)
            : at::Tensor();
    std::vector<at::Tensor> gradQ;
    at::Tensor gradK = at::zeros_like(blocks.k());
    at::Tensor gradV = at::zeros_like(blocks.v());
    blocks.forEach([&](const Block& block) {
        const at::Tensor& p = block.probabilities;
        const at::Tensor grad = gradOutput.narrow(2, block.first, block.count);
        const at::Tensor gradP = grad.matmul(blocks.v().transpose(-1, -2));
        at::Tensor delta = (p * gradP).sum(-1, /*keepdim=*/true);
        if (gradLse.defined()) {
            delta = delta - gradLse.narrow(2, block.first, block.count);
        }
        const at::Tensor gradScores = p * (gradP - delta) * blocks.scale();
        gradQ.push_back(gradScores.matmul(blocks.k()));
        gradK += gradScores.transpose(-1, -2).matmul(blocks.q().narrow(2, block.first, block.count));
        gradV += p.transpose(-1, -2).matmul(grad);
    });
    const auto keysGradient = [&](const at::Tensor& gradient, const at::Tensor& like) {
        return blocks.sumOfGroups(gradient).to(like.scalar_type()).view(like.sizes());
    };
    return {joined(gradQ, q, q.scalar_type()), keysGradient(gradK, k), keysGradient(gradV, v)};
}

std::tuple<at::Tensor, at::Tensor>
attentionTangentsByRows(const TensorTriple& x, const TensorTriple& tangents, const AttentionOptions& options)
{
    const auto& [q, k, v] = x;
    const bool single = fitsFp32(options.scale.value_or(1));
    const RowBlocks blocks(q, k, v, options, single ? statisticsType(q) : at::kDouble);
    const at::Tensor queryTangent = tangents[0].defined() ? blocks.queriesLike(tangents[0]) : at::Tensor();
    const at::Tensor keyTangent = tangents[1].defined() ? blocks.keysLike(tangents[1]) : at::Tensor();
    const at::Tensor valueTangent = tangents[2].defined() ? blocks.keysLike(tangents[2]) : at::Tensor();
    std::vector<at::Tensor> outputs, logSumExps;
    blocks.forEach([&](const Block& block) {
        const at::Tensor& p = block.probabilities;
        const at::Tensor queries = blocks.q().narrow(2, block.first, block.count);
        at::Tensor output = at::zeros_like(queries);
        at::Tensor logSumExp = at::zeros_like(block.logSumExp);
        at::Tensor scores;
        if (queryTangent.defined()) {
            scores = queryTangent.narrow(2, block.first, block.count).matmul(blocks.k().transpose(-1, -2));
        }
        if (keyTangent.defined()) {
            const at::Tensor more = queries.matmul(keyTangent.transpose(-1, -2));
            scores = scores.defined() ? scores + more : more;
        }
        if (scores.defined()) {
            const at::Tensor weighted = p * (scores * blocks.scale());
            const at::Tensor sum = weighted.sum(-1, /*keepdim=*/true);
            logSumExp = sum.squeeze(-1);
            output = (weighted - p * sum).matmul(blocks.v());
        }
        if (valueTangent.defined()) {
            output = output + p.matmul(valueTangent);
        }
        outputs.push_back(output);
        logSumExps.push_back(logSumExp);
    });
    return {joined(outputs, q, q.scalar_type()), joined(logSumExps, q, statisticsType(q))};
}

} // namespace tilescope::kernels
