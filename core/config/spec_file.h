#pragma once

#include "core/model/spec.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::config {

class SpecDocument; // spec_document.h

/// A `key=value` that replaces the key wherever it stands; a value `[a, b]` sweeps it. Value is YAML flow
/// text.
using Overrides = std::vector<std::pair<std::string, std::string>>;

/// Reads a spec file and expands its sweep: every point fully resolved and checked, in sweep order (the last
/// key of the map turns fastest).
///
/// The file is hostile until parsed: size, depth, aliases and the number of points are bounded.
/// \throws Error  one sentence with file:line:column, the key, what is allowed and the nearest right spelling
std::vector<ExperimentSpec> loadSpecFile(const std::filesystem::path& file, const Overrides& overrides = {});

/// loadSpecFile for what comes on standard input, to its end; errors name it `<stdin>`.
std::vector<ExperimentSpec> loadSpecFromInput(const Overrides& overrides = {});

/// loadSpecFile for text that did not come from a file; `origin` stands where the file's name would.
std::vector<ExperimentSpec> parseSpec(std::string_view yaml, std::string_view origin,
                                      const Overrides& overrides = {});

/// The file as it was written, its sweep not expanded: for a form that edits it. Bounded as loadSpecFile is.
SpecDocument loadDocument(const std::filesystem::path& file);

/// A spec from keys alone (`tilescope run lm --size tiny`): `where` of an Error is the flag.
std::vector<ExperimentSpec> specFromOverrides(Workload workload, const Overrides& overrides);

/// A model preset: numbers that `size` stands for. Read from resources/presets.
struct SizePreset {
    std::string name;
    std::int64_t dModel = 0;
    std::int64_t dFf = 0;
    std::int64_t layers = 0;
    std::int64_t heads = 0;
};
const std::vector<SizePreset>& sizePresets();

/// Number of parameters of the lm that a spec describes (RMSNorm, SwiGLU, no biases, untied embedding and
/// head).
std::int64_t parameterCount(const ExperimentSpec& spec);

} // namespace tilescope::config
