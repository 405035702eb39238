#include "core/session/engine/memory_labeller.h"

#include "core/analysis/memory/graph_pool.h"
#include "core/machine/machine.h"
#include "core/model/flags.h"
#include "core/model/losses.h"

#include <iterator>
#include <utility>

namespace tilescope::session {

namespace {

template <class Value> void append(std::vector<Value>& to, std::vector<Value>& from)
{
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

} // namespace

void MemoryLabeller::learn(MemoryFacts&& facts)
{
    if (!facts.reference.empty()) {
        labels_.learn(facts);
        learnt_ = true;
    }
    if (!facts.captured.events.empty())
        learnCaptured(std::move(facts.captured));
    if (!facts.blocks.empty()) {
        analysis::attributeGraphPool(facts.blocks, captured_, strings_);
        labels_.begin(facts.blocks);
    }
    append(facts_.blocks, facts.blocks);
    append(facts_.segments, facts.segments);
    for (MemoryReading& reading : facts.readings)
        if (reading.device && !reading.process)
            reading.process = machine::processMemory(reading.device.value);
    append(facts_.readings, facts.readings);
    append(facts_.places, facts.places);
}

void MemoryLabeller::learnCaptured(CapturedStep&& captured)
{
    captured_ = std::move(captured);
    if (const auto most = analysis::mostInGraphPools(captured_))
        facts_.readings.push_back({.time = captured_.events.back().time,
                                   .device = captured_.events.back().device,
                                   .moment = kReplayMoment,
                                   .requested = *most,
                                   .allocated = *most,
                                   .reserved = captured_.events.back().reserved});
}

void MemoryLabeller::label(TraceBatch& batch)
{
    growth_.add(batch.allocEvents);
    labels_.label(batch.allocEvents);
    // Set-up that is recorded after it ran out of memory has no reference step.
    if (!learnt_)
        return;
    const std::int64_t unmatched = labels_.unmatched() - toldUnmatched_;
    if (unmatched == 0)
        return;
    toldUnmatched_ += unmatched;
    batch.losses.push_back(lossOf(strings_, RecordLoss::MemoryUnmatched, unmatched));
}

std::vector<std::string> MemoryLabeller::flags() const
{
    const auto growth = growth_.perStep();
    if (!growth)
        return {};
    return {flagText(FlagKind::MemoryGrows, std::to_string(growth->count) + " bytes per step on average")};
}

MemoryFacts MemoryLabeller::facts() const
{
    MemoryFacts facts = facts_;
    facts.saved = labels_.savedTensors();
    return facts;
}

} // namespace tilescope::session
