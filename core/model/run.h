#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope {

/// The state of a run. Oom and Skipped are results, not failures; Interrupted: the writing process ended first.
enum class RunStatus { Running, Ok, Oom, Skipped, Error, Cancelled, Interrupted };

enum class SampleKind { Warmup, Measure, Trace };
enum class Phase { Step, Forward, Loss, Backward, Optimizer, Collective, Prefill, Decode, Sample };

/// One measured phase of one step: host wall between two device synchronizations, GPU time between two CUDA
/// events.
struct Sample {
    std::int32_t step = 0; ///< counted from 0 within its kind
    SampleKind kind = SampleKind::Measure;
    Phase phase = Phase::Step;
    Nanoseconds wall{0};
    std::optional<Nanoseconds> gpu = {}; ///< none on a CPU
};

/// The memory figures of the device's allocator at the end of a step, before its tensors are freed.
struct HeldMemory {
    std::int32_t step = 0; ///< counted from 0 within its kind
    SampleKind kind = SampleKind::Measure;
    Bytes allocated{0};
    std::optional<Bytes> reserved = {};      ///< none on a CPU
    std::optional<Bytes> peakAllocated = {}; ///< of the timed steps so far
};

/// Out-of-memory figures. Sizes that the allocator did not report are absent.
struct OomInfo {
    std::optional<Bytes> requested = {};
    std::optional<Bytes> allocated = {};
    std::optional<Bytes> reserved = {};
    std::string phase; ///< setup, forward, …
};

/// The result of a run, besides its samples and events.
struct RunResult {
    RunStatus status = RunStatus::Ok;
    std::string reason;                          ///< why it is not ok; one sentence
    std::string device;                          ///< cpu, cuda:0
    std::optional<std::int64_t> parameters = {}; ///< of the model
    std::optional<Bytes> beforeBackward = {};    ///< allocated between forward and backward
    std::optional<Bytes> peakAllocated = {};     ///< within the timed steps
    std::optional<Bytes> peakReserved = {};
    std::optional<double> traceOverhead = {}; ///< median traced step / median timed step
    /// The loss of each timed step, over the batches of all ranks. A step whose loss was not read has none; files of
    /// earlier versions have that of the last step only. Empty if there is no loss.
    std::vector<std::optional<double>> losses = {};
    std::optional<OomInfo> oom = {};
    std::vector<std::string> flags = {}; ///< flagText() of core/model/flags.h
    Nanoseconds duration{0};
    /// Least time from a launch to its start over the first and the last traced step: how far the clocks of
    /// host and device lay apart. Their difference is the drift. None on a CPU.
    std::optional<Nanoseconds> clockOffsetStart = {};
    std::optional<Nanoseconds> clockOffsetEnd = {};

    /// That of the last timed step.
    std::optional<double> finalLoss() const { return losses.empty() ? std::nullopt : losses.back(); }
};

/// How fast a device was measured to be: what achieved rates are held against.
struct Ceiling {
    std::string device;     ///< UUID
    std::string deviceName; ///< NVIDIA H200
    std::string kind;       ///< matmul_bf16, matmul_tf32, matmul_fp32, copy, …
    double value = 0;
    std::string unit;   ///< FLOP/s, B/s
    std::int64_t n = 0; ///< measurements behind it
    double spread = 0;  ///< their standard deviation, in the same unit
    std::int64_t measuredUnixNs = 0;
    std::string program; ///< that measured it

    bool operator==(const Ceiling&) const = default;
};

/// A hardware counter of a range, added up over its instances.
struct CounterValue {
    std::string path;   ///< step/forward/layers.3
    std::string metric; ///< tensor_active, sm_active, dram_read, …
    double value = 0;
    std::string unit;           ///< %, B, 1
    std::int64_t instances = 0; ///< of the range
    std::int64_t passes = 0;    ///< of the step that it took to read the metric

    bool operator==(const CounterValue&) const = default;
};

/// One fact about the machine, the program or its settings.
struct EnvironmentEntry {
    std::string key;
    std::string value;
    std::string unit = {};
};

} // namespace tilescope
