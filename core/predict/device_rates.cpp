#include "core/predict/device_rates.h"

#include "core/model/ceilings.h"
#include "core/predict/fused_kernels.h"

#include <string_view>

namespace tilescope::predict {

namespace {

bool isOf(const Ceiling& ceiling, const TargetDevice& device)
{
    return ceiling.deviceName == device.name || (!device.uuid.empty() && ceiling.device == device.uuid);
}

const Ceiling* latest(std::span<const Ceiling> ceilings, const TargetDevice& device, std::string_view kind)
{
    const Ceiling* found = nullptr;
    for (const Ceiling& ceiling : ceilings) {
        if (isOf(ceiling, device) && ceiling.kind == kind &&
            (found == nullptr || ceiling.measuredUnixNs > found->measuredUnixNs))
            found = &ceiling;
    }
    return found;
}

/// Assumed: what large collectives reach of the nominal bandwidth of NVLink.
constexpr double kLinkShare = 0.8;
/// Accesses to memory per byte that a rank on a CPU sends: it is copied to shared memory, read there and added.
constexpr double kSharedAccesses = 4;

} // namespace

DeviceRates DeviceRates::shareOf(int processes) const
{
    DeviceRates share = *this;
    for (double DeviceRates::*rate :
         {&DeviceRates::fp32, &DeviceRates::tf32, &DeviceRates::bf16, &DeviceRates::fp16, &DeviceRates::fp8,
          &DeviceRates::bytes, &DeviceRates::link})
        share.*rate /= processes;
    return share;
}

void DeviceRates::assumeLink(double nominal)
{
    if (link <= 0)
        link = kLinkShare * nominal;
}

double DeviceRates::flops(Type type, bool isTf32) const
{
    switch (type) {
    case Type::BFloat16:
        return bf16;
    case Type::Float16:
        return fp16;
    case Type::Float8:
        return fp8;
    default:
        return isTf32 ? tf32 : fp32;
    }
}

std::optional<DeviceRates> DeviceRates::from(std::span<const Ceiling> ceilings, const TargetDevice& device)
{
    bool isBusy = false;
    const auto rate = [&](std::string_view kind) {
        const Ceiling* ceiling = latest(ceilings, device, kind);
        isBusy = isBusy || (ceiling != nullptr && isFromBusyHost(ceilings, *ceiling));
        return ceiling == nullptr ? 0.0 : ceiling->value;
    };
    DeviceRates rates{.fp32 = rate("matmul_fp32"),
                      .tf32 = rate("matmul_tf32"),
                      .bf16 = rate("matmul_bf16"),
                      .fp16 = rate("matmul_fp16"),
                      .fp8 = rate("matmul_fp8"),
                      .bytes = rate("copy"),
                      .isCuda = device.isCuda,
                      .multiprocessors = device.multiprocessors};
    const double launches = rate("launch");
    if (rates.fp32 <= 0 || rates.bytes <= 0 || launches <= 0)
        return {};
    rates.launch = 1 / launches;
    rates.link = device.isCuda ? rate(kPeerCopy) : rates.bytes / kSharedAccesses;
    rates.assumeLink(rate(kNvlink));
    std::map<std::string, double> attention;
    for (const Ceiling& ceiling : ceilings)
        if (ceiling.kind.starts_with("attention_") && isOf(ceiling, device))
            attention[ceiling.kind] = rate(ceiling.kind);
    rates.attentionPace = attentionPaces(attention, rates);
    rates.onBusyHost = isBusy;
    return rates;
}

std::optional<int> multiprocessorsOf(std::span<const Ceiling> ceilings, const TargetDevice& device)
{
    const Ceiling* recorded = latest(ceilings, device, "multiprocessors");
    if (recorded == nullptr || !(recorded->value >= 1 && recorded->value <= 4096))
        return {};
    return static_cast<int>(recorded->value);
}

} // namespace tilescope::predict
