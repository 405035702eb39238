#include "core/exchange/import/model_call_steps.h"

#include "core/analysis/memory/block_lives.h"
#include "core/analysis/steps/model_calls.h"
#include "core/analysis/work/tensor_shape.h"
#include "core/model/generation_mark.h"
#include "core/query/generation/model_calls.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace tilescope::exchange {

namespace {

using analysis::LivedBlock;
using analysis::ModelCall;

struct ForeignModel {
    std::string name;
    std::uint32_t thread = 0;
    std::vector<ModelCall> calls;
    std::int64_t time = 0;
};

/// The calls of whole modules, by thread and class: modules that no other one calls, and what begins a range `forward`.
ForeignModel largestModel(const ForeignTrace& trace, std::span<const std::uint32_t> ofProcess)
{
    std::vector<const HostRow*> rows;
    for (const std::uint32_t i : ofProcess)
        if (trace.host[i].kind == HostKind::Module || trace.host[i].kind == HostKind::Range)
            rows.push_back(&trace.host[i]);
    std::ranges::sort(rows, [](const HostRow* a, const HostRow* b) {
        return std::tuple(a->thread, a->start, -a->end, a) < std::tuple(b->thread, b->start, -b->end, b);
    });
    std::map<std::pair<std::uint32_t, std::uint32_t>, ForeignModel> models;
    std::uint32_t thread = 0;
    std::int64_t until = INT64_MIN;   // the end of the call before
    std::int64_t forward = INT64_MIN; // the end of the range forward that is open
    for (const HostRow* row : rows) {
        if (row->thread != thread) {
            thread = row->thread;
            until = forward = INT64_MIN;
        }
        if (row->start < until)
            continue; // within the call before
        const std::string_view name = trace.strings.text(StringId{row->name});
        if (row->kind == HostKind::Range && name == "forward") {
            forward = row->end;
            continue;
        }
        if ((row->kind != HostKind::Module && row->start >= forward) || query::modelOf(name).empty())
            continue;
        until = row->end;
        ForeignModel& model = models[{row->thread, row->name}];
        model.name = name;
        model.thread = row->thread;
        model.calls.push_back({.time = {timestampAt(row->start), timestampAt(row->end)}});
        model.time += row->end - row->start;
    }
    const auto most =
        std::ranges::max_element(models, {}, [](const auto& entry) { return entry.second.time; });
    return most == models.end() ? ForeignModel{} : std::move(most->second);
}

void addShapes(const ForeignTrace& trace, std::span<const std::uint32_t> ofProcess, ForeignModel& model)
{
    std::vector<const HostRow*> ops;
    for (const std::uint32_t i : ofProcess)
        if (const HostRow& row = trace.host[i];
            row.kind == HostKind::Op && row.thread == model.thread && trace.ops[row.extra].shapes)
            ops.push_back(&row);
    std::ranges::sort(ops, {}, [](const HostRow* row) { return row->start; });
    for (const HostRow* row : ops) {
        const auto next = std::ranges::upper_bound(model.calls, timestampAt(row->start), {},
                                                   [](const ModelCall& call) { return call.time.start; });
        if (next == model.calls.begin() || timestampAt(row->start) >= std::prev(next)->time.end)
            continue;
        const std::string_view name = trace.strings.text(StringId{row->name});
        query::addShapesOf(name, trace.strings.text(trace.ops[row->extra].shapes), *std::prev(next));
    }
}

std::vector<LivedBlock> blocksOf(const ForeignTrace& trace, std::span<const std::uint32_t> ofProcess)
{
    std::vector<const AllocEvent*> events;
    for (const std::uint32_t i : ofProcess)
        events.push_back(&trace.allocations[i].event);
    std::ranges::stable_sort(events, {}, &AllocEvent::time);
    std::vector<LivedBlock> blocks[2]; // of the host and of GPUs
    std::map<std::int32_t, analysis::BlockLives<std::size_t>> lives;
    for (const AllocEvent* event : events) {
        std::vector<LivedBlock>& list = blocks[event->device ? 1 : 0];
        const auto closed = lives[event->device.value].apply(*event, [&] {
            list.push_back({.allocated = event->time, .bytes = event->bytes});
            return list.size() - 1;
        });
        if (closed)
            list[*closed].freed = event->time;
    }
    return std::move(blocks[blocks[1].empty() ? 0 : 1]);
}

} // namespace

FoundSteps stepsFromModelCalls(const ForeignTrace& trace, const TraceByProcess& rows, ProcessIndex process)
{
    ForeignModel model = largestModel(trace, rows.host.of(process));
    constexpr std::size_t kFewest = 3;
    if (model.calls.size() < kFewest)
        return {};
    addShapes(trace, rows.host.of(process), model);
    const std::vector<analysis::GenerationCall> calls =
        analysis::generationCalls(model.calls, blocksOf(trace, rows.allocations.of(process)));
    if (calls.empty())
        return {};
    const bool isByCache = std::ranges::any_of(calls, &analysis::GenerationCall::isByCache);
    FoundSteps found{.source =
                         "calls of " + model.name +
                         (isByCache ? ", by what grows from call to call" : ", by the shapes of its tensors"),
                     .thread = model.thread};
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const analysis::GenerationCall& call = calls[i];
        const bool hasNext = i + 1 < calls.size() && calls[i + 1].generation == call.generation;
        const Timestamp end = hasNext ? model.calls[i + 1].time.start : model.calls[i].time.end;
        const auto all =
            call.tokens && call.sequences ? std::optional(*call.tokens * *call.sequences) : std::nullopt;
        found.steps.push_back(
            {.number = static_cast<std::int32_t>(i),
             .start = model.calls[i].time.start.time_since_epoch().count(),
             .end = end.time_since_epoch().count(),
             .name = nameOfIteration(call.type, call.sequences, all, call.context, call.cacheBytes)});
    }
    return found;
}

} // namespace tilescope::exchange
