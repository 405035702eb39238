#include "core/store/rows/host_sample_rows.h"

#include "core/store/rows/packed_bytes.h"
#include "core/store/rows/run_row.h"
#include "core/store/rows/string_map.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace tilescope::store {

namespace {

constexpr std::size_t kSamplesOfARow = 4096;
constexpr unsigned kUsualBits = 4; // of a state, beside the stack: launch, call, core, late
constexpr std::uint32_t kUsualStates = (1U << kUsualBits) - 1;
constexpr std::uint32_t kHasRare = 1U << kUsualBits; ///< the other states follow

/// Four to five bytes per sample: the time since the one before, the difference of the stacks' numbers, and the state.
std::string packedSamples(std::span<const HostSample> samples, std::int64_t origin)
{
    Packer packer;
    packer.put(0); // in place of the number of samples, which follows: states are as below
    packer.put(samples.size());
    std::int64_t time = origin;
    std::int64_t stack = 0;
    for (const HostSample& sample : samples) {
        packer.put(static_cast<std::uint64_t>(nanosecondsOf(sample.time) - time));
        const std::int64_t next = sample.stack == kNoStack ? -1 : static_cast<std::int64_t>(sample.stack);
        // Few samples have one of the rarer states, which a value of their own holds.
        const std::uint32_t rare = sample.state >> kUsualBits;
        packer.put(folded(next - stack) << (kUsualBits + 1) | (rare != 0 ? kHasRare : 0) |
                   (sample.state & kUsualStates));
        if (rare != 0)
            packer.put(rare);
        time = nanosecondsOf(sample.time);
        stack = next;
    }
    return std::move(packer).finish();
}

/// Appends to `samples`.
void unpackSamples(std::string_view bytes, std::int64_t origin, std::vector<HostSample>& samples)
{
    Unpacker unpacker(bytes);
    std::size_t count = unpacker.takeCount();
    const bool hasRare = count == 0; // otherwise there were only the usual states
    if (hasRare)
        count = unpacker.takeCount();
    std::int64_t time = origin;
    std::int64_t stack = 0;
    for (std::size_t i = 0; i < count; ++i) {
        time = RunRow::sum(time, static_cast<std::int64_t>(unpacker.take()));
        const std::uint64_t both = unpacker.take();
        stack = RunRow::sum(stack, unfolded(both >> (hasRare ? kUsualBits + 1 : kUsualBits)));
        auto state = static_cast<std::uint32_t>(both & kUsualStates);
        if (hasRare && (both & kHasRare) != 0)
            state |= static_cast<std::uint32_t>(unpacker.take()) << kUsualBits;
        samples.push_back({.time = timestampAt(time),
                           .stack = stack < 0 ? kNoStack : static_cast<std::uint32_t>(stack),
                           .state = state});
    }
}

} // namespace

HostSampleRows::HostSampleRows(SQLite::Database& database, ChunkWriter& chunks, StringMap& strings)
    : strings_(strings), stacks_(database, chunks, "host_stack",
                                 {"id", "run", "process", "number", "caller", "function", "line"}),
      samples_(database, chunks, "host_sample",
               {"id", "run", "process", "thread", "samples", "launches", "start", "end", "data"})
{
}

void HostSampleRows::insert(const HostSamples& all, const RowFrame& frame)
{
    for (std::size_t i = 0; i < all.stacks.size(); ++i) {
        const HostStack& stack = all.stacks[i];
        stacks_.insert(frame.run, {frame.run, cellOfId(all.process), static_cast<std::int64_t>(i),
                                   stack.caller == kNoStack ? Cell() : Cell(std::int64_t{stack.caller}),
                                   strings_.intern(stack.function),
                                   stack.line == 0 ? Cell() : Cell(std::int64_t{stack.line})});
    }
    for (const SampledHostThread& thread : all.threads)
        for (std::size_t first = 0; first < thread.samples.size(); first += kSamplesOfARow) {
            const auto part = std::span(thread.samples)
                                  .subspan(first, std::min(kSamplesOfARow, thread.samples.size() - first));
            const std::int64_t launches = std::ranges::count_if(part, &HostSample::isLaunch);
            const std::string data = packedSamples(part, frame.clockOrigin);
            samples_.insert(frame.run, {frame.run, cellOfId(all.process), cellOfId(thread.thread),
                                        std::ssize(part) - launches, launches,
                                        nanosecondsOf(part.front().time) - frame.clockOrigin,
                                        nanosecondsOf(part.back().time) - frame.clockOrigin, Blob{data}});
        }
}

std::vector<HostSamples> readHostSamples(StoredRows& rows, RunId run)
{
    const RowFrame frame = rows.frameOf(run);
    std::vector<HostSamples> all;
    std::map<ProcessIndex, std::size_t> places;
    const auto of = [&](ProcessIndex process) -> HostSamples& {
        const auto [place, isNew] = places.try_emplace(process, all.size());
        if (isNew)
            all.push_back({.process = process});
        return all[place->second];
    };
    const auto damaged = [&] {
        rows.damaged("the host samples of run " + std::to_string(run.value) + " do not fit together");
    };
    rows.eachRow(run, "host_stack", [&](SQLite::Statement& statement) {
        const RunRow row(statement, rows, frame);
        HostSamples& samples = of(row.id<ProcessIndex>("process"));
        const auto caller = row.optionalNarrow<std::uint32_t>("caller").value_or(kNoStack);
        if (row.number("number") != std::ssize(samples.stacks) ||
            (caller != kNoStack && caller >= samples.stacks.size()))
            damaged();
        samples.stacks.push_back({.caller = caller,
                                  .function = std::string(rows.text(row.number("function"))),
                                  .line = row.optionalNarrow<std::uint32_t>("line").value_or(0)});
    });
    rows.eachRow(run, "host_sample", [&](SQLite::Statement& statement) {
        const RunRow row(statement, rows, frame);
        HostSamples& samples = of(row.id<ProcessIndex>("process"));
        const auto thread = row.id<ThreadId>("thread");
        auto found = std::ranges::find(samples.threads, thread, &SampledHostThread::thread);
        if (found == samples.threads.end())
            found = samples.threads.insert(found, {.thread = thread});
        unpackSamples(row.bytes("data"), frame.clockOrigin, found->samples);
    });
    for (const HostSamples& samples : all)
        for (const SampledHostThread& thread : samples.threads)
            if (!std::ranges::is_sorted(thread.samples, {}, &HostSample::time) ||
                std::ranges::any_of(thread.samples, [&](const HostSample& each) {
                    return each.stack != kNoStack && each.stack >= samples.stacks.size();
                }))
                damaged();
    return all;
}

} // namespace tilescope::store
