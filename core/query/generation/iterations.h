#pragma once

#include "core/analysis/time/busy_time.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/process_rank.h"
#include "core/query/steps/typical_steps.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// One pass of a model while it generates text: it processes prompts, or a token of each sequence.
struct Iteration {
    std::int32_t number = 0;               ///< of the step; without steps counted from 0 in its process
    std::optional<std::int32_t> step = {}; ///< of the recording; none: the iteration is no step
    ProcessIndex process = {};             ///< none: the only one
    StepType type = StepType::Other;       ///< Prefill, Decode or Other
    std::string why = {};                  ///< type Other: why it is not known
    std::optional<std::int32_t> generation =
        {}; ///< counts the prompts of a program, from 0; none: a server's iteration
    std::optional<std::int64_t> sequences = {};
    std::optional<std::int64_t> prompts = {};   ///< sequences among them whose prompts are processed
    std::optional<std::int64_t> newTokens = {}; ///< that the model processes, of all sequences
    std::optional<double> context =
        {}; ///< tokens of a sequence in the cache afterwards: their mean over the sequences
    std::optional<std::int64_t> cacheBytes = {};
    bool isChunked = false;
    bool isSpeculative = false;
    bool isMixed = false;
    analysis::Interval wall{};
    Nanoseconds unrecorded{
        0}; ///< the GPU works on, or waits for, what was not recorded (StepRow); 0 where it is little
    std::optional<analysis::Interval> call = {}; ///< of the model; what runs outside of it chooses the token
};

/// Where the iterations of a run come from.
enum class IterationSource : std::uint8_t {
    None,
    Marks,       ///< ranges that name them
    Steps,       ///< steps of type prefill and decode, of Tilescope's own runs
    ModelShapes, ///< calls of a model, by the shapes of its tensors
    ModelCache,  ///< calls of a model, by the growth of its cache or of the ids of its tokens
};
std::string_view wordOf(IterationSource source); ///< marks, steps, shapes, cache, none

struct Iterations {
    std::vector<Iteration> list = {}; ///< by process, then start; walls of a process are disjoint
    IterationSource source = IterationSource::None;
    std::string marks = {}; ///< who marks them, "SGLang"; or the class of the model
    StepChoice choice = {}; ///< of the run's steps
};

/// The iterations of a run: its steps, if their names or phases say that they are prefill or decode; else calls of its model,
/// if shapes or the growth of a cache show that some decode (analysis::generationCalls).
/// \throws Error  no such rank, process or device
/// Reads the ranges of the run; without marked steps also its blocks and its ops with shapes.
Iterations iterationsOf(const store::RunReader& reader, RunId run, const ProcessQuery& topology = {});

} // namespace tilescope::query
