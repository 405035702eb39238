#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilescope {

inline constexpr std::uint32_t kNoStack = ~0U;

/// A call on a stack of the host: its last frame; the caller is another stack.
struct HostStack {
    std::uint32_t caller = kNoStack; ///< index of a stack before this one; kNoStack: outermost
    std::string function = {};       ///< "train.py(12): step": file, first line and name
    std::uint32_t line = 0;          ///< that runs; 0: unknown

    bool operator==(const HostStack&) const = default;
};

/// What is known of a thread at a sample; bits.
struct SampleState {
    static constexpr std::uint32_t kLaunch = 1;    ///< no sample: the stack of a launch, exact
    static constexpr std::uint32_t kInCall = 2;    ///< the thread was in a call into CUDA
    static constexpr std::uint32_t kRan = 4;       ///< it ran, or could if the sampler had left it its core
    static constexpr std::uint32_t kLate = 8;      ///< the sampler woke up more than 0.1 ms late
    static constexpr std::uint32_t kLock = 16;     ///< it waited for the interpreter's lock
    static constexpr std::uint32_t kCollects = 32; ///< it collected garbage
    static constexpr std::uint32_t kCoreless = 64; ///< most of the time it could run, and had no core
    /// Both, which exclude each other otherwise: it ran, and stayed in one instruction of Python, in C or C++ that this calls.
    static constexpr std::uint32_t kInNative = kInCall | kRan;
};

/// An instant at which a thread had a stack.
struct HostSample {
    Timestamp time{};
    std::uint32_t stack = kNoStack; ///< of HostSamples::stacks
    std::uint32_t state = 0;        ///< SampleState

    bool isLaunch() const { return (state & SampleState::kLaunch) != 0; }
    bool operator==(const HostSample&) const = default;
};

struct SampledHostThread {
    ThreadId thread = {};
    std::vector<HostSample> samples = {}; ///< by time

    bool operator==(const SampledHostThread&) const = default;
};

/// The stacks of a process' threads: at each launch, and at instants between.
struct HostSamples {
    ProcessIndex process = {};          ///< none: the run's only process
    std::vector<HostStack> stacks = {}; ///< callers first
    std::vector<SampledHostThread> threads = {};

    bool operator==(const HostSamples&) const = default;
};

} // namespace tilescope
