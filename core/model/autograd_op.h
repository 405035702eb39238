#pragma once

#include <string_view>

// Also part of the recorder's plug-in, which is compiled on the user's machine: C++17.
namespace tilescope {

/// The prefix that autograd puts before a backward node's name to name the op that evaluates the node.
inline constexpr std::string_view kEvaluation = "autograd::engine::evaluate_function: ";

/// Whether autograd evaluates a backward node in the op.
constexpr bool isEvaluation(std::string_view op)
{
    return op.substr(0, kEvaluation.size()) == kEvaluation;
}

/// The name without kEvaluation: the node's, or the op's own.
constexpr std::string_view withoutEvaluation(std::string_view op)
{
    return isEvaluation(op) ? op.substr(kEvaluation.size()) : op;
}

} // namespace tilescope
