#pragma once

#include "core/exchange/tables/table.h"
#include "core/query/generation/generation_table.h"

#include <memory>
#include <string>
#include <vector>

namespace tilescope::exchange {

/// The section `generation` of `tilescope show`: iterations, or summaries of them by type or batch.
Table tableOf(std::shared_ptr<const query::GenerationTable> generation, query::GenerationGroup group);

/// One sentence: why a run has no iterations.
std::string whyNoGeneration(const query::GenerationTable& generation);

/// "Found by marks of SGLang.", or by calls of a model.
std::string sourceText(const query::GenerationTable& generation);

/// Sentences about time to first token, time per output token and what a decode iteration is made of.
std::vector<std::string> generationNotes(const query::GenerationTable& generation);

} // namespace tilescope::exchange
