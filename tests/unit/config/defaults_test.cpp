#include "core/base/error.h"
#include "core/config/schema.h"
#include "core/config/spec_document.h"
#include "core/config/spec_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace tilescope::config {

namespace {

using namespace literals;

ExperimentSpec only(std::string_view yaml, std::string_view origin = "some/folder/s.yaml")
{
    const auto specs = parseSpec(yaml, origin);
    EXPECT_EQ(specs.size(), 1);
    return specs.front();
}

TEST(Defaults, OfAttention)
{
    EXPECT_EQ(
        toJson(only("workload: attention\n")),
        R"({"name":"s","workload":"attention","device":"auto","seed":0,"mode":"both","grad":false,)"
        R"("loss":"sum","precision":"fp32","backend":"naive","batch":8,"warmup":5,"steps":10,"repeat":1,"trace_steps":3,)"
        R"("trace":"kernels","memory":true,"shapes":false,"counters":[],"compile":"none",)"
        R"("deterministic":false,"isolate":"sweep","timeout":600,"memory_limit":"auto","threads":"auto",)"
        R"("annotate_attention":false,"heads":1,"kv_heads":1,"d_head":64,"seq_len":1024,"kv_len":1024,)"
        R"("causal":true,"tile_q":64,"tile_k":64})");
}

TEST(Defaults, OfTheLm)
{
    EXPECT_EQ(
        toJson(only("workload: lm\n")),
        R"({"name":"s","workload":"lm","device":"auto","seed":0,"mode":"both","grad":false,)"
        R"("loss":"sum","precision":"fp32","backend":"naive","batch":4,"warmup":5,"steps":10,"repeat":1,"trace_steps":3,)"
        R"("trace":"kernels","memory":true,"shapes":false,"counters":[],"compile":"none",)"
        R"("deterministic":false,"isolate":"sweep","timeout":600,"memory_limit":"auto","threads":"auto",)"
        R"("annotate_attention":false,"heads":12,"size":"small","d_model":768,"d_ff":3072,"layers":12,)"
        R"("vocab":10000,"context":128,"rope_theta":10000,"checkpointing":"none"})");
}

TEST(Defaults, OfRanksAreStoredOnlyIfARunHasRanks)
{
    const std::string plain = toJson(only("workload: lm\n"));
    EXPECT_EQ(plain, toJson(only("workload: lm\ngpus: 1\nparallel: none\n")));
    EXPECT_EQ(specHash(only("workload: lm\n")), specHash(only("workload: lm\ngpus: 1\nparallel: none\n")));
    const ExperimentSpec ranks = only("workload: lm\ndevice: cpu\ngpus: 2\nparallel: ddp\n");
    EXPECT_TRUE(
        toJson(ranks).ends_with(R"("checkpointing":"none","gpus":2,"parallel":"ddp","bucket":26214400})"));
    EXPECT_EQ(fromJson(toJson(ranks)), ranks);
    EXPECT_NE(specHash(ranks), specHash(only("workload: lm\ndevice: cpu\ngpus: 4\nparallel: ddp\n")));
}

TEST(Defaults, OfTimingIsNotStored)
{
    const ExperimentSpec phase = only("workload: lm\ntiming: phase\n");
    EXPECT_EQ(toJson(phase), toJson(only("workload: lm\n")));
    const ExperimentSpec step = only("workload: lm\ntiming: step\n");
    EXPECT_EQ(step.timing, StepTiming::Step);
    EXPECT_EQ(fromJson(toJson(step)), step);
    EXPECT_NE(specHash(step), specHash(phase));
}

TEST(Defaults, OfTheInsideOfKernelsIsNotStored)
{
    const ExperimentSpec without = only("workload: lm\ninside: false\n");
    EXPECT_EQ(specHash(without), specHash(only("workload: lm\n")));
    const ExperimentSpec with = only("workload: lm\ninside: true\n");
    EXPECT_TRUE(with.inside);
    EXPECT_EQ(fromJson(toJson(with)), with);
    EXPECT_NE(specHash(with), specHash(without));
}

TEST(Defaults, OfTheStudiesOfNumbers)
{
    EXPECT_EQ(
        toJson(only("workload: accumulation\n")),
        R"({"name":"s","workload":"accumulation","device":"auto","seed":0,"warmup":5,"steps":10,"repeat":1,"trace_steps":3,)"
        R"("trace":"kernels","memory":true,"shapes":false,"counters":[],"deterministic":false,)"
        R"("isolate":"sweep","timeout":600,"memory_limit":"auto","threads":"auto"})");
    EXPECT_EQ(only("workload: dtypes\n").workload, Workload::Dtypes);
}

TEST(Defaults, OfACollective)
{
    EXPECT_EQ(
        toJson(only("workload: collective\n")),
        R"({"name":"s","workload":"collective","device":"auto","seed":0,"warmup":5,"steps":10,"repeat":1,"trace_steps":3,)"
        R"("trace":"kernels","memory":true,"shapes":false,"counters":[],"deterministic":false,)"
        R"("isolate":"sweep","timeout":600,"memory_limit":"auto","threads":"auto","gpus":2,"op":"all_reduce",)"
        R"("bytes":1048576,"dtype":"fp32"})");
}

TEST(Defaults, FollowTheKeysTheyDependOn)
{
    EXPECT_EQ(only("workload: lm\nmode: train\n").loss, LossKind::CrossEntropy);
    EXPECT_EQ(only("workload: lm\nmode: train\nloss: sum\n").loss, LossKind::Sum);
    EXPECT_EQ(only("workload: attention\nheads: 6\n").kvHeads, 6);
    EXPECT_EQ(only("workload: attention\nheads: 6\nkv_heads: 2\n").kvHeads, 2);
    EXPECT_EQ(only("workload: attention\nseq_len: 77\n").kvLen, 77);
    EXPECT_EQ(only("workload: attention\nseq_len: 77\nkv_len: 99\n").kvLen, 99);
    EXPECT_EQ(only("workload: lm\nbatch: 8\n").batch, 8);
    EXPECT_EQ(only("workload: lm\ncompile: fused\n").backend, Backend::Flash);
    EXPECT_EQ(only("workload: lm\nsize: 2.7B\n").layers, 32);
    EXPECT_EQ(only("workload: lm\nsize: 2.7B\nlayers: 1\nheads: 16\n").heads, 16);
}

TEST(Defaults, OfAGeneration)
{
    const ExperimentSpec spec = only("workload: lm\nmode: generate\nnew_tokens: 7\n");
    EXPECT_EQ(spec.steps, 7); // a step is a token
    EXPECT_EQ(spec.warmup, 1);
    EXPECT_EQ(spec.traceSteps, 1);
    EXPECT_EQ(spec.kvHeads, spec.heads);
    EXPECT_EQ(only("workload: lm\nmode: generate\nkv_heads: 3\n").kvHeads, 3);
    const std::string json = toJson(spec);
    EXPECT_NE(json.find(R"("kv_heads":12)"), std::string::npos) << json;
    EXPECT_NE(json.find(R"("new_tokens":7,"cache":"contiguous","page":16,"sampling":"greedy",)"
                        R"("weights":"as_precision","check":false)"),
              std::string::npos)
        << json;
}

TEST(Defaults, NameARunAfterItsFile)
{
    EXPECT_EQ(only("workload: lm\n", "a/b/warm-up.v2.yaml").name, "warm-up.v2");
    EXPECT_EQ(only("workload: lm\n", "study:benchmarking").name, "benchmarking");
    EXPECT_EQ(only("workload: lm\n", "").name, "lm");
    EXPECT_EQ(only("workload: lm\n", "/x/..").name, "lm");
    EXPECT_EQ(only("workload: lm\n", "a\033[1m.yaml").name, "a_[1m");
    EXPECT_EQ(only("workload: lm\n", std::string(300, 'n')).name, std::string(80, 'n'));
    EXPECT_EQ(only("workload: lm\nname: 'my first'\n").name, "my first");
}

TEST(Values, AreReadInEveryForm)
{
    EXPECT_EQ(only("workload: lm\nmemory_limit: 8 GiB\n").memoryLimit, (Bytes{std::int64_t{8} << 30}));
    EXPECT_EQ(only("workload: lm\nmemory_limit: 512MiB\n").memoryLimit, 512_MiB);
    EXPECT_EQ(only("workload: lm\nmemory_limit: 1.5 GB\n").memoryLimit, Bytes{1'500'000'000});
    EXPECT_EQ(only("workload: lm\nmemory_limit: '2000000 B'\n").memoryLimit, Bytes{2'000'000});
    EXPECT_EQ(only("workload: lm\nmemory_limit: auto\n").memoryLimit, std::nullopt);
    EXPECT_EQ(only("workload: lm\nthreads: 3\n").threads, 3);
    EXPECT_EQ(only("workload: lm\nthreads: auto\n").threads, std::nullopt);
    EXPECT_EQ(only("workload: lm\nseed: 9223372036854775807\n").seed,
              std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(only("workload: lm\ntimeout: 0.5\n").timeoutSeconds, 0.5);
    EXPECT_EQ(only("workload: lm\ndevice: cuda:3\n").device,
              (DeviceRequest{.kind = DeviceRequest::Kind::Cuda, .index = 3}));
    EXPECT_EQ(only("workload: lm\ndevice: cuda\n").device,
              (DeviceRequest{.kind = DeviceRequest::Kind::Cuda}));
    EXPECT_EQ(only("workload: lm\ncompile: package:a b/m.pt2\nmode: forward\n").compile,
              (CompileRequest{.kind = CompileRequest::Kind::Package, .package = "a b/m.pt2"}));
    EXPECT_EQ(only("workload: lm\ncompile: inductor\n").backend, Backend::Sdpa);
    EXPECT_EQ(only("workload: lm\ncompile: inductor\n").compile,
              (CompileRequest{.kind = CompileRequest::Kind::Inductor}));
    EXPECT_EQ(only("workload: lm\ndata: markov\n").data, TokenData::Markov);
    EXPECT_EQ(only("workload: lm\ncheckpointing: block:4\n").checkpointing,
              (Checkpointing{.kind = Checkpointing::Kind::Block, .every = 4}));
    EXPECT_EQ(only("workload: lm\ncheckpointing: block:1\n").checkpointing,
              (Checkpointing{.kind = Checkpointing::Kind::Block}));
    EXPECT_EQ(only("workload: lm\ncheckpointing: block:2+4\n").checkpointing,
              (Checkpointing{.kind = Checkpointing::Kind::Block, .every = 2, .kept = 4}));
    EXPECT_EQ(only("workload: lm\ncheckpointing: nested\n").checkpointing,
              (Checkpointing{.kind = Checkpointing::Kind::Nested, .every = 2}));
    EXPECT_EQ(only("workload: lm\ncheckpointing: nested:4\n").checkpointing,
              (Checkpointing{.kind = Checkpointing::Kind::Nested, .every = 4}));
    EXPECT_EQ(only("workload: attention\ntrace: off\ncausal: false\n").trace, TraceLevel::Off);
    EXPECT_EQ(only("{\"workload\": \"attention\", \"mode\": \"backward\"}").mode, Mode::Backward);
    EXPECT_EQ(only("\xef\xbb\xbfworkload: attention\r\nbatch: 3\r\n").batch, 3);
    EXPECT_EQ(only("workload: lm\nname: 2024\n").name, "2024");
}

/// A folder of this test's own, removed with what is in it.
class SpecFiles : public ::testing::Test {
protected:
    SpecFiles()
    {
        std::string pattern = (std::filesystem::temp_directory_path() / "tilescope-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
    }
    ~SpecFiles() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path write(const std::string& name, std::string_view text) const
    {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        return folder_ / name;
    }

    std::string refusal(const std::filesystem::path& file) const
    {
        try {
            loadSpecFile(file);
            return "accepted";
        } catch (const Error& error) {
            EXPECT_EQ(error.exitCode(), 2);
            return error.sentence();
        }
    }

    std::filesystem::path folder_;
};

TEST_F(SpecFiles, AreReadAndNamed)
{
    const auto specs = loadSpecFile(write("mine.yaml", "workload: lm\nsize: tiny\n"), {{"batch", "[1, 2]"}});
    ASSERT_EQ(specs.size(), 2);
    EXPECT_EQ(specs[1].name, "mine");
    EXPECT_EQ(specs[1].batch, 2);
}

TEST_F(SpecFiles, AreReadAsDocumentsToo)
{
    const auto file = write("mine.yaml", "workload: lm\nsweep: {batch: [1, 2]}\n");
    const SpecDocument document = loadDocument(file);
    EXPECT_EQ(document.origin, file.string());
    EXPECT_EQ(document.pointCount(), 2);
}

TEST_F(SpecFiles, NameTheirPlaceInErrors)
{
    const auto file = write("bad.yaml", "workload: lm\n\n  \nsize: [tiny]\n");
    EXPECT_EQ(refusal(file).find(file.string() + ":4:7: size takes one value"), 0);
}

TEST_F(SpecFiles, OfAnotherKindAreRefused)
{
    EXPECT_EQ(refusal(folder_ / "none.yaml"),
              (folder_ / "none.yaml").string() +
                  ": no such file; name a spec, or study:NAME for a study of Tilescope");
    EXPECT_EQ(refusal(folder_), folder_.string() + ": is a folder, not a spec; name a YAML file in it");
    EXPECT_EQ(
        refusal(write("empty.yaml", "")).find((folder_ / "empty.yaml").string() + ": the spec is empty"), 0);
}

// Its size is read from the file system: not a byte of a file of 100 MB is.
TEST_F(SpecFiles, ThatAreHugeAreRefusedUnread)
{
    const auto file = write("huge.yaml", "");
    std::filesystem::resize_file(file, 100'000'000);
    EXPECT_EQ(refusal(file), file.string() + ": too large for a spec (95.4 MiB); at most 4 MiB; write a "
                                             "sweep as one list per key, not as every point");
}

TEST_F(SpecFiles, WithoutAnEndAreReadOnlySoFar)
{
    EXPECT_EQ(refusal("/dev/zero").find("/dev/zero: too large for a spec"), 0);
}

TEST_F(SpecFiles, DoNotCommandATerminalByTheirName)
{
    const std::string sentence = refusal(write("\033[31m.yaml", "workload: lm\nbatch: 0\n"));
    EXPECT_EQ(sentence.find('\033'), std::string::npos);
    EXPECT_NE(sentence.find("_[31m.yaml:2:8: batch is 0"), std::string::npos);
}

TEST_F(SpecFiles, ComeThroughPipesToo)
{
    const auto pipe = folder_ / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    ASSERT_EQ(std::system(("echo 'workload: dtypes' > '" + pipe.string() + "' &").c_str()), 0);
    EXPECT_EQ(loadSpecFile(pipe).front().workload, Workload::Dtypes);
}

} // namespace

} // namespace tilescope::config
