#include "core/exchange/export/share_page.h"

#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include <array>
#include <sstream>

namespace tilescope::exchange {

namespace {

using testing::FakeTrace;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>{{script}}";

class SharePage : public ::testing::Test {
protected:
    /// A run with names that try to break out, and with everything that identifies a machine.
    std::filesystem::path recording() const
    {
        const std::filesystem::path file = folder / "a.tscope";
        FakeTrace trace;
        trace.step(0, 0, 1000).range(std::string("step/") + kHostile, 10, 400);
        trace.op("/home/ann/work/train.py(12): forward", 20, 90);
        trace.kernel(std::string("gemm") + kHostile, 50, 60).kernel("bad \xFF utf8", 70, 75);
        store::RunWriter writer(file, trace.strings());
        writer.beginRun({"lm-small", "lm", "{}", "h", "Tilescope test"});
        writer.writeEnvironment(std::array<EnvironmentEntry, 2>{
            {{.key = "host", .value = "node17"}, {.key = "gpu.name", .value = "NVIDIA H200"}}});
        RunTopology topology;
        topology.processes.push_back({.id = ProcessIndex{0},
                                      .pid = 12,
                                      .host = "node17.cluster",
                                      .name = "python",
                                      .commandLine = "python /home/ann/secret-plan.py"});
        writer.writeTopology(topology);
        writer.write(trace.batch());
        RunResult result;
        result.device = "cuda:0";
        writer.endRun(result);
        return file;
    }
    std::string page(const SharePageOptions& options) const
    {
        std::ostringstream out;
        const RunId run{1};
        writeSharePage(out, store::RunReader(recording()), {&run, 1}, options);
        return out.str();
    }

    testing::TemporaryFolder folder;
};

std::size_t countOf(const std::string& text, const std::string& part)
{
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

/// The JSON object of the page's only run.
nlohmann::json runOf(const std::string& page)
{
    const std::string begin = "data-run=\"1\" data-size=\"";
    std::size_t at = page.find(begin) + begin.size();
    at = page.find('>', at) + 1;
    const std::string text = page.substr(at, page.find('<', at) - at);
    std::string bytes;
    unsigned held = 0;
    int bits = 0;
    const auto digit = [](char c) { return unsigned(c >= '=' ? c - '=' : c - ' ' + 66); };
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        held |= (digit(text[i]) + 91 * digit(text[i + 1])) << bits;
        for (bits += 13; bits >= 8; bits -= 8, held >>= 8)
            bytes.push_back(static_cast<char>(held & 0xFF));
    }
    z_stream stream{};
    inflateInit2(&stream, -15);
    std::string out(1 << 20, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_in = uInt(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = uInt(out.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    inflateEnd(&stream);
    std::size_t size = 0;
    for (int byte = 3; byte >= 0; --byte)
        size = size << 8 | static_cast<unsigned char>(out[std::size_t(byte)]);
    return nlohmann::json::parse(out.substr(4, size));
}

} // namespace

TEST_F(SharePage, KeepsHostileNamesOutOfItsMarkup)
{
    const std::string text = page({.title = kHostile});
    EXPECT_THAT(text, Not(HasSubstr("<img")));
    // That of the run, that of the page.
    EXPECT_EQ(countOf(text, "</script>"), 2U);
    EXPECT_EQ(countOf(text, "<script"), 2U);
    EXPECT_THAT(text, HasSubstr("<title>&#60;/script&#62;&#60;img src=x onerror=alert(1)&#62;{{script}}"));
    EXPECT_THAT(runOf(text)["names"].dump(), HasSubstr(kHostile));
}

TEST_F(SharePage, LoadsNothingAndAllowsNothingElse)
{
    const std::string text = page({.title = "a"});
    EXPECT_THAT(text, HasSubstr("content=\"default-src 'none'; script-src 'sha256-"));
    for (const char* loads :
         {"http:", "https:", " src=", "@import", "url(", "eval(", "Function(", "innerHTML", "unsafe"})
        EXPECT_THAT(text, Not(HasSubstr(loads)));
}

TEST_F(SharePage, LeavesOutWhatIdentifiesTheMachine)
{
    const std::string run = runOf(page({.title = "a"})).dump();
    for (const char* identity : {"node17", "ann", "secret-plan"})
        EXPECT_THAT(run, Not(HasSubstr(identity)));
    EXPECT_THAT(run, HasSubstr("~/work/train.py(12): forward"));
    EXPECT_THAT(run, HasSubstr("NVIDIA H200"));
}

TEST_F(SharePage, KeepsItOnRequest)
{
    const std::string run = runOf(page({.withIdentity = true, .title = "a"})).dump();
    EXPECT_THAT(run, HasSubstr("/home/ann/work/train.py(12): forward"));
    EXPECT_THAT(run, HasSubstr("python /home/ann/secret-plan.py"));
    EXPECT_THAT(run, HasSubstr("node17"));
}

} // namespace tilescope::exchange
