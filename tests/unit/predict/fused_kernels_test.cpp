#include "core/predict/device_rates.h"
#include "core/predict/fused_kernels.h"

#include <gtest/gtest.h>

namespace tilescope::predict {
namespace {

DeviceRates ratesOfH200()
{
    DeviceRates rates{.fp32 = 51.2e12, .tf32 = 344e12, .bf16 = 671e12, .bytes = 4.27e12, .launch = 5.6e-6};
    rates.isCuda = true;
    rates.multiprocessors = 132;
    return rates;
}

TypedAttention attentionShape(Type type, std::int64_t batch, std::int64_t heads, std::int64_t length,
                              std::int64_t headDim)
{
    TypedAttention shape;
    shape.batch = batch;
    shape.heads = shape.kvHeads = heads;
    shape.queries = shape.keys = length;
    shape.headDim = headDim;
    shape.type = type;
    return shape;
}

double milliseconds(FusedKernel kernel, const TypedAttention& shape, bool isBackward,
                    const DeviceRates& rates = ratesOfH200())
{
    return 1e3 * fusedSeconds(fusedFigures(kernel, shape, isBackward, rates), shape, isBackward, rates);
}

struct RecordedTime {
    FusedKernel kernel;
    TypedAttention shape;
    double forward, backward; ///< ms, by kernels alone: tests/bench/results/attention-h200.json
};

TEST(FusedKernels, TakeWhatTheyTookOnAnH200WithFewHeadsAndWithMany)
{
    for (const RecordedTime& point :
         {RecordedTime{FusedKernel::Flash, attentionShape(Type::BFloat16, 8, 1, 4096, 64), 0.0533, 0.1025},
          RecordedTime{FusedKernel::Flash, attentionShape(Type::BFloat16, 8, 1, 16384, 128), 0.7129, 2.1895},
          RecordedTime{FusedKernel::Cudnn, attentionShape(Type::BFloat16, 8, 1, 1024, 64), 0.0171, 0.0424},
          RecordedTime{FusedKernel::Cudnn, attentionShape(Type::BFloat16, 8, 1, 16384, 64), 0.6601, 1.5332},
          RecordedTime{FusedKernel::Efficient, attentionShape(Type::Float32, 8, 1, 1024, 64), 0.1192, 0.2511},
          RecordedTime{FusedKernel::Efficient, attentionShape(Type::Float32, 8, 1, 16384, 128), 12.3141,
                       36.4953},
          RecordedTime{FusedKernel::Flash, attentionShape(Type::Float32, 8, 1, 1024, 64), 0.0455, 0.1484},
          RecordedTime{FusedKernel::Flash, attentionShape(Type::Float32, 8, 1, 16384, 128), 10.015, 27.53}}) {
        EXPECT_NEAR(milliseconds(point.kernel, point.shape, false), point.forward, 0.15 * point.forward)
            << point.shape.queries << " keys of " << point.shape.headDim;
        EXPECT_NEAR(milliseconds(point.kernel, point.shape, true), point.backward, 0.15 * point.backward)
            << point.shape.queries << " keys of " << point.shape.headDim;
    }
}

TEST(FusedKernels, OneHeadLeavesMostOfTheDeviceIdle)
{
    // Eight times the heads take as long while all their blocks find a place.
    const double one =
        milliseconds(FusedKernel::Cudnn, attentionShape(Type::BFloat16, 1, 1, 2048, 64), false);
    const double eight =
        milliseconds(FusedKernel::Cudnn, attentionShape(Type::BFloat16, 1, 8, 2048, 64), false);
    EXPECT_LT(eight, 1.1 * one);
    const double many =
        milliseconds(FusedKernel::Cudnn, attentionShape(Type::BFloat16, 16, 32, 2048, 64), false);
    EXPECT_GT(many, 25 * one);
    EXPECT_LT(many, 200 * one) << "512 times the work";
}

TEST(FusedKernels, TakeAsLongAsTheDeviceWasMeasuredToTake)
{
    const TypedAttention measured = attentionShape(Type::Float32, 4, 16, 4096, 64);
    const double flops = measured.visiblePairs() * 64 * 2;
    for (const FusedKernel kernel : {FusedKernel::Flash, FusedKernel::Efficient})
        for (const bool isBackward : {false, true}) {
            DeviceRates rates = ratesOfH200();
            const double known = milliseconds(kernel, measured, isBackward, rates);
            for (const double slower : {0.5, 1.0, 3.0}) {
                const double seconds = slower * known / 1e3;
                const std::string kind = ceilingKind(kernel, measured, isBackward);
                rates.attentionPace = attentionPaces(
                    {{kind, flops * (isBackward ? 5 : 2) / seconds}, {"attention_other", 1}}, rates);
                ASSERT_EQ(rates.attentionPace.size(), 1U) << kind;
                // The multiprocessor of a block changes abruptly with the pace.
                EXPECT_NEAR(milliseconds(kernel, measured, isBackward, rates), 1e3 * seconds, 20 * seconds)
                    << kind << " takes " << slower << " times as long";
            }
        }
    TypedAttention tf32 = measured;
    tf32.allowTf32 = true;
    EXPECT_EQ(ceilingKind(FusedKernel::Flash, tf32, true), "attention_flash_tf32_backward");
}

TEST(FusedKernels, KeepAPaceThatNoMeasurementCanMean)
{
    // Faster than the kernel's own beginning and end.
    const auto paces = attentionPaces(
        {{"attention_flash_bf16_forward", 1e20}, {"attention_flash_bf16_backward", 0}}, ratesOfH200());
    EXPECT_EQ(paces, (std::map<std::string, double>{{"attention_flash_bf16_forward", 10.0}}));
}

} // namespace
} // namespace tilescope::predict
