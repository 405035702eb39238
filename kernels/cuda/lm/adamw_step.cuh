#pragma once

#include "kernels/include/lm.h"

#include <cmath>

/// AdamW's update of one weight, for the kernels that make it.
namespace tilescope::kernels::lm {

struct AdamwStep {
    float decayed; ///< 1 - learning rate * weight decay
    float beta1, beta2, rest1, rest2, epsilon;
    double learningRate, logBeta1, logBeta2;
    const float* step; ///< on the device, from 1
};

inline AdamwStep adamwStep(const AdamwOptions& options, const float* step)
{
    const auto as = [](double value) { return static_cast<float>(value); };
    return {.decayed = as(1 - options.learningRate * options.weightDecay),
            .beta1 = as(options.beta1),
            .beta2 = as(options.beta2),
            .rest1 = as(1 - options.beta1),
            .rest2 = as(1 - options.beta2),
            .epsilon = as(options.epsilon),
            .learningRate = options.learningRate,
            .logBeta1 = std::log(options.beta1),
            .logBeta2 = std::log(options.beta2),
            .step = step};
}

/// What bias correction makes of the learning rate and of the root of the second moment.
struct AdamwCorrection {
    float stepSize;
    float reciprocalRoot;
};

__device__ inline AdamwCorrection correctionOf(const AdamwStep& step)
{
    const double number = *step.step;
    return {static_cast<float>(step.learningRate / -expm1(number * step.logBeta1)),
            static_cast<float>(rsqrt(-expm1(number * step.logBeta2)))};
}

/// An error of one unit in the last place, without the branches of sqrtf().
__device__ inline float root(float x)
{
    float y;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/// The new weight. Updates the moments. The division has an error of two units in the last place, and no branches: a
/// warp's updates overlap.
__device__ inline float updated(const AdamwStep& step, const AdamwCorrection& correction, float weight,
                                float gradient, float& first, float& second)
{
    first = step.beta1 * first + step.rest1 * gradient;
    second = step.beta2 * second + step.rest2 * gradient * gradient;
    const float denominator = root(second) * correction.reciprocalRoot + step.epsilon;
    return weight * step.decayed - __fdividef(correction.stepSize * first, denominator);
}

// A bf16 weight and its remainder are an fp32 weight (AdamwTensor).
__device__ inline float joined(unsigned short weight, short remainder)
{
    return __uint_as_float((unsigned{weight} << 16) + static_cast<unsigned>(int{remainder}));
}
__device__ inline unsigned short highOf(float value)
{
    return static_cast<unsigned short>((__float_as_uint(value) + 0x8000U) >> 16);
}
__device__ inline short lowOf(float value)
{
    return static_cast<short>(__float_as_uint(value) & 0xffffU);
}

} // namespace tilescope::kernels::lm
