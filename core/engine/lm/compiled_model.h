#pragma once

#include "core/model/run.h"
#include "core/model/spec.h"

#include <filesystem>
#include <functional>
#include <stop_token>
#include <vector>

namespace tilescope::engine {

class Device;

/// The language model of a spec, compiled by TorchInductor: a package of AOTInductor with the models `forward` and,
/// if the spec has a backward pass, `backward`. resources/inductor/export.py documents their inputs and outputs.
struct CompiledModel {
    std::filesystem::path package;

    /// Facts about the package: the compile time and, once the package has been checked, its difference from
    /// the eager model.
    std::vector<EnvironmentEntry> notes() const;
    /// Replaces notes(). If they cannot be stored, later runs determine them again.
    void store(const std::vector<EnvironmentEntry>& notes) const;
    /// Removes package and notes from the cache. Processes that have loaded the package keep using it.
    void remove() const;
};

/// The keys of the facts in CompiledModel::notes().
inline constexpr const char* kCompileTime = "result.compile_time";
inline constexpr const char* kOutputError = "result.inductor_output_error";
inline constexpr const char* kGradientError = "result.inductor_gradient_error";

/// The package in the user's cache. If it is missing, a Python with the torch version of this process
/// compiles it, which takes minutes: the Python of TILESCOPE_PYTHON, the one beside LibTorch, or `python3`.
///
/// There is one package for each combination of everything compiled in: dimensions, batch, context, precision,
/// attention, mode and loss, device and instruction set, threads of a CPU, versions of torch and the exporter.
/// \param stop       ends the compiler; then no package is made
/// \param onCompile  called before the compiler starts
/// \throws Unsupported  the model cannot be compiled, or not on this machine
/// \throws Error        the compiler fails, or other users can change the package
CompiledModel compiledModel(const ExperimentSpec& spec, const Device& device,
                            const std::stop_token& stop = {}, const std::function<void()>& onCompile = {});

} // namespace tilescope::engine
