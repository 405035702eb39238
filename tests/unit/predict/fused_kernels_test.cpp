#include "core/predict/device_rates.h"
#include "core/predict/fused_kernels.h"

#include <gtest/gtest.h>

namespace tilescope::predict {
namespace {

DeviceRates h200()
{
    DeviceRates rates{.fp32 = 51.2e12, .tf32 = 344e12, .bf16 = 671e12, .bytes = 4.27e12, .launch = 5.6e-6};
    rates.isCuda = true;
    rates.multiprocessors = 132;
    return rates;
}

AttentionShape attention(Type type, std::int64_t batch, std::int64_t heads, std::int64_t length,
                         std::int64_t headDim)
{
    AttentionShape shape;
    shape.batch = batch;
    shape.heads = shape.kvHeads = heads;
    shape.queries = shape.keys = length;
    shape.headDim = headDim;
    shape.type = type;
    return shape;
}

double milliseconds(FusedKernel kernel, const AttentionShape& shape, bool isBackward,
                    const DeviceRates& rates = h200())
{
    return 1e3 * fusedSeconds(fusedFigures(kernel, shape, isBackward, rates), shape, isBackward, rates);
}

struct Recorded {
    FusedKernel kernel;
    AttentionShape shape;
    double forward, backward; ///< ms, by kernels alone: tests/bench/results/attention-h200.json
};

TEST(FusedKernels, TakeWhatTheyTookOnAnH200WithFewHeadsAndWithMany)
{
    for (const Recorded& point :
         {Recorded{FusedKernel::Flash, attention(Type::BFloat16, 8, 1, 4096, 64), 0.0646, 0.1027},
          Recorded{FusedKernel::Flash, attention(Type::BFloat16, 8, 1, 16384, 128), 0.7249, 2.1862},
          Recorded{FusedKernel::Cudnn, attention(Type::BFloat16, 8, 1, 1024, 64), 0.0171, 0.0424},
          Recorded{FusedKernel::Cudnn, attention(Type::BFloat16, 8, 1, 16384, 64), 0.6601, 1.5332},
          Recorded{FusedKernel::Efficient, attention(Type::Float32, 8, 1, 1024, 64), 0.1192, 0.2511},
          Recorded{FusedKernel::Efficient, attention(Type::Float32, 8, 1, 16384, 128), 12.3141, 36.4953},
          Recorded{FusedKernel::Flash, attention(Type::Float32, 8, 1, 1024, 64), 0.0455, 0.1484},
          Recorded{FusedKernel::Flash, attention(Type::Float32, 8, 1, 16384, 128), 10.015, 27.53}}) {
        EXPECT_NEAR(milliseconds(point.kernel, point.shape, false), point.forward, 0.15 * point.forward)
            << point.shape.queries << " keys of " << point.shape.headDim;
        EXPECT_NEAR(milliseconds(point.kernel, point.shape, true), point.backward, 0.15 * point.backward)
            << point.shape.queries << " keys of " << point.shape.headDim;
    }
}

TEST(FusedKernels, OneHeadLeavesMostOfTheDeviceIdle)
{
    // Eight times the heads take as long while all their blocks find a place.
    const double one = milliseconds(FusedKernel::Cudnn, attention(Type::BFloat16, 1, 1, 2048, 64), false);
    const double eight = milliseconds(FusedKernel::Cudnn, attention(Type::BFloat16, 1, 8, 2048, 64), false);
    EXPECT_LT(eight, 1.1 * one);
    const double many = milliseconds(FusedKernel::Cudnn, attention(Type::BFloat16, 16, 32, 2048, 64), false);
    EXPECT_GT(many, 25 * one);
    EXPECT_LT(many, 200 * one) << "512 times the work";
}

TEST(FusedKernels, TakeAsLongAsTheDeviceWasMeasuredToTake)
{
    DeviceRates rates = h200();
    const AttentionShape full = attention(Type::Float32, 8, 16, 8192, 64);
    const double known = milliseconds(FusedKernel::Flash, full, false, rates);
    const std::string kind = ceilingKind(FusedKernel::Flash, full, false);
    EXPECT_EQ(kind, "attention_flash_fp32_forward");
    rates.attention[kind] = 51.2e12 * 1.09 / 2;
    EXPECT_NEAR(milliseconds(FusedKernel::Flash, full, false, rates), 2 * known, 0.03 * known);
    // One head of 4,096 rows, its longest block alone on a multiprocessor.
    AttentionShape lone = attention(Type::Float32, 1, 1, 4096, 64);
    constexpr double kLoneFlops = 4e12;
    rates.attention[kind + "_lone"] = kLoneFlops;
    const double flops = 4.0 * 4096 * 4096 / 2 * 64;
    EXPECT_NEAR(milliseconds(FusedKernel::Flash, lone, false, rates), 1e3 * flops / kLoneFlops,
                0.03 * 1e3 * flops / kLoneFlops);
    lone.isTf32 = true;
    EXPECT_EQ(ceilingKind(FusedKernel::Flash, lone, true), "attention_flash_tf32_backward");
}

} // namespace
} // namespace tilescope::predict
