#pragma once

#include "core/model/spec.h"

#include <optional>
#include <string>

namespace tilescope::engine {

class Device;

/// Applies the process-wide LibTorch settings of a spec for the lifetime of one point: TF32, determinism,
/// threads. Restores the previous ones. Session thread.
class Numerics {
public:
    Numerics(const ExperimentSpec& spec, const Device& device, int defaultThreads);
    ~Numerics();
    Numerics(const Numerics&) = delete;
    Numerics& operator=(const Numerics&) = delete;

private:
    int defaultThreads_;
    bool deterministic_;
    bool workspaceSet_ = false;
};

} // namespace tilescope::engine
