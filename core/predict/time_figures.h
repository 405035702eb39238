#pragma once

namespace tilescope::predict {

/// Assumptions of the time model in addition to calibration: one figure per mechanism, the same for all
/// devices. `bench_predict --choose` (tests/bench/predict) fits them to the recorded points of one H200; with
/// --cross it reports the error on points that were not part of the fit.
struct TimeFigures {
    // GPU: the sequence of kernels.
    double kernelSeconds = 2e-6;       ///< gap from one kernel's end to the next one's start
    double replayPhaseSeconds = 16e-6; ///< launch of a captured graph and the synchronization after it
    double forwardPhaseSeconds = 5e-6; ///< before the host's first operation and after the device's last one
    double backwardPhaseSeconds = 25e-6; ///< likewise, including the switch to autograd's thread and back
    // Host: durations in units of the in-place addition that the ceiling `launch` measures.
    double forwardOps = 1.8;  ///< an operation that autograd records: allocates and makes a node
    double backwardOps = 3.0; ///< a kernel of backward, including its share of autograd's queue
    double plainOps = 1.1;    ///< an operation below autograd, or one without a kernel
    // A phase begins after a synchronization, with cold host caches: its first operations take longer.
    double coldShare = 0.5; ///< additional share of the very first operation
    double coldOps = 30;    ///< number of operations after which the cold-start penalty has decayed to a
                            ///< third
    // Relative to the bandwidth of a large copy.
    double streamShare = 0.79;   ///< several streams, with non-contiguous views
    double narrowShare = 0.715;  ///< values of two bytes: smaller pieces
    double cachedShare = 1.4;    ///< speed-up of data in the L2 cache
    double cacheBytes = 25e6;    ///< maximum size of such data
    double rowSeconds = 0.55e-6; ///< of a multiprocessor for a row of a softmax, in addition to its bytes
    // Relative to the rate of large matrix products.
    double tf32Share = 0.86; ///< TF32 needs larger products than other types to approach its ceiling
};

} // namespace tilescope::predict
