#include "core/session/memory_books.h"

#include "core/machine/machine.h"

#include <iterator>
#include <utility>

namespace tilescope::session {

namespace {

template <class Value> void append(std::vector<Value>& to, std::vector<Value>& from)
{
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

} // namespace

void MemoryBooks::learn(MemoryFacts&& facts)
{
    if (!facts.rehearsed.empty()) {
        labels_.learn(facts);
        learnt_ = true;
    }
    if (!facts.blocks.empty())
        labels_.begin(facts.blocks);
    append(facts_.blocks, facts.blocks);
    append(facts_.segments, facts.segments);
    for (MemoryReading& reading : facts.readings)
        if (reading.device && !reading.process)
            reading.process = machine::processMemory(reading.device.value);
    append(facts_.readings, facts.readings);
}

void MemoryBooks::label(TraceBatch& batch)
{
    growth_.add(batch.allocEvents);
    if (!learnt_)
        return;
    labels_.label(batch.allocEvents);
    const std::int64_t unmatched = labels_.unmatched() - toldUnmatched_;
    if (unmatched == 0)
        return;
    toldUnmatched_ += unmatched;
    batch.losses.push_back(
        {.kind = strings_.intern("memory_unmatched"),
         .severity = LossSeverity::Info,
         .count = unmatched,
         .detail = strings_.intern("allocations that the rehearsed step did not make; they count as "
                                   "temporary")});
}

std::vector<std::string> MemoryBooks::flags() const
{
    const auto growth = growth_.perStep();
    if (!growth)
        return {};
    return {"memory-grows: each traced step left more allocated than the one before, " +
            std::to_string(growth->count) + " bytes on average"};
}

MemoryFacts MemoryBooks::facts() const
{
    MemoryFacts facts = facts_;
    facts.saved = labels_.savedTensors();
    return facts;
}

} // namespace tilescope::session
