#pragma once

#include "core/model/spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope {

/// A tensor to make for a replay.
struct ReplayTensor {
    std::string type; ///< bf16; empty: fp32
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> strides = {}; ///< empty: contiguous
};

/// An argument of the op.
struct ReplayArgument {
    enum class Kind : std::uint8_t { Tensor, List, Literal };
    Kind kind = Kind::Tensor;
    std::vector<ReplayTensor> tensors = {};
    std::string literal = {}; ///< 0.125, true, [1, 1]; none: the argument is absent
};

/// One op of a recording, to be measured alone.
struct ReplayRequest {
    DeviceRequest device = {};
    std::string op; ///< aten::mm
    std::vector<ReplayArgument> arguments = {};
    bool isPositional = false; ///< literals were recorded, so that positions in the signature are known
    std::int64_t indices = 2;  ///< integer tensors hold numbers below this
    std::int64_t samples = 25;
};

/// What it took.
struct ReplayResult {
    std::string device;                 ///< cuda:0
    std::string deviceName = {};        ///< NVIDIA H200
    std::string signature = {};         ///< of the overload that was called
    std::int64_t calls = 0;             ///< in a sample
    bool isGraphed = false;             ///< the calls of a sample were replayed from a CUDA graph
    std::vector<double> samplesNs = {}; ///< time of a call, by sample
    /// The largest share of the measurement, 0 to 1, in which a thread waited for a core; none: not known.
    std::optional<double> waiting = {};
};

} // namespace tilescope
