#pragma once

#include "core/analysis/steps/model_calls.h"
#include "core/query/generation/iterations.h"

#include <string_view>

namespace tilescope::query {

/// The class of the model whose whole call has this path: LlamaForCausalLM of `step/forward/LlamaForCausalLM`, Qwen2Model_0 of
/// `step/Qwen2Model_0`. Empty: it is the path of a part of a model, or of something else.
std::string_view modelOf(std::string_view path);

/// Adds what an op within a call says: sequences and tokens of the first lookup of embeddings, the context of the first attention.
/// \param op, shapes  its name, and its arguments as they are recorded
void addShapesOf(std::string_view op, std::string_view shapes, analysis::ModelCall& call);

/// Adds the calls of the model that takes most of the time, if they generate.
void addModelCalls(const store::RunReader& reader, RunId run, const ProcessQuery& topology,
                   Iterations& found);

} // namespace tilescope::query
