#pragma once

// Small Kineto traces and their import.

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/exchange/imported_run.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tilescope::exchange {

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

    ImportedRun imported(const std::string& text) { return importedFiles({written(text)}); }

    ImportedRun importedFiles(const std::vector<std::filesystem::path>& files)
    {
        const std::filesystem::path output = folder_ / ("out" + std::to_string(++outputs_) + ".tscope");
        const ImportResult result = importFiles(files, output);
        return {output, result};
    }

    /// Why a text is not imported; empty if it is imported.
    std::string refusalOf(const std::string& text)
    {
        try {
            imported(text);
        } catch (const Error& error) {
            return error.sentence();
        }
        return {};
    }

    testing::TemporaryFolder folder_;
    int outputs_ = 0;
};

} // namespace tilescope::exchange
