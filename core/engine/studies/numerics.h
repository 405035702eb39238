#pragma once

#include "core/model/spec.h"

#include <optional>
#include <string>

namespace tilescope::engine {

class Device;

/// The process-wide settings of LibTorch that a spec names, for the lifetime of one point: TF32, determinism,
/// threads. Puts back what was there. Session thread.
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
