#pragma once

#include <cstdint>
#include <string_view>

namespace tilescope {

/// The name without a number at its end and what separates it: "train_step" of "train_step #12".
std::string_view withoutNumber(std::string_view name);

/// Whether ranges of this name may be steps: step, iteration, train_step_12, ProfilerStep#3.
bool isNamedLikeStep(std::string_view name);

/// The framework that marks its iterations with ranges of this name: SGLang, vLLM, TensorRT-LLM, llama.cpp, Lightning. Empty: none.
std::string_view frameworkOfStep(std::string_view name);

/// What an iteration of a program does. Generate processes prompts and then decodes them.
enum class StepType : std::uint8_t { Train, Validation, Prefill, Decode, Generate, Other };

/// train, validation, …
std::string_view wordOf(StepType type);

/// What the name of a step's range says; Other: nothing.
/// Iterations of servers that process new prompts are prefill, also where they decode other requests at the same time.
StepType stepTypeOf(std::string_view name);

} // namespace tilescope
