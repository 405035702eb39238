#pragma once

#include "core/predict/attention.h"
#include "core/predict/block_schedule.h"

#include <bit>
#include <cstdint>
#include <map>
#include <string>

namespace tilescope::predict {

struct DeviceRates;

/// Bytes of an fp32 number.
inline constexpr std::int64_t kFloat = 4;

/// The smallest multiple of `unit` that is at least `count`.
constexpr std::int64_t roundedUp(std::int64_t count, std::int64_t unit)
{
    return (count + unit - 1) / unit * unit;
}

constexpr std::int64_t divideUp(std::int64_t count, std::int64_t unit)
{
    return (count + unit - 1) / unit;
}

constexpr bool isPowerOf2(std::int64_t value)
{
    return value > 0 && std::has_single_bit(static_cast<std::uint64_t>(value));
}

/// Values of half precision that an AMX instruction multiplies as a pair.
inline constexpr std::int64_t kPaired = 2;

/// Attention kernels that compute each direction in one launch.
enum class FusedKernel { Flash, FlashFp8, Cudnn, FlashAttention2, Efficient, Processor };

/// Structure and throughput of such a kernel.
struct FusedFigures {
    int tile = 128; ///< query rows per block forward, keys per block backward
    BlockSharing sharing = {};
    // On a full device: shares of the rate of large matrix products, by head dim. Smaller head dims are
    // padded or limited by exponentials, so the share decreases proportionally.
    double at32 = 0;
    double at64 = 0;
    double at128 = 0;
    double blockSeconds = 0; ///< overhead of a block
    double startSeconds = 0; ///< overhead of the kernel, including the small kernels before and after it

    double share(std::int64_t headDim) const;
};

/// attention_flash_bf16_forward
std::string ceilingKind(FusedKernel kernel, const TypedAttention& shape, bool isBackward);

/// Speed of a device's attention kernels for calibrationAttention(), as DeviceRates::attentionPace.
/// \param measured  FLOP/s of the visible pairs by kind of ceiling; other kinds are ignored
std::map<std::string, double> attentionPaces(const std::map<std::string, double>& measured,
                                             const DeviceRates& rates);

FusedFigures fusedFigures(FusedKernel kernel, const TypedAttention& shape, bool isBackward,
                          const DeviceRates& rates);

/// Time of the kernel on an otherwise idle device.
double fusedSeconds(const FusedFigures& figures, const TypedAttention& shape, bool isBackward,
                    const DeviceRates& rates);

/// Logs the kernel in the work log: two products of the visible pairs forward, five backward.
void timeFused(Ops& ops, const TypedAttention& shape, FusedKernel kernel, bool isBackward);

} // namespace tilescope::predict
