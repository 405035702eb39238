#pragma once

namespace tilescope {

/// The causal attention, heads as many keys as queries, that `tilescope doctor --ceilings` times and that
/// predictions of other shapes start from: many blocks on a GPU, some tens of milliseconds on a processor.
struct CalibrationAttention {
    int batch, heads, length, headDim;
};

constexpr CalibrationAttention calibrationAttention(bool onGpu)
{
    return onGpu ? CalibrationAttention{4, 16, 4096, 64} : CalibrationAttention{1, 4, 1024, 64};
}

} // namespace tilescope
