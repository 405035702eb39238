#pragma once

#include "core/predict/attention.h"
#include "core/predict/block_schedule.h"

#include <map>
#include <string>

namespace tilescope::predict {

struct DeviceRates;

/// Attention in one kernel a direction.
enum class FusedKernel { Flash, Cudnn, FlashAttention2, Efficient, Processor };

/// How such a kernel is built and what it reaches.
struct FusedFigures {
    int tile = 128; ///< query rows of a block forward, keys of a block backward
    BlockSharing sharing = {};
    // With the device full: shares of the rate of large matrix products, by head width. Narrower heads are
    // padded, or as long in exponentials: they lose in proportion.
    double at32 = 0;
    double at64 = 0;
    double at128 = 0;
    double blockSeconds = 0; ///< a block's beginning and end
    double startSeconds = 0; ///< the kernel's own, with the small ones before and after it

    double share(std::int64_t headDim) const;
};

/// attention_flash_bf16_forward
std::string ceilingKind(FusedKernel kernel, const TypedAttention& shape, bool isBackward);

/// What a device's attention kernels make of calibrationAttention(), as DeviceRates::attentionPace.
/// \param measured  FLOP/s of the pairs that are seen, by kind of ceiling; others' kinds are passed over
std::map<std::string, double> attentionPaces(const std::map<std::string, double>& measured,
                                             const DeviceRates& rates);

FusedFigures fusedFigures(FusedKernel kernel, const TypedAttention& shape, bool isBackward,
                          const DeviceRates& rates);

/// Time of the kernel on the device alone.
double fusedSeconds(const FusedFigures& figures, const TypedAttention& shape, bool isBackward,
                    const DeviceRates& rates);

/// Tells who times that such a kernel runs: two products of the visible pairs forward, five backward.
void timeFused(Ops& ops, const TypedAttention& shape, FusedKernel kernel, bool isBackward);

} // namespace tilescope::predict
