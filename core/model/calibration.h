#pragma once

namespace tilescope {

/// The causal attention, with as many keys as queries, that `tilescope doctor --ceilings` times. Predictions
/// for other shapes are based on it. It has many blocks on a GPU and takes tens of milliseconds on a CPU.
struct CalibrationAttention {
    int batch, heads, length, headDim;
};

constexpr CalibrationAttention calibrationAttention(bool onGpu)
{
    return onGpu ? CalibrationAttention{4, 16, 4096, 64} : CalibrationAttention{1, 4, 1024, 64};
}

} // namespace tilescope
