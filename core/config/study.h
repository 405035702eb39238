#pragma once

#include "core/config/spec_file.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::config {

/// One sweep of a study.
struct StudyPart {
    std::string name = {};  ///< sizes; its points are named `benchmarking: sizes`
    std::string about = {}; ///< one sentence: what it adds
    Workload workload = Workload::Attention;
    Overrides quick = {}; ///< keys that have other values in the quick edition
    std::vector<ExperimentSpec> specs = {};
    std::string yaml = {}; ///< the spec as text, for a form to start from
};

/// A question that many people ask, as sweeps that answer it. A file of resources/studies: a YAML document
/// that describes it, then one document a part, each an ordinary spec.
struct Study {
    std::string name;  ///< benchmarking; the file's
    std::string title; ///< a heading
    std::string asks;  ///< the question, one sentence
    /// Seconds that it took, by where: `NVIDIA H200`, `2 CPU cores, quick`.
    std::vector<std::pair<std::string, double>> took;
    std::vector<StudyPart> parts;

    std::size_t points() const;
};

/// Names of the studies that come with Tilescope, in order of the alphabet.
std::vector<std::string> studyNames();

enum class Edition {
    Full,
    Quick ///< with the keys that the parts' `quick` names, then as quickEdition() makes a sweep small
};

/// Reads a study.
/// \param overrides  replace keys in every part whose workload has them, whatever the edition
/// \throws Error     there is none of that name (tells the nearest), or its file is damaged; a key of
///                   `overrides` that no part has
Study loadStudy(std::string_view name, Edition edition = Edition::Full, const Overrides& overrides = {});

/// The study from a file's text.
/// \param name  what its key `study` has to be
Study parseStudy(std::string_view yaml, std::string_view origin, std::string_view name, Edition edition,
                 const Overrides& overrides = {});

} // namespace tilescope::config
