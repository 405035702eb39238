#pragma once

#include "core/model/run.h"
#include "core/model/spec.h"

#include <filesystem>
#include <functional>
#include <stop_token>
#include <vector>

namespace tilescope::engine {

class Device;

/// The language model of a spec as TorchInductor compiled it: a package of AOTInductor with the models `forward` and, if
/// the spec has a backward pass, `backward`. resources/inductor/export.py says what they take and return.
struct CompiledModel {
    std::filesystem::path package;

    /// Facts about the package: the time of the compiler and, once it was checked, how much it differs from the eager
    /// model.
    std::vector<EnvironmentEntry> notes() const;
    /// Replaces notes(). If they cannot be stored, they are found again.
    void store(const std::vector<EnvironmentEntry>& notes) const;
    /// Removes package and notes from the cache; processes that have loaded the package keep it.
    void remove() const;
};

/// The facts of CompiledModel::notes().
inline constexpr const char* kCompileTime = "result.compile_time";
inline constexpr const char* kOutputError = "result.inductor_output_error";
inline constexpr const char* kGradientError = "result.inductor_gradient_error";

/// The package in the user's cache. If it is not there, a Python with the torch of this process compiles it, which takes
/// minutes: that of TILESCOPE_PYTHON, the one beside LibTorch or `python3`.
///
/// Packages differ by everything that is compiled into them: dimensions, batch, context, precision, attention, mode and
/// loss, device and instruction set, threads of a CPU, torch and the exporter.
/// \param stop       ends the compiler; the package is then not there
/// \param onCompile  called before the compiler starts
/// \throws Unsupported  the model cannot be compiled, or not here
/// \throws Error        the compiler fails, or others can change the package
CompiledModel compiledModel(const ExperimentSpec& spec, const Device& device,
                            const std::stop_token& stop = {}, const std::function<void()>& onCompile = {});

} // namespace tilescope::engine
