#pragma once

#include "core/model/spec.h"

namespace tilescope::predict {

/// A language model of batch 4 as the presets have them: feed-forward four times as wide.
inline ExperimentSpec modelSpec(Mode mode, Precision precision, std::int64_t width, std::int64_t layers,
                                std::int64_t heads)
{
    ExperimentSpec spec;
    spec.workload = Workload::Lm;
    spec.mode = mode;
    spec.loss = mode == Mode::Train ? LossKind::CrossEntropy : LossKind::Sum;
    spec.precision = precision;
    spec.batch = 4;
    spec.dModel = width;
    spec.dFf = 4 * width;
    spec.layers = layers;
    spec.heads = spec.kvHeads = heads;
    return spec;
}

} // namespace tilescope::predict
