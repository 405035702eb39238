#pragma once

// Small Kineto traces and what an import makes of them.

#include "core/base/error.h"
#include "core/exchange/import/importer.h"
#include "core/store/run_reader.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace tilescope::exchange {

/// What an import of a trace holds.
struct KinetoRun {
    std::string summary;
    std::vector<DeviceEvent> activities;
    std::vector<ApiCall> calls;
    std::vector<Range> ranges;
    std::vector<Op> ops;
    std::vector<Frame> frames;
    std::vector<AllocEvent> allocations;
    std::vector<Collective> collectives;
    std::vector<Wait> waits;
    std::vector<ThreadName> threads;
    RunParties parties;
    std::map<std::string, std::string> environment;
    std::map<std::string, std::int64_t> losses; ///< by kind, summed over details
    std::map<std::string, std::string> details; ///< of losses, by kind; several joined
    std::map<std::uint32_t, std::string> texts;

    std::string text(StringId id) const
    {
        const auto found = texts.find(id.value);
        return found == texts.end() ? std::string() : found->second;
    }
    std::int64_t loss(const std::string& kind) const
    {
        const auto found = losses.find(kind);
        return found == losses.end() ? 0 : found->second;
    }
    const Op* op(const std::string& name) const
    {
        for (const Op& each : ops)
            if (text(each.name) == name)
                return &each;
        return nullptr;
    }
    const Range* range(const std::string& name) const
    {
        for (const Range& each : ranges)
            if (text(each.name) == name)
                return &each;
        return nullptr;
    }
};

/// An event of phase X; `more` follows its members.
inline std::string interval(const std::string& category, const std::string& name, const std::string& place,
                            const std::string& start, const std::string& duration,
                            const std::string& args = {})
{
    return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", )" + place +
           R"(, "ts": )" + start + R"(, "dur": )" + duration + R"(, "args": {)" + args + "}}";
}

inline const std::string kHost = R"("pid": 1084, "tid": 1084)";
inline const std::string kStream = R"("pid": 0, "tid": 7)";

inline std::string launch(int correlation, const std::string& start)
{
    return interval("cuda_runtime", "cudaLaunchKernel", kHost, start, "2.000",
                    R"("correlation": )" + std::to_string(correlation));
}

inline std::string kernel(int correlation, const std::string& start, const std::string& duration,
                          const std::string& more = {})
{
    return interval("kernel", "gemm<float>(float*)", kStream, start, duration,
                    R"("device": 0, "context": 1, "stream": 7, "correlation": )" +
                        std::to_string(correlation) + more);
}

/// `{header, "traceEvents": [events], trailer}`.
inline std::string trace(const std::vector<std::string>& events, const std::string& header = {},
                         const std::string& trailer = {})
{
    std::string text = "{\n" + header + (header.empty() ? "" : ",\n") + R"("traceEvents": [)";
    for (const std::string& event : events)
        text += (text.back() == '[' ? "\n  " : ",\n  ") + event;
    return text + "\n]" + (trailer.empty() ? "" : ",\n") + trailer + "}";
}

inline std::string gzipped(const std::string& text)
{
    z_stream stream = {};
    constexpr int kGzip = 15 + 16;
    deflateInit2(&stream, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY);
    std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
    std::string source = text;
    stream.next_in = reinterpret_cast<Bytef*>(source.data());
    stream.avail_in = static_cast<uInt>(source.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

class Kineto : public ::testing::Test {
protected:
    std::filesystem::path written(const std::string& text, const std::string& name = "trace.json")
    {
        const std::filesystem::path file = folder_ / name;
        std::ofstream(file, std::ios::binary) << text;
        return file;
    }

    KinetoRun imported(const std::string& text) { return importedFiles({written(text)}); }

    KinetoRun importedFiles(const std::vector<std::filesystem::path>& files)
    {
        const std::filesystem::path output = folder_ / ("out" + std::to_string(++outputs_) + ".tscope");
        const ImportResult result = importFiles(files, output);
        return readRun(output, result);
    }

    /// Why a text is not imported; empty where it is.
    std::string refusalOf(const std::string& text)
    {
        try {
            imported(text);
        } catch (const Error& error) {
            return error.sentence();
        }
        return {};
    }

    static KinetoRun readRun(const std::filesystem::path& output, const ImportResult& result)
    {
        const store::RunReader reader(output);
        const store::EventWindow all{.run = result.run};
        KinetoRun run;
        run.summary = result.summary;
        run.activities = reader.deviceEvents(all);
        run.calls = reader.apiCalls(all);
        run.ranges = reader.ranges(all);
        run.ops = reader.ops(all);
        run.frames = reader.frames(all);
        run.allocations = reader.allocEvents(all);
        run.collectives = reader.collectives(result.run);
        run.waits = reader.waits(result.run);
        run.threads = reader.threads(result.run);
        run.parties = reader.parties(result.run);
        for (const EnvironmentEntry& entry : reader.environment(result.run))
            run.environment[entry.key] = entry.value;
        for (const store::RunReader::LossRecord& loss : reader.losses(result.run)) {
            run.losses[loss.kind] += loss.count;
            run.details[loss.kind] += loss.detail + "; ";
        }
        const auto keep = [&](StringId id) {
            if (id)
                run.texts[id.value] = reader.text(id);
        };
        for (const DeviceEvent& each : run.activities)
            keep(each.name);
        for (const ApiCall& each : run.calls)
            keep(each.name);
        for (const Range& each : run.ranges) {
            keep(each.name);
            keep(each.path);
        }
        for (const Op& each : run.ops) {
            keep(each.name);
            keep(each.shapes);
        }
        for (const Frame& each : run.frames)
            keep(each.name);
        for (const ThreadName& each : run.threads)
            keep(each.name);
        for (const Collective& each : run.collectives)
            for (const StringId id : {each.op, each.group, each.ranks, each.dtype})
                keep(id);
        return run;
    }

    testing::TemporaryFolder folder_;
    int outputs_ = 0;
};

} // namespace tilescope::exchange
