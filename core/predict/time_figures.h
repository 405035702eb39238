#pragma once

namespace tilescope::predict {

/// What the model of time assumes beside what a calibration measures: one figure a mechanism, the same for
/// all devices. `bench_predict --choose` (tests/bench/predict) found them by the recorded points of one H200;
/// with --cross it tells how far off points are that had no part in that.
struct TimeFigures {
    // A GPU: how kernels follow each other.
    double kernelSeconds = 2e-6;       ///< from one kernel's end to the next one's, beside its work
    double replayPhaseSeconds = 16e-6; ///< a captured graph's launch and the synchronisation after it
    double forwardPhaseSeconds = 5e-6; ///< before the host's first operation and after the device's last one
    double backwardPhaseSeconds = 25e-6; ///< the same, with the way to autograd's thread and back
    // The host: each as so many of the in-place additions that the ceiling `launch` counts.
    double forwardOps = 1.8;  ///< an operation that autograd records: allocates, and makes a node
    double backwardOps = 3.0; ///< a kernel of backward, with its share of autograd's queue
    double plainOps = 1.1;    ///< an operation below autograd, or one without a kernel
    // A phase begins after a synchronisation, with the host's caches cold: its first operations take longer.
    double coldShare = 0.5; ///< the very first one, beside its usual time
    double coldOps = 30;    ///< after so many, what they take more is down to a third
    // Of the bandwidth of a large copy.
    double streamShare = 0.79;   ///< several streams, through views of other strides
    double narrowShare = 0.715;  ///< values of two bytes: smaller pieces
    double cachedShare = 1.4;    ///< times as fast, what the second-level cache still has
    double cacheBytes = 25e6;    ///< and up to which size
    double rowSeconds = 0.55e-6; ///< of a multiprocessor for a row of a softmax, beside its bytes
    // Of the rate of large matrix products.
    double tf32Share = 0.86; ///< TF32 needs larger products than others to come near its ceiling
};

} // namespace tilescope::predict
