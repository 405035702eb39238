#include "core/predict/work_clock.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace tilescope::predict {

namespace {

// The least time of a kernel on a GPU, and what a phase takes besides: its first launch, the synchronisation
// at its end, and for backward the way to autograd's thread and back.
constexpr double kKernelSeconds = 2e-6;
constexpr double kForwardPhaseSeconds = 30e-6;
constexpr double kBackwardPhaseSeconds = 70e-6;
// Of the bandwidth of a large copy: operations read and write several streams, through views of other
// strides.
constexpr double kStreamShare = 0.75;
// Values of two bytes are read and written in smaller pieces.
constexpr double kNarrowShare = 0.62;
// TF32 needs far larger products than others to come near its ceiling.
constexpr double kTf32Share = 0.7;

// An operation of a model costs the host more than the in-place addition that the ceiling `launch` counts: it
// allocates, records a node and goes through autocast. Seen on an H200's host with the lm.
constexpr double kForwardOverLaunch = 2.4;
constexpr double kBackwardOverLaunch = 2.9;

/// Tiles that cuBLAS chooses among, and the share of the full rate that one can reach.
struct Tile {
    double rows, columns, share;
};
constexpr std::array kTiles{Tile{256, 128, 1.0}, Tile{128, 128, 0.95}, Tile{128, 64, 0.85},
                            Tile{64, 64, 0.75},  Tile{64, 32, 0.55},   Tile{32, 32, 0.35}};

double wavesShare(double tiles, double slots)
{
    const double waves = std::ceil(tiles / slots);
    return tiles / (waves * slots);
}

const Ceiling* latest(std::span<const Ceiling> ceilings, const TargetDevice& device, std::string_view kind)
{
    const Ceiling* found = nullptr;
    for (const Ceiling& ceiling : ceilings) {
        const bool isThis = device.uuid.empty()
                                ? ceiling.deviceName == device.name
                                : ceiling.device == device.uuid || ceiling.deviceName == device.name;
        if (isThis && ceiling.kind == kind &&
            (found == nullptr || ceiling.measuredUnixNs > found->measuredUnixNs))
            found = &ceiling;
    }
    return found;
}

} // namespace

double DeviceRates::flops(Type type, bool isTf32) const
{
    switch (type) {
    case Type::BFloat16:
        return bf16;
    case Type::Float16:
        return fp16;
    default:
        return isTf32 ? tf32 : fp32;
    }
}

std::optional<DeviceRates> DeviceRates::from(std::span<const Ceiling> ceilings, const TargetDevice& device)
{
    const auto rate = [&](std::string_view kind) {
        const Ceiling* ceiling = latest(ceilings, device, kind);
        return ceiling == nullptr ? 0.0 : ceiling->value;
    };
    DeviceRates rates{.fp32 = rate("matmul_fp32"),
                      .tf32 = rate("matmul_tf32"),
                      .bf16 = rate("matmul_bf16"),
                      .fp16 = rate("matmul_fp16"),
                      .bytes = rate("copy"),
                      .isCuda = device.isCuda,
                      .multiprocessors = device.multiprocessors};
    const double launches = rate("launch");
    if (rates.fp32 <= 0 || rates.bytes <= 0 || launches <= 0)
        return {};
    rates.launchForward = kForwardOverLaunch / launches;
    rates.launchBackward = kBackwardOverLaunch / launches;
    return rates;
}

void WorkClock::add(double seconds, double launches)
{
    device_ += rates_.isCuda ? std::max(seconds, launches * kKernelSeconds) : seconds;
    host(launches);
}

void WorkClock::product(Type type, bool isTf32, std::int64_t count, double m, double n, double k)
{
    const auto batch = static_cast<double>(count);
    const double rate = rates_.flops(type, isTf32);
    if (rate <= 0)
        return add(0);
    const double flops = 2 * batch * m * n * k;
    const double bytes = batch * (m * k + k * n + m * n) * static_cast<double>(bytesOf(type));
    double share = rates_.isCuda ? 0 : 1;
    if (rates_.isCuda)
        for (const Tile& tile : kTiles) {
            const double tiles = batch * std::ceil(m / tile.rows) * std::ceil(n / tile.columns);
            const double edges =
                (m * n) / (std::ceil(m / tile.rows) * tile.rows * std::ceil(n / tile.columns) * tile.columns);
            share = std::max(share, tile.share * edges * wavesShare(tiles, rates_.multiprocessors));
        }
    const bool isNarrow = bytesOf(type) == 2;
    if (rates_.isCuda && isTf32 && !isNarrow)
        share *= kTf32Share;
    add(std::max(flops / (rate * share), bytes / (rates_.bytes * (isNarrow ? kNarrowShare : kStreamShare))));
}

void WorkClock::host(double launches)
{
    host_ += launches * (isBackward_ ? rates_.launchBackward : rates_.launchForward);
}

void WorkClock::move(double bytes, bool isNarrow)
{
    add(bytes / (rates_.bytes * (isNarrow ? kNarrowShare : kStreamShare)));
}

void WorkClock::fused(Type type, bool isTf32, double flops, double share, double bytes, double blocks)
{
    const double rate = rates_.flops(type, isTf32) * share;
    if (rate <= 0)
        return add(0);
    const double use = rates_.isCuda ? wavesShare(std::max(blocks, 1.0), rates_.multiprocessors) : 1;
    add(std::max(flops / (rate * use), bytes / rates_.bytes));
}

void WorkClock::repeat(double times, double bytes, double seconds)
{
    add(seconds + bytes / rates_.bytes, times);
}

double WorkClock::takePhase(bool isGraph, bool isBackward)
{
    const double device = std::exchange(device_, 0);
    const double host = std::exchange(host_, 0);
    if (!rates_.isCuda)
        return device + host;
    const double around = isBackward ? kBackwardPhaseSeconds : kForwardPhaseSeconds;
    return (isGraph ? device : std::max(device, host)) + around;
}

} // namespace tilescope::predict
