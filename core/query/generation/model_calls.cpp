#include "core/query/generation/model_calls.h"

#include "core/analysis/memory/block_lives.h"
#include "core/analysis/steps/model_calls.h"
#include "core/analysis/time/path_glob.h"
#include "core/analysis/work/tensor_shape.h"
#include "core/model/generation_mark.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace tilescope::query {

namespace {

using analysis::Interval;
using analysis::LivedBlock;
using analysis::ModelCall;

/// Calls of one model by one thread.
struct CallsOfModel {
    std::vector<ModelCall> calls;
    ProcessIndex process = {};
    Nanoseconds time{0};
};

/// The thread and class whose calls take most of the time of a process, at least two of them.
std::map<ProcessIndex, std::pair<std::string, CallsOfModel>>
largestModels(const store::RunReader& reader, RunId run, const ProcessFilter& filter)
{
    std::unordered_map<StringId, std::string> models; // by path
    std::map<std::pair<ThreadId, std::string>, CallsOfModel> all;
    reader.eachRange({.run = run}, [&](const Range& range) {
        if (!range.path || !filter.has(range.thread))
            return true;
        const auto [model, isNew] = models.try_emplace(range.path);
        if (isNew)
            model->second = std::string(modelOf(reader.text(range.path)));
        if (model->second.empty())
            return true;
        CallsOfModel& of = all[{range.thread, model->second}];
        if (!of.calls.empty() && range.start < of.calls.back().time.end)
            return true; // within the call before
        of.calls.push_back({.time = {range.start, range.end}});
        of.process = filter.topology().of(range.thread);
        of.time += range.end - range.start;
        return true;
    });
    std::map<ProcessIndex, std::pair<std::string, CallsOfModel>> largest;
    for (auto& [key, calls] : all) {
        auto& known = largest[calls.process];
        if (calls.calls.size() >= 2 && known.second.time < calls.time)
            known = {key.second, std::move(calls)};
    }
    std::erase_if(largest, [](const auto& entry) { return entry.second.second.calls.empty(); });
    return largest;
}

/// The last call that begins before the time and ends after it; null: none does.
ModelCall* callAt(std::vector<ModelCall>& calls, Timestamp time)
{
    const auto next =
        std::ranges::upper_bound(calls, time, {}, [](const ModelCall& call) { return call.time.start; });
    return next != calls.begin() && time < std::prev(next)->time.end ? &*std::prev(next) : nullptr;
}

void addShapes(const store::RunReader& reader, RunId run, const ProcessFilter& filter, ProcessIndex process,
               std::vector<ModelCall>& calls)
{
    reader.eachOp({.run = run}, [&](const Op& op) {
        if (!op.name || !op.shapes || filter.topology().of(op.thread) != process)
            return true;
        if (ModelCall* const call = callAt(calls, op.start); call && !(call->tokens && call->context)) {
            const std::string name(reader.text(op.name));
            addShapesOf(name, reader.text(op.shapes), *call);
        }
        return true;
    });
}

/// The blocks of the process, those of its GPU if it has some.
std::vector<LivedBlock> blocksOf(const store::RunReader& reader, RunId run, const ProcessFilter& filter,
                                 ProcessIndex process, const Interval& within)
{
    std::vector<LivedBlock> blocks[2]; // of the host and of GPUs
    std::map<std::int32_t, analysis::BlockLives<std::size_t>> lives;
    reader.eachAllocEvent({.run = run, .from = within.start}, [&](const AllocEvent& event) {
        if (event.device && filter.topology().of(event.device) != process)
            return true;
        std::vector<LivedBlock>& list = blocks[event.device ? 1 : 0];
        const auto closed = lives[event.device.value].apply(event, [&] {
            list.push_back({.allocated = event.time, .bytes = event.bytes});
            return list.size() - 1;
        });
        if (closed && *closed < list.size())
            list[*closed].freed = event.time;
        return event.time < within.end;
    });
    std::vector<LivedBlock>& chosen = blocks[blocks[1].empty() ? 0 : 1];
    std::ranges::stable_sort(chosen, {}, &LivedBlock::allocated);
    return std::move(chosen);
}

/// An iteration lasts until the next one begins; the last one of a generation until its call ends.
void addIterations(const std::vector<ModelCall>& calls, const std::vector<analysis::GenerationCall>& found,
                   ProcessIndex process, std::vector<Iteration>& list)
{
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const analysis::GenerationCall& call = found[i];
        const bool hasNext = i + 1 < calls.size() && found[i + 1].generation == call.generation;
        const bool isKnown = call.tokens && call.sequences;
        list.push_back(
            {.number = static_cast<std::int32_t>(i),
             .process = process,
             .type = call.type,
             .why = std::string(call.why),
             .generation = call.generation,
             .sequences = call.sequences,
             .prompts = call.type == StepType::Prefill ? call.sequences : std::nullopt,
             .newTokens = isKnown ? std::optional(*call.tokens * *call.sequences) : std::nullopt,
             .context = call.context ? std::optional(static_cast<double>(*call.context)) : std::nullopt,
             .cacheBytes = call.cacheBytes,
             .wall = {calls[i].time.start, hasNext ? calls[i + 1].time.start : calls[i].time.end},
             .call = calls[i].time});
    }
}

} // namespace

std::string_view modelOf(std::string_view path)
{
    std::string_view rest = analysis::belowStep(analysis::fromStepDown(path));
    if (rest == "step")
        return {};
    constexpr std::string_view kForward = "forward/";
    if (rest.starts_with(kForward))
        rest.remove_prefix(kForward.size());
    const bool isClass = !rest.empty() && rest.find('/') == std::string_view::npos && rest[0] >= 'A' &&
                         rest[0] <= 'Z' && rest.find_first_of(" .:[(#") == std::string_view::npos;
    return isClass ? rest : std::string_view();
}

void addShapesOf(std::string_view op, std::string_view shapes, analysis::ModelCall& call)
{
    const bool isEmbedding = op == "aten::embedding" && !call.tokens;
    const bool isAttention = op == "aten::scaled_dot_product_attention" && !call.context;
    if (!isEmbedding && !isAttention)
        return;
    const auto tensors = analysis::parseShapes(shapes);
    if (!tensors || tensors->size() < 2)
        return;
    const std::vector<std::int64_t>& sizes = (*tensors)[1].sizes;
    if (std::ranges::any_of(sizes, [](std::int64_t size) { return size < 1 || size > kMostTokens; }))
        return;
    if (isEmbedding && sizes.size() == 2) {
        call.sequences = sizes[0];
        call.tokens = sizes[1];
    } else if (isAttention && sizes.size() == 4) {
        call.context = sizes[2];
    }
}

void addModelCalls(const store::RunReader& reader, RunId run, const ProcessQuery& topology, Iterations& found)
{
    const ProcessFilter filter(reader, run, topology);
    const store::EventCounts counts = reader.counts(run);
    if (counts.ops == 0 && counts.allocEvents == 0)
        return;
    for (auto& [process, model] : largestModels(reader, run, filter)) {
        std::vector<ModelCall>& calls = model.second.calls;
        if (counts.ops > 0)
            addShapes(reader, run, filter, process, calls);
        std::vector<LivedBlock> blocks;
        if (std::ranges::any_of(calls, [](const ModelCall& call) { return !call.tokens; }))
            blocks =
                blocksOf(reader, run, filter, process, {calls.front().time.start, calls.back().time.end});
        const std::vector<analysis::GenerationCall> generated = analysis::generationCalls(calls, blocks);
        if (generated.empty())
            continue;
        found.source = std::ranges::any_of(generated, &analysis::GenerationCall::isByCache)
                           ? IterationSource::ModelCache
                           : IterationSource::ModelShapes;
        found.marks = model.first;
        addIterations(calls, generated, process, found.list);
    }
}

} // namespace tilescope::query
