#pragma once

#include "core/model/spec.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::config {

class SpecDocument; // spec_document.h

/// A `key=value` that replaces the key wherever it is set; a value `[a, b]` sweeps it. The value is YAML flow
/// text.
using Overrides = std::vector<std::pair<std::string, std::string>>;

/// Reads a spec file and expands its sweep: every point resolved and checked, in sweep order (the last key of
/// the map varies fastest).
///
/// The file is untrusted: size, depth, aliases and the number of points are limited.
/// \throws Error  one sentence with file:line:column, the key, the allowed values and the most similar valid
///                spelling
std::vector<ExperimentSpec> loadSpecFile(const std::filesystem::path& file, const Overrides& overrides = {});

/// Like loadSpecFile() for standard input; errors name it `<stdin>`.
std::vector<ExperimentSpec> loadSpecFromInput(const Overrides& overrides = {});

/// Like loadSpecFile() for text that is not from a file; `origin` replaces the file name in messages.
std::vector<ExperimentSpec> parseSpec(std::string_view yaml, std::string_view origin,
                                      const Overrides& overrides = {});

/// Reads a file without expanding its sweep, for a form that edits it. Has the limits of loadSpecFile().
SpecDocument loadDocument(const std::filesystem::path& file);

/// The points of a spec that consists of keys alone (`tilescope run lm --size tiny`). Error::where is the flag.
std::vector<ExperimentSpec> specFromOverrides(Workload workload, const Overrides& overrides);

/// A model preset: the dimensions that a `size` selects. Read from resources/presets.
struct SizePreset {
    std::string name;
    std::int64_t dModel = 0;
    std::int64_t dFf = 0;
    std::int64_t layers = 0;
    std::int64_t heads = 0;
    std::string handouts = {}; ///< course handouts with this size and its name there: "2025 xl"; may be empty
    Overrides defaults = {};   ///< of further keys: batch, context, vocab, precision, mode
};
const std::vector<SizePreset>& sizePresets();

/// Number of parameters of the lm of a spec (RMSNorm, SwiGLU, no biases, untied embedding and head).
std::int64_t parameterCount(const ExperimentSpec& spec);

} // namespace tilescope::config
