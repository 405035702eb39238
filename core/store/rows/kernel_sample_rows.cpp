#include "core/store/rows/kernel_sample_rows.h"

#include "core/store/rows/run_row.h"
#include "core/store/rows/string_map.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace tilescope::store {

KernelSampleRows::KernelSampleRows(SQLite::Database& database, ChunkWriter& chunks, StringMap& strings)
    : strings_(strings), kernels_(database, chunks, "sampled_kernel",
                                  {"id", "run", "process", "device", "number", "name", "symbol", "cubin"}),
      instructions_(database, chunks, "sampled_instruction",
                    {"id", "run", "number", "kernel", "offset", "text", "file", "line", "caller_file",
                     "caller_line", "inlined"}),
      stalls_(database, chunks, "stall_sample",
              {"id", "run", "instruction", "reason", "samples", "unissued", "start", "end"}),
      code_(database, chunks, "kernel_code", {"id", "run", "cubin", "bytes", "code"}),
      sources_(database, chunks, "kernel_source", {"id", "run", "file", "digest", "text"})
{
}

void KernelSampleRows::insert(const KernelSamples& samples, const RowFrame& frame)
{
    const auto textCell = [this](const std::string& text) {
        return text.empty() ? Cell() : Cell(strings_.intern(text));
    };
    const auto lineCell = [](const SourceLine& line) {
        return line.line == 0 ? Cell() : Cell(std::int64_t{line.line});
    };
    for (std::size_t i = 0; i < samples.kernels.size(); ++i) {
        const SampledKernel& kernel = samples.kernels[i];
        kernels_.insert(frame.run, {frame.run, cellOfId(kernel.process), cellOfId(kernel.device),
                                    static_cast<std::int64_t>(i), strings_.internKernel(kernel.name),
                                    strings_.intern(kernel.symbol), static_cast<std::int64_t>(kernel.cubin)});
    }
    for (std::size_t i = 0; i < samples.instructions.size(); ++i) {
        const SampledInstruction& each = samples.instructions[i];
        instructions_.insert(frame.run,
                             {frame.run, static_cast<std::int64_t>(i), std::int64_t{each.kernel},
                              static_cast<std::int64_t>(each.offset), textCell(each.text),
                              textCell(each.line.file), lineCell(each.line), textCell(each.caller.file),
                              lineCell(each.caller), textCell(each.inlined)});
    }
    std::vector<std::int64_t> reasons;
    for (const std::string& reason : samples.reasons)
        reasons.push_back(strings_.intern(reason));
    for (const StallSamples& each : samples.stalls) {
        const auto timeCell = [&](Timestamp time) {
            return each.start == each.end ? Cell() : Cell(nanosecondsOf(time) - frame.clockOrigin);
        };
        stalls_.insert(frame.run, {frame.run, std::int64_t{each.instruction}, reasons[each.reason],
                                   each.samples, each.unissued, timeCell(each.start), timeCell(each.end)});
    }
    for (const KernelCode& each : samples.code)
        code_.insert(frame.run, {frame.run, static_cast<std::int64_t>(each.cubin), std::ssize(each.code),
                                 Blob{each.code}});
    for (const KernelSource& each : samples.sources)
        sources_.insert(frame.run, {frame.run, strings_.intern(each.file), std::string_view(each.digest),
                                    each.text.empty() ? Cell() : Cell(Blob{each.text})});
}

KernelSamples readKernelSamples(StoredRows& rows, RunId run, bool withCode)
{
    const RowFrame frame = rows.frameOf(run);
    KernelSamples all;
    const auto damaged = [&] {
        rows.damaged("the kernel samples of run " + std::to_string(run.value) + " do not fit together");
    };
    const auto textOf = [&rows](const RunRow& row, const char* column) {
        const auto id = row.optional(column);
        return id ? std::string(rows.text(*id)) : std::string();
    };
    rows.eachRow(run, "sampled_kernel", [&](SQLite::Statement& statement) {
        const RunRow row(statement, rows, frame);
        if (row.number("number") != std::ssize(all.kernels))
            damaged();
        all.kernels.push_back({.process = row.id<ProcessIndex>("process"),
                               .device = row.id<DeviceIndex>("device"),
                               .name = textOf(row, "name"),
                               .symbol = textOf(row, "symbol"),
                               .cubin = static_cast<std::uint64_t>(row.number("cubin"))});
    });
    rows.eachRow(run, "sampled_instruction", [&](SQLite::Statement& statement) {
        const RunRow row(statement, rows, frame);
        const auto kernel = row.narrow<std::uint32_t>("kernel");
        const std::int64_t offset = row.number("offset");
        if (row.number("number") != std::ssize(all.instructions) || kernel >= all.kernels.size() ||
            offset < 0)
            damaged();
        all.instructions.push_back(
            {.kernel = kernel,
             .offset = static_cast<std::uint64_t>(offset),
             .text = textOf(row, "text"),
             .line = {textOf(row, "file"), row.optionalNarrow<std::uint32_t>("line").value_or(0)},
             .caller = {textOf(row, "caller_file"),
                        row.optionalNarrow<std::uint32_t>("caller_line").value_or(0)},
             .inlined = textOf(row, "inlined")});
    });
    std::map<std::int64_t, std::uint32_t> reasons;
    rows.eachRow(run, "stall_sample", [&](SQLite::Statement& statement) {
        const RunRow row(statement, rows, frame);
        const std::int64_t reason = row.number("reason");
        const auto [known, isNew] =
            reasons.try_emplace(reason, static_cast<std::uint32_t>(all.reasons.size()));
        if (isNew)
            all.reasons.emplace_back(rows.text(reason));
        const StallSamples stall{.instruction = row.narrow<std::uint32_t>("instruction"),
                                 .reason = known->second,
                                 .samples = row.number("samples"),
                                 .unissued = row.number("unissued"),
                                 .start = row.optionalTime("start").value_or(Timestamp()),
                                 .end = row.optionalTime("end").value_or(Timestamp())};
        if (stall.instruction >= all.instructions.size() || stall.samples < 0 || stall.unissued < 0 ||
            stall.unissued > stall.samples || stall.end < stall.start)
            damaged();
        all.stalls.push_back(stall);
    });
    rows.eachRow(run, "kernel_source", [&](SQLite::Statement& statement) {
        const RunRow row(statement, rows, frame);
        all.sources.push_back({.file = textOf(row, "file"), .digest = row.string("digest")});
        if (withCode)
            all.sources.back().text = row.bytes("text");
    });
    if (withCode)
        rows.eachRow(run, "kernel_code", [&](SQLite::Statement& statement) {
            const RunRow row(statement, rows, frame);
            const std::string_view code = row.bytes("code");
            if (row.number("bytes") != std::ssize(code))
                damaged();
            all.code.push_back(
                {.cubin = static_cast<std::uint64_t>(row.number("cubin")), .code = std::string(code)});
        });
    return all;
}

} // namespace tilescope::store
