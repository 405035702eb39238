#pragma once

#include "core/config/spec_file.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::config {

/// One sweep of a study.
struct StudyPart {
    std::string name = {}; ///< sizes; its points are named `benchmarking: sizes`
    /// One sentence: what this part contributes. Keys in braces stand for their values in the runs: `Batch {batch}`.
    std::string about = {};
    Workload workload = Workload::Attention;
    Overrides quick = {}; ///< keys with other values in the quick edition; `sweep` replaces the whole sweep
    std::vector<ExperimentSpec> specs = {};
    std::string yaml = {}; ///< the spec as text, the starting point of a form
};

/// A common question with sweeps that answer it. A file of resources/studies: a YAML document that describes
/// the study, then one document per part, each an ordinary spec.
struct Study {
    std::string name;  ///< benchmarking; also the file's name
    std::string title; ///< a heading
    std::string asks;  ///< the question, one sentence
    /// Duration in seconds by machine: `NVIDIA H200`, `2 CPU cores, quick`.
    std::vector<std::pair<std::string, double>> took;
    std::vector<StudyPart> parts;

    std::size_t points() const;
};

/// Names of the studies included in Tilescope, in alphabetical order.
std::vector<std::string> studyNames();

/// The studies that a course handout asks for, with the key values that differ from the studies' own. A file of
/// resources/handouts.
struct Handout {
    struct Entry {
        std::string study;
        Overrides overrides = {}; ///< in the full edition
    };
    std::string name; ///< cs336-2026
    std::string title;
    std::vector<Entry> entries;
};

/// Names of the handouts included in Tilescope, in alphabetical order. None is the name of a study.
std::vector<std::string> handoutNames();
/// \throws Error  there is no such handout, or its file is damaged
Handout loadHandout(std::string_view name);

enum class Edition {
    Full,
    Quick ///< with the keys in `quick` of each part, then reduced by quickEdition()
};

/// The studies that `name` selects: the name of a study, the name of a handout, or `all`.
/// \throws Error  like loadStudy()
std::vector<Study> loadStudies(const std::string& name, Edition edition, const Overrides& overrides = {});

/// Reads a study.
/// \param overrides  replace keys in every part whose workload has them, in every edition
/// \throws Error     there is no such study (names the most similar one); its file is damaged; no part has a
///                   key of `overrides`
Study loadStudy(std::string_view name, Edition edition = Edition::Full, const Overrides& overrides = {});

/// Parses a study.
/// \param name  required value of its key `study`
Study parseStudy(std::string_view yaml, std::string_view origin, std::string_view name, Edition edition,
                 const Overrides& overrides = {});

} // namespace tilescope::config
