// The kernels of the language model as plain loops: the reference for the CUDA kernels, and their replacement on
// a CPU. Arithmetic is in the type of sums, sums over a row in fp64; elements are rounded once, when written.
#include "kernels/include/lm.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace tilescope::kernels {

namespace {

struct Bf16 {
    std::uint16_t bits = 0;
};

template <class T> struct SumOf {
    using Type = T;
};
template <> struct SumOf<Bf16> {
    using Type = float;
};
template <class T> using Sum = typename SumOf<T>::Type;

float number(Bf16 value)
{
    return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}
float number(float value)
{
    return value;
}
double number(double value)
{
    return value;
}

void put(float& target, float value)
{
    target = value;
}
void put(double& target, double value)
{
    target = value;
}
// To nearest, ties to even.
void put(Bf16& target, float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    target.bits = std::isnan(value) ? std::uint16_t{0x7fff}
                                    : static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Calls work(T{}) for elements of that type.
template <class Work> void dispatch(ElementType type, const Work& work)
{
    switch (type) {
    case ElementType::BFloat16:
        return work(Bf16{});
    case ElementType::Float32:
        return work(float{});
    case ElementType::Float64:
        return work(double{});
    default:
        throw std::runtime_error("the kernels of the language model have no fp16 elements");
    }
}

template <class T> const T* at(const void* base, std::int64_t offset)
{
    return static_cast<const T*>(base) + offset;
}
template <class T> T* at(void* base, std::int64_t offset)
{
    return static_cast<T*>(base) + offset;
}

template <class S> S sigmoid(S x)
{
    return 1 / (1 + std::exp(-x));
}

template <class T> void addRmsNormRow(const AddRmsNorm& norm, std::int64_t row)
{
    using S = Sum<T>;
    const std::int64_t begin = row * norm.width;
    const S* sum = at<S>(norm.x, begin);
    if (norm.addend) {
        const S* x = sum;
        const T* addend = at<T>(norm.addend, begin);
        S* target = at<S>(norm.sum, begin);
        for (std::int64_t i = 0; i < norm.width; ++i)
            target[i] = x[i] + number(addend[i]);
        sum = target;
    }
    double squares = 0;
    for (std::int64_t i = 0; i < norm.width; ++i)
        squares += double{sum[i]} * sum[i];
    const auto reciprocal =
        static_cast<S>(1 / std::sqrt(squares / static_cast<double>(norm.width) + norm.epsilon));
    *at<S>(norm.reciprocalRms, row) = reciprocal;
    const S* weight = at<S>(norm.weight, 0);
    T* y = at<T>(norm.y, begin);
    for (std::int64_t i = 0; i < norm.width; ++i)
        put(y[i], sum[i] * reciprocal * weight[i]);
}

// With n = x r and g = gradY w: gradX = r (g - n mean(g n)).
template <class T> void rmsNormBackwardRow(const RmsNormBackward& norm, std::int64_t row, Sum<T>* part)
{
    using S = Sum<T>;
    const std::int64_t begin = row * norm.width;
    const T* gradY = at<T>(norm.gradY, begin);
    const S* x = at<S>(norm.x, begin);
    const S* weight = at<S>(norm.weight, 0);
    const S reciprocal = *at<S>(norm.reciprocalRms, row);
    double product = 0;
    for (std::int64_t i = 0; i < norm.width; ++i)
        product += double{number(gradY[i])} * weight[i] * x[i] * reciprocal;
    const auto mean = static_cast<S>(product / static_cast<double>(norm.width));
    const S* residual = norm.gradResidual ? at<S>(norm.gradResidual, begin) : nullptr;
    S* gradX = at<S>(norm.gradX, begin);
    T* rounded = at<T>(norm.gradXRounded, begin);
    for (std::int64_t i = 0; i < norm.width; ++i) {
        const S normed = x[i] * reciprocal;
        const S gradient = reciprocal * (number(gradY[i]) * weight[i] - normed * mean);
        gradX[i] = residual ? residual[i] + gradient : gradient;
        put(rounded[i], gradX[i]);
        part[i] += number(gradY[i]) * normed;
    }
}

template <class T> void rotateRow(const RotateHeads& rotate, std::int64_t row)
{
    using S = Sum<T>;
    const S* rotation = at<S>(rotate.rotation, row % rotate.positions * rotate.headDim);
    T* x = at<T>(rotate.x, row * rotate.width);
    for (std::int64_t i = 0; i < rotate.heads * rotate.headDim; i += 2) {
        const S cosine = rotation[i % rotate.headDim];
        const S sine = rotate.inverse ? -rotation[i % rotate.headDim + 1] : rotation[i % rotate.headDim + 1];
        const S a = number(x[i]);
        const S b = number(x[i + 1]);
        put(x[i], a * cosine - b * sine);
        put(x[i + 1], a * sine + b * cosine);
    }
}

template <class T> void crossEntropyRow(const CrossEntropy& loss, std::int64_t row)
{
    using S = Sum<T>;
    T* logits = at<T>(loss.logits, row * loss.vocabulary);
    const std::int64_t target = loss.targets[row];
    S maximum = -std::numeric_limits<S>::infinity();
    for (std::int64_t i = 0; i < loss.vocabulary; ++i)
        maximum = std::max<S>(maximum, number(logits[i]));
    double total = 0;
    for (std::int64_t i = 0; i < loss.vocabulary; ++i)
        total += std::exp(number(logits[i]) - maximum);
    const auto sum = static_cast<S>(total);
    const bool isValid = target >= 0 && target < loss.vocabulary;
    const S invalid = std::numeric_limits<S>::quiet_NaN();
    *at<S>(loss.losses, row) = isValid ? std::log(sum) + maximum - number(logits[target]) : invalid;
    const S scale = isValid ? static_cast<S>(loss.scale) : invalid;
    for (std::int64_t i = 0; i < loss.vocabulary; ++i) {
        const S probability = std::exp(number(logits[i]) - maximum) / sum;
        put(logits[i], (probability - (i == target ? 1 : 0)) * scale);
    }
}

void splitRow(const SplitBf16& split, std::int64_t row)
{
    const std::int64_t pitch = split.below ? split.width : split.copies * split.width;
    const std::int64_t between = split.below ? split.rows * split.width : split.width;
    const float* x = split.x + row * split.width;
    Bf16* target = at<Bf16>(split.parts, row * pitch);
    for (std::int64_t i = 0; i < split.width; ++i) {
        std::array<Bf16, 3> parts;
        float rest = x[i];
        for (Bf16& part : parts) {
            put(part, rest);
            rest -= number(part);
        }
        for (std::int64_t copy = 0; copy < split.copies; ++copy)
            target[copy * between + i] = parts[SplitBf16::part(copy, split.left)];
    }
}

/// AdamW of one weight in the type of sums, as torch.optim.AdamW orders it.
template <class S> struct AdamwStep {
    AdamwStep(const AdamwOptions& given, double step)
        : options(given), stepSize(given.learningRate / (1 - std::pow(given.beta1, step))),
          root(std::sqrt(1 - std::pow(given.beta2, step)))
    {
    }

    S updated(S weight, S gradient, S& first, S& second) const
    {
        const auto as = [](double value) { return static_cast<S>(value); };
        weight -= as(options.learningRate * options.weightDecay) * weight;
        first = as(options.beta1) * first + as(1 - options.beta1) * gradient;
        second = as(options.beta2) * second + as(1 - options.beta2) * gradient * gradient;
        return weight - as(stepSize) * first / (std::sqrt(second) / as(root) + as(options.epsilon));
    }

    AdamwOptions options;
    double stepSize;
    double root;
};

void updateSplit(const AdamwTensor& tensor, const AdamwStep<float>& step, std::int64_t i)
{
    Bf16& weight = *at<Bf16>(tensor.weight, i);
    const std::uint32_t bits =
        (std::uint32_t{weight.bits} << 16) + static_cast<std::uint32_t>(std::int32_t{tensor.remainder[i]});
    const float updated = step.updated(std::bit_cast<float>(bits), *at<float>(tensor.gradient, i),
                                       *at<float>(tensor.firstMoment, i), *at<float>(tensor.secondMoment, i));
    const auto newBits = std::bit_cast<std::uint32_t>(updated);
    tensor.remainder[i] = static_cast<std::int16_t>(newBits & 0xffff);
    weight.bits = static_cast<std::uint16_t>((newBits + 0x8000) >> 16);
}

} // namespace

void addRmsNormCpu(ElementType type, const AddRmsNorm& norm, std::int64_t begin, std::int64_t end)
{
    dispatch(type, [&]<class T>(T) {
        for (std::int64_t row = begin; row < end; ++row)
            addRmsNormRow<T>(norm, row);
    });
}

void rmsNormBackwardCpu(ElementType type, const RmsNormBackward& norm, std::int64_t begin, std::int64_t end)
{
    dispatch(type, [&]<class T>(T) {
        for (std::int64_t part = begin; part < end; ++part) {
            Sum<T>* sums = at<Sum<T>>(norm.weightParts, part * norm.width);
            std::fill_n(sums, norm.width, Sum<T>{0});
            for (std::int64_t row = part; row < norm.rows; row += norm.parts)
                rmsNormBackwardRow<T>(norm, row, sums);
        }
    });
}

void sumPartsCpu(ElementType type, const SumParts& sum, std::int64_t begin, std::int64_t end)
{
    dispatch(type, [&]<class T>(T) {
        using S = Sum<T>;
        for (std::int64_t column = begin; column < end; ++column) {
            double total = 0;
            for (std::int64_t part = 0; part < sum.parts; ++part)
                total += *at<S>(sum.x, part * sum.width + column);
            *at<S>(sum.sum, column) = static_cast<S>(total);
        }
    });
}

void rotateHeadsCpu(ElementType type, const RotateHeads& rotate, std::int64_t begin, std::int64_t end)
{
    dispatch(type, [&]<class T>(T) {
        for (std::int64_t row = begin; row < end; ++row)
            rotateRow<T>(rotate, row);
    });
}

void swiGluCpu(ElementType type, const SwiGlu& glu, std::int64_t begin, std::int64_t end)
{
    dispatch(type, [&]<class T>(T) {
        for (std::int64_t row = begin; row < end; ++row) {
            const T* gate = at<T>(glu.x, 2 * row * glu.width);
            const T* up = gate + glu.width;
            T* y = at<T>(glu.y, row * glu.width);
            for (std::int64_t i = 0; i < glu.width; ++i)
                put(y[i], number(gate[i]) * sigmoid(number(gate[i])) * number(up[i]));
        }
    });
}

void swiGluBackwardCpu(ElementType type, const SwiGluBackward& glu, std::int64_t begin, std::int64_t end)
{
    dispatch(type, [&]<class T>(T) {
        using S = Sum<T>;
        for (std::int64_t row = begin; row < end; ++row) {
            T* gate = at<T>(glu.x, 2 * row * glu.width);
            T* up = gate + glu.width;
            T* gradY = at<T>(glu.gradY, row * glu.width);
            for (std::int64_t i = 0; i < glu.width; ++i) {
                const S a = number(gate[i]);
                const S b = number(up[i]);
                const S gradient = number(gradY[i]);
                const S s = sigmoid(a);
                put(gradY[i], a * s * b);
                put(gate[i], gradient * b * s * (1 + a * (1 - s)));
                put(up[i], gradient * a * s);
            }
        }
    });
}

void crossEntropyCpu(ElementType type, const CrossEntropy& loss, std::int64_t begin, std::int64_t end)
{
    dispatch(type, [&]<class T>(T) {
        for (std::int64_t row = begin; row < end; ++row)
            crossEntropyRow<T>(loss, row);
    });
}

void embeddingBackwardCpu(ElementType type, const EmbeddingBackward& embedding)
{
    dispatch(type, [&]<class T>(T) {
        using S = Sum<T>;
        S* gradWeight = at<S>(embedding.gradWeight, 0);
        std::fill_n(gradWeight, embedding.vocabulary * embedding.width, S{0});
        for (std::int64_t t = 0; t < embedding.tokens; ++t) {
            const S* gradient = at<S>(embedding.gradient, t * embedding.width);
            S* row = gradWeight + embedding.token[t] * embedding.width;
            for (std::int64_t i = 0; i < embedding.width; ++i)
                row[i] += gradient[i];
        }
    });
}

void splitBf16Cpu(const SplitBf16& split, std::int64_t begin, std::int64_t end)
{
    for (std::int64_t row = begin; row < end; ++row)
        splitRow(split, row);
}

void adamwCpu(ElementType type, const AdamwTensor& tensor, const AdamwOptions& options, double step,
              std::int64_t begin, std::int64_t end)
{
    dispatch(type, [&]<class T>(T) {
        const AdamwStep<Sum<T>> one(options, step);
        for (std::int64_t i = begin; i < end; ++i) {
            if constexpr (std::is_same_v<T, Bf16>) {
                updateSplit(tensor, one, i);
            } else {
                T& weight = *at<T>(tensor.weight, i);
                weight = one.updated(weight, *at<T>(tensor.gradient, i), *at<T>(tensor.firstMoment, i),
                                     *at<T>(tensor.secondMoment, i));
            }
        }
    });
}

} // namespace tilescope::kernels
