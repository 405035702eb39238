#pragma once

#include "kernels/include/attention.h"
#include "kernels/include/mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

/// Attention in fp64, and the worst-case bound of the difference between it and a kernel's results, for tests
/// in C++. tests/gpu/attention/error_bound.py derives the bound.
namespace tilescope::kernels {

/// Unit roundoffs of a precision, with the letters of the derivation.
struct UnitRoundoffs {
    double operand;     ///< u
    double output;      ///< w
    double sum;         ///< e
    double exponential; ///< t
    double quantum = 0; ///< s
    double product = 0; ///< x
};

inline UnitRoundoffs arithmeticOf(ElementType type, Fp32Mode mode = Fp32Mode::Ieee)
{
    switch (type) {
    case ElementType::BFloat16:
        return {.operand = 0x1p-8, .output = 0x1p-8, .sum = 0x1p-24, .exponential = 0x1p-18};
    case ElementType::Float16:
        return {.operand = 0x1p-11,
                .output = 0x1p-11,
                .sum = 0x1p-24,
                .exponential = 0x1p-18,
                .quantum = 0x1p-24,
                .product = 0x1p-18};
    case ElementType::Float64:
        return {.operand = 0, .output = 0x1p-53, .sum = 0x1p-53, .exponential = 0x1p-50};
    case ElementType::Float32:
        break;
    }
    return mode == Fp32Mode::Tf32
               ? UnitRoundoffs{.operand = 0x1p-11, .output = 0x1p-24, .sum = 0x1p-24, .exponential = 0x1p-18}
               : UnitRoundoffs{.operand = 0,
                               .output = 0x1p-24,
                               .sum = 0x1p-24,
                               .exponential = 0x1p-21,
                               .product = 0x1p-23};
}

/// Dense (batch, head, row, column) inputs as the products use them: rounded for TF32.
struct DenseInputs {
    AttentionShape shape;
    bool causal = false;
    double scale = 1;
    std::vector<double> q, k, v;
    std::vector<double> gradO = {};         ///< empty: forward only
    std::vector<double> gradLogSumExp = {}; ///< per row; empty: 0
};

/// The source of backward's delta and log-sum-exp: the kernel's forward, or exact values.
enum class RowSource : unsigned char { OfForward, Exact };

struct Bounded {
    std::vector<double> exact, allowed;
    explicit Bounded(std::size_t count) : exact(count), allowed(count) {}
};

/// The results of a problem, dense like the inputs, with their bounds.
class BoundedAttention {
public:
    BoundedAttention(const DenseInputs& inputs, const UnitRoundoffs& arithmetic,
                     RowSource source = RowSource::OfForward)
        : in_(inputs), a_(arithmetic), source_(source),
          lost_(a_.quantum / 2 + (a_.sum == 0x1p-53 ? 0x1p-1000 : 0x1p-100)),
          depth_(static_cast<std::size_t>(in_.shape.headDim)), keys_(static_cast<double>(in_.shape.keys)),
          queries_(static_cast<double>(in_.shape.queries) * static_cast<double>(in_.shape.queryHeads) /
                   static_cast<double>(in_.shape.keyHeads)),
          o(in_.q.size()), logSumExp(in_.q.size() / depth_), gradQ(in_.q.size()), gradK(in_.k.size()),
          gradV(in_.k.size())
    {
        const AttentionShape& shape = in_.shape;
        for (std::int64_t head = 0; head < shape.batch * shape.queryHeads; ++head) {
            const std::int64_t keyHead = head / shape.queryHeads * shape.keyHeads +
                                         head % shape.queryHeads / (shape.queryHeads / shape.keyHeads);
            for (std::int64_t query = 0; query < shape.queries; ++query) {
                row(static_cast<std::size_t>(head * shape.queries + query),
                    static_cast<std::size_t>(keyHead * shape.keys), query);
            }
        }
        for (Bounded* gradient : {&gradQ, &gradK, &gradV}) {
            for (std::size_t i = 0; i < gradient->exact.size(); ++i) {
                gradient->allowed[i] += a_.output * std::abs(gradient->exact[i]) + lost_;
            }
        }
        for (Bounded* part : {&o, &gradQ, &gradK, &gradV}) {
            for (double& allowed : part->allowed) {
                allowed *= 1 + 2 * (a_.operand + a_.output); // products of roundings
            }
        }
    }

private:
    struct Key {
        double p, scoreError;
    };

    double dot(const std::vector<double>& a, std::size_t rowOfA, const std::vector<double>& b,
               std::size_t rowOfB, bool absolute) const
    {
        double sum = 0;
        for (std::size_t c = 0; c < depth_; ++c) {
            const double term = a[rowOfA * depth_ + c] * b[rowOfB * depth_ + c];
            sum += absolute ? std::abs(term) : term;
        }
        return sum;
    }

    void row(std::size_t row, std::size_t firstKey, std::int64_t query)
    {
        const auto seen = static_cast<std::size_t>(
            MaskPolicy<std::int64_t>{in_.shape.queries, in_.shape.keys, in_.causal}.keysSeenBy(query));
        logSumExp.exact[row] = -std::numeric_limits<double>::infinity();
        if (seen == 0) {
            return;
        }
        const double d = in_.shape.headDim;
        std::vector<Key> keys(seen);
        double largest = -std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < seen; ++j) {
            const double score = in_.scale * dot(in_.q, row, in_.k, firstKey + j, false);
            const double size = std::abs(in_.scale) * dot(in_.q, row, in_.k, firstKey + j, true);
            keys[j] = {score, (2 * (d + 1) * a_.sum + a_.product) * size + 4 * a_.sum * std::abs(score) +
                                  a_.exponential};
            largest = std::max(largest, score);
        }
        double sum = 0;
        for (Key& key : keys) {
            key.p = std::exp(key.p - largest);
            sum += key.p;
        }
        double error = 0;
        for (Key& key : keys) {
            key.p /= sum;
            error += key.p * key.scoreError;
        }
        const double lse = largest + std::log(sum);
        logSumExp.exact[row] = lse;
        logSumExp.allowed[row] = error + a_.sum * (keys_ / 2 + 4 * std::abs(lse) + 4) + a_.exponential;
        output(row, firstKey, keys, error, sum);
        if (!in_.gradO.empty()) {
            gradients(row, firstKey, keys);
        }
    }

    void output(std::size_t row, std::size_t firstKey, const std::vector<Key>& keys, double error, double sum)
    {
        for (std::size_t c = 0; c < depth_; ++c) {
            double exact = 0;
            double allowed = 0;
            for (std::size_t j = 0; j < keys.size(); ++j) {
                const double value = in_.v[(firstKey + j) * depth_ + c];
                exact += keys[j].p * value;
                allowed +=
                    (keys[j].p * (keys[j].scoreError + a_.operand + a_.product + (2 * keys_ + 4) * a_.sum) +
                     lost_ / sum) *
                    std::abs(value);
            }
            o.exact[row * depth_ + c] = exact;
            o.allowed[row * depth_ + c] = allowed + (error + a_.output) * std::abs(exact) + lost_;
        }
    }

    void gradients(std::size_t row, std::size_t firstKey, const std::vector<Key>& keys)
    {
        const double d = in_.shape.headDim;
        const double rowError = source_ == RowSource::Exact
                                    ? a_.sum * (4 * std::abs(logSumExp.exact[row]) + 4) + a_.exponential
                                    : logSumExp.allowed[row];
        std::vector<double> gradP(keys.size());
        std::vector<double> gradPError(keys.size());
        double delta = 0;
        double deltaError = 0;
        for (std::size_t j = 0; j < keys.size(); ++j) {
            gradP[j] = dot(in_.gradO, row, in_.v, firstKey + j, false);
            gradPError[j] =
                (2 * (d + 1) * a_.sum + a_.product) * dot(in_.gradO, row, in_.v, firstKey + j, true);
            delta += keys[j].p * gradP[j];
            deltaError += keys[j].p * (gradPError[j] + (keys[j].scoreError + rowError) * std::abs(gradP[j]));
        }
        for (std::size_t c = 0; c < depth_; ++c) {
            deltaError += o.allowed[row * depth_ + c] * std::abs(in_.gradO[row * depth_ + c]);
        }
        delta -= in_.gradLogSumExp.empty() ? 0 : in_.gradLogSumExp[row];
        if (source_ == RowSource::Exact) {
            deltaError = a_.sum * std::abs(delta);
        }
        const double scale = std::abs(in_.scale);
        for (std::size_t j = 0; j < keys.size(); ++j) {
            const double p = keys[j].p;
            const double relative = keys[j].scoreError + rowError;
            const double gradScore = p * (gradP[j] - delta);
            const double size = std::abs(gradScore);
            // A kernel may make dS from the P that it rounded for dv. Below 2^-14 fp16 has only subnormal
            // numbers, and rounding changes P by up to half a quantum: dP - delta multiplies this change, and
            // the error of dP - delta multiplies the rounded P.
            const double half = a_.quantum / 2;
            const double gradScoreError =
                size * (relative + 2 * a_.operand + 8 * a_.sum) +
                (p + half) *
                    (gradPError[j] + deltaError + 4 * a_.sum * (std::abs(gradP[j]) + std::abs(delta))) +
                half * std::abs(gradP[j] - delta) + lost_ * std::max(1.0, scale > 0 ? 1 / scale : 1.0);
            for (std::size_t c = 0; c < depth_; ++c) {
                const std::size_t ofQuery = row * depth_ + c;
                const std::size_t ofKey = (firstKey + j) * depth_ + c;
                const double grad = in_.gradO[ofQuery];
                gradQ.exact[ofQuery] += in_.scale * gradScore * in_.k[ofKey];
                gradQ.allowed[ofQuery] += scale *
                                          (gradScoreError + (a_.product + (2 * keys_ + 4) * a_.sum) * size) *
                                          std::abs(in_.k[ofKey]);
                gradK.exact[ofKey] += in_.scale * gradScore * in_.q[ofQuery];
                gradK.allowed[ofKey] += scale *
                                        (gradScoreError + (a_.product + (2 * queries_ + 4) * a_.sum) * size) *
                                        std::abs(in_.q[ofQuery]);
                gradV.exact[ofKey] += p * grad;
                gradV.allowed[ofKey] +=
                    (p * (relative + a_.operand + a_.product + (2 * queries_ + 4) * a_.sum) + lost_) *
                    std::abs(grad);
            }
        }
    }

    const DenseInputs in_;
    const UnitRoundoffs a_;
    const RowSource source_;
    const double lost_; ///< per rounded number: half a quantum, or an exponential that underflows
    const std::size_t depth_;
    const double keys_, queries_; ///< number of terms in a row of o, and in a row of the keys' gradients

public:
    Bounded o, logSumExp, gradQ, gradK, gradV;
};

/// \param results  dense, like the exact ones
template <class Value>
void expectWithin(const char* name, const Bounded& bound, const std::vector<Value>& results)
{
    ASSERT_EQ(results.size(), bound.exact.size()) << name;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const double result = static_cast<double>(results[i]);
        if (std::isinf(bound.exact[i])) {
            ASSERT_EQ(result, bound.exact[i]) << name << ", element " << i;
        } else {
            ASSERT_NEAR(result, bound.exact[i], bound.allowed[i]) << name << ", element " << i;
        }
    }
}

} // namespace tilescope::kernels
