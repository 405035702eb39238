#pragma once

#include "core/engine/lm/lm.h"
#include "core/engine/lm/token_batch.h"

#include <vector>

namespace tilescope::engine {

class Device;

// The reference results with which other implementations of the model are compared.

/// The result of one step of the eager model.
struct EagerGradients {
    at::Tensor output;                 ///< the loss; the logits in mode forward
    std::vector<at::Tensor> gradients; ///< of the parameters, in their order; none in mode forward
};

/// \param gradient  the gradient of the loss
EagerGradients eagerGradients(const ExperimentSpec& spec, const Device& device, LanguageModel& model,
                              const TokenBatch& batch, const at::Tensor& gradient);

/// |a - b| / |b| in the Euclidean norm; 0 if both are 0.
double relativeDifference(const at::Tensor& a, const at::Tensor& b);

/// The bound of the relative difference of norms between outputs or gradients of two implementations of the
/// model that differ only in the order of sums and in roundings.
///
/// The path through a layer, forward and backward, contains about 30 roundings to the precision of products
/// and as many sums of K terms in fp32. Their errors are independent and add up like the steps of a random
/// walk. The bound is four standard deviations.
double roundingBound(const ExperimentSpec& spec);

} // namespace tilescope::engine
