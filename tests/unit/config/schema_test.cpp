#include "core/config/schema.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/config/spec_document.h"
#include "core/config/spec_file.h"
#include "core/config/value.h"
#include "core/config/yaml_tree.h"
#include "core/model/text.h"
#include "tests/support/json_schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace tilescope::config {

namespace {

std::string contentsOf(const std::filesystem::path& file)
{
    std::ifstream stream(file);
    EXPECT_TRUE(stream) << file;
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
}

TEST(Keys, StandInTheOrderInWhichRunsShowThem)
{
    std::vector<std::string_view> names;
    for (const KeyInfo& key : keys())
        names.push_back(key.name);
    EXPECT_THAT(names,
                ::testing::ElementsAre(
                    "name", "workload", "device", "seed", "mode", "grad", "loss", "precision", "backend",
                    "batch", "warmup", "steps", "repeat", "timing", "trace_steps", "trace", "memory",
                    "shapes", "counters", "inside", "compile", "deterministic", "isolate", "timeout",
                    "memory_limit", "threads", "annotate_attention", "heads", "kv_heads", "d_head", "seq_len",
                    "kv_len", "causal", "tile_q", "tile_k", "size", "d_model", "d_ff", "layers", "vocab",
                    "context", "data", "rope_theta", "checkpointing", "new_tokens", "cache", "page",
                    "sampling", "weights", "check", "gpus", "parallel", "bucket", "op", "bytes", "dtype"));
}

TEST(Keys, AreListedByTheirRanks)
{
    using Names = std::vector<std::string_view>;
    EXPECT_EQ(keysBy(&KeyUse::alongX), (Names{"seq_len", "context", "new_tokens", "kv_len", "batch", "d_head",
                                              "d_model", "layers", "heads", "gpus"}));
    EXPECT_EQ(keysBy(&KeyUse::series),
              (Names{"backend", "precision", "size", "compile", "checkpointing", "cache", "weights",
                     "parallel", "mode", "causal", "d_head", "heads", "batch"}));
    EXPECT_EQ(keysBy(&KeyUse::caption),
              (Names{"workload", "precision", "batch", "heads", "d_head", "causal", "mode", "size"}));
    EXPECT_EQ(keysBy(&KeyUse::title).front(), "parallel");
    EXPECT_EQ(keysBy(&KeyUse::title).back(), "warmup");
    EXPECT_EQ(keysBy(&KeyUse::details).front(), "workload");
    EXPECT_EQ(keysBy(&KeyUse::filter).back(), "device");
}

TEST(Keys, DifferInTheLettersOfShortTitlesAndFollowKeysThatExist)
{
    std::set<std::string_view> letters;
    for (const KeyInfo& key : keys()) {
        if (!key.use.letters.empty()) {
            EXPECT_TRUE(letters.insert(key.use.letters).second) << key.name;
            EXPECT_GT(key.use.title, 0) << key.name;
        }
        if (!key.use.leader.empty()) {
            EXPECT_NE(findKey(key.use.leader), nullptr) << key.name;
            EXPECT_NE(key.use.leader, key.name);
        }
    }
    EXPECT_FALSE(letters.empty());
}

TEST(Keys, AreFoundInEitherSpelling)
{
    ASSERT_NE(findKey("d_head"), nullptr);
    EXPECT_EQ(findKey("d-head"), findKey("d_head"));
    EXPECT_EQ(findKey("d head"), nullptr);
}

TEST(Keys, ExplainThemselves)
{
    for (const KeyInfo& key : keys()) {
        EXPECT_FALSE(key.label.empty() || key.help.empty() || key.defaultText.empty() || key.example.empty())
            << key.name;
        EXPECT_FALSE(key.allowed().empty()) << key.name;
        EXPECT_TRUE(key.attention || key.lm || key.collective) << key.name;
        SCOPED_TRACE(key.name);
        if (key.type == ValueType::Text)
            continue;
        EXPECT_NO_THROW(parseValue(key, readYaml(key.example, key.name)));
        EXPECT_THROW(parseValue(key, readYaml("{a: b}", key.name)), Error);
    }
}

TEST(Keys, HaveADefaultForEachWorkload)
{
    EXPECT_EQ(findKey("batch")->defaultFor(Workload::Attention), "8");
    EXPECT_EQ(findKey("batch")->defaultFor(Workload::Lm), "4");
    EXPECT_EQ(findKey("steps")->defaultFor(Workload::Lm), "10; new_tokens for mode generate");
    for (const KeyInfo& key : keys()) {
        for (const EnumWord<Workload>& workload : enumWords<Workload>())
            EXPECT_THAT(key.appliesTo(workload.value) ? key.defaultFor(workload.value) : "",
                        ::testing::Not(::testing::HasSubstr("(")))
                << key.name;
    }
}

/// A spec of each workload in which every key has a value other than its default.
ExperimentSpec unusual(std::string_view workload)
{
    std::string yaml = "workload: " + std::string(workload) + "\n";
    for (const KeyInfo& key : keys())
        if (key.appliesTo(workload == "lm" ? Workload::Lm : Workload::Attention) && key.name != "workload" &&
            key.name != "loss" && key.name != "compile" && key.name != "mode" && key.name != "grad" &&
            key.name != "inside" && // excludes counters
            key.name != "d_model" && key.name != "heads" && key.name != "gpus" && key.name != "parallel" &&
            key.name != "bucket" && // ranks need gradients
            !key.generation && !(workload == "lm" && key.name == "kv_heads"))
            yaml += std::string(key.name) + ": " + std::string(key.example) + "\n";
    return parseSpec(yaml + "mode: forward\ngrad: true\nheads: 8\n", "s.yaml").front();
}

TEST(Json, RoundTripsEveryKey)
{
    for (const char* workload : {"attention", "lm"}) {
        const ExperimentSpec spec = unusual(workload);
        EXPECT_EQ(fromJson(toJson(spec)), spec) << toJson(spec);
    }
    for (const char* yaml :
         {"workload: accumulation", "workload: dtypes", "workload: products", "workload: lm\nmode: train",
          "workload: lm\ndevice: cpu\ngpus: 2\nparallel: ddp\nbucket: 1 MiB",
          "workload: lm\ngpus: 4\nparallel: fsdp+tp", "workload: lm\ndata: markov\ncompile: inductor",
          "workload: lm\nmode: train\nparallel: zero1\nbucket: 2 MiB", "workload: collective",
          "workload: lm\nmode: generate", "workload: lm\ninside: true",
          "workload: lm\nmode: generate\nnew_tokens: 7\nkv_heads: 3\ncontext: 9",
          "workload: lm\nmode: generate\ncache: paged\npage: 5\nsampling: seeded\ncheck: true",
          "workload: lm\nmode: generate\nprecision: bf16\nweights: fp8\nwarmup: 0\ntrace_steps: 2",
          "workload: collective\nop: all_to_all\nbytes: 1 GiB\ngpus: 4\ndtype: bf16",
          "workload: lm\ndevice: cuda:12\ncompile: package:\"x\".pt2\nmode: forward",
          "workload: lm\ncounters: ['\"', '\u00e9']\ntimeout: 0.1\nrope_theta: 1e7",
          "workload: attention\nseed: 9223372036854775807\nmemory_limit: 1.5 GB\nthreads: 2"}) {
        const ExperimentSpec spec = parseSpec(yaml, "s.yaml").front();
        EXPECT_EQ(fromJson(toJson(spec)), spec) << toJson(spec);
    }
}

TEST(Json, HasTheKeysOfItsWorkloadOnly)
{
    std::vector<std::string_view> lm;
    for (const ResolvedValue& value : resolvedValues(specFromOverrides(Workload::Lm, {}).front()))
        lm.push_back(value.key);
    EXPECT_THAT(lm, ::testing::Contains("context"));
    EXPECT_THAT(lm, ::testing::Not(::testing::Contains("seq_len")));
}

TEST(Json, GivesMissingKeysTheirDefaults)
{
    EXPECT_EQ(fromJson(R"({"workload":"lm","name":"x","size":"tiny","mode":"train"})"),
              specFromOverrides(Workload::Lm, {{"name", "x"}, {"size", "tiny"}, {"mode", "train"}}).front());
}

TEST(Json, RefusesOtherJson)
{
    const auto refusal = [](std::string_view json) {
        try {
            fromJson(json);
            return std::string("accepted");
        } catch (const Error& error) {
            return error.sentence();
        }
    };
    EXPECT_EQ(refusal("[]"), "parameters: is not a JSON object; give {\"workload\": …}");
    EXPECT_EQ(refusal("{}"), "parameters.workload: is missing or unknown; allowed: attention, lm, "
                             "accumulation, dtypes, products, collective");
    EXPECT_TRUE(refusal("{").starts_with("parameters: is not JSON: "));
    EXPECT_TRUE(
        refusal(R"({"workload":"lm","contxt":1})")
            .starts_with("parameters: unknown key 'contxt'; did you mean 'context'? allowed here: name, "));
    EXPECT_TRUE(refusal(R"({"workload":"lm","seq_len":1})").starts_with("parameters: unknown key 'seq_len'"));
    EXPECT_EQ(refusal(R"({"workload":"lm","batch":"8"})"),
              "parameters.batch: batch has the wrong type (string); allowed: 1 to 65,536");
    EXPECT_EQ(refusal(R"({"workload":"lm","batch":8.5})"),
              "parameters.batch: batch takes an integer, not '8.5'; allowed: 1 to 65,536");
    EXPECT_EQ(refusal(R"({"workload":"lm","batch":0})"),
              "parameters.batch: batch is 0, out of range; allowed: 1 to 65,536");
    EXPECT_EQ(refusal(R"({"workload":"lm","memory":"true"})"),
              "parameters.memory: memory has the wrong type (string); allowed: true, false");
    EXPECT_EQ(
        refusal(R"({"workload":"lm","name":7})"),
        "parameters.name: name has the wrong type (number); allowed: 1 to 80 printable characters, no path");
    EXPECT_EQ(refusal(R"({"workload":"lm","counters":[1]})"),
              "parameters.counters: counters takes a list of texts; allowed: a list of up to 64 names");
    EXPECT_TRUE(refusal(std::string(100'000, '[')).starts_with("parameters: is not JSON"));
}

// Hashes name points in files that people keep: these may only change with a reason.
TEST(Hash, IsStable)
{
    EXPECT_EQ(specHash(specFromOverrides(Workload::Attention, {}).front()),
              "21d36f817c1e95e1c6f2f47f9ec2fa5bcd44ab3b336d584be12fcc45ba7e91b1");
    EXPECT_EQ(specHash(specFromOverrides(Workload::Lm, {}).front()),
              "10ef411efe809cff19e46306d44ce146c82c216bdd2d4023ab461c676b7819d2");
}

TEST(Hash, DependsOnTheWorkOnly)
{
    const ExperimentSpec base = specFromOverrides(Workload::Attention, {}).front();
    const std::string hash = specHash(base);
    EXPECT_EQ(specHash(specFromOverrides(Workload::Attention,
                                         {{"name", "other"}, {"timeout", "1"}, {"repeat", "5"}})
                           .front()),
              hash);
    EXPECT_EQ(specHash(specFromOverrides(Workload::Attention, {{"kv_len", "1024"}, {"batch", "8"}}).front()),
              hash);
    // A field of the other workload is none of its keys.
    ExperimentSpec stray = base;
    stray.layers = 99;
    EXPECT_EQ(specHash(stray), hash);

    std::set<std::string> hashes{hash};
    std::size_t changed = 0;
    for (const KeyInfo& key : keys()) {
        if (!key.attention || key.name == "name" || key.name == "timeout" || key.name == "repeat" ||
            key.name == "workload" || key.name == "loss" || key.name == "grad" || key.name == "tile_q" ||
            key.name == "tile_k")
            continue;
        Overrides overrides{{std::string(key.name), std::string(key.example)}};
        if (key.type == ValueType::List)
            overrides.front().second = "[" + overrides.front().second + "]";
        if (key.name == "kv_heads")
            overrides.front().second = "1", overrides.push_back({"heads", "2"});
        hashes.insert(specHash(specFromOverrides(Workload::Attention, overrides).front()));
        ++changed;
    }
    EXPECT_EQ(hashes.size(), changed + 1);
}

/// A file that is made from the table: the same text, or, with TILESCOPE_UPDATE set, written anew.
void expectGenerated(const std::filesystem::path& file, const std::string& text)
{
    if (std::getenv("TILESCOPE_UPDATE"))
        std::ofstream(file) << text;
    EXPECT_EQ(contentsOf(file), text)
        << file << " is not what core/config's table says; write it anew with TILESCOPE_UPDATE=1 test_config";
}

TEST(Resources, HoldTheJsonSchemaOfTheTable)
{
    expectGenerated(resourcesDirectory() / "schema" / "spec.schema.json", jsonSchema());
}

/// A value as a YAML reader of another program gives it to a validator.
std::string asJson(const SpecValue& value)
{
    if (value.kind == SpecValue::Kind::List) {
        std::string list;
        for (const SpecValue& item : value.items)
            list += (list.empty() ? "" : ",") + asJson(item);
        return "[" + list + "]";
    }
    char* end = nullptr;
    std::strtod(value.text.c_str(), &end);
    const bool bare = value.text == "true" || value.text == "false" || (!value.text.empty() && *end == '\0');
    return bare && !value.quoted ? value.text : '"' + value.text + '"';
}

std::string asJson(const std::string& key, const std::string& json)
{
    return '"' + key + "\":" + json;
}

std::string asJson(const SpecDocument::Point& point)
{
    std::vector<std::string> members;
    for (const SpecDocument::Entry& entry : point)
        members.push_back(asJson(entry.key, asJson(entry.value)));
    return fmt::format("{{{}}}", fmt::join(members, ","));
}

std::string asJson(const SpecDocument& document)
{
    SpecDocument::Point top;
    SpecDocument::Point fixed;
    for (const SpecDocument::Entry& entry : document.fixed)
        (entry.underFixed ? fixed : top).push_back(entry);
    std::vector<std::string> sweep;
    for (const SpecDocument::Axis& axis : document.axes)
        sweep.push_back(asJson(axis.key, asJson({.kind = SpecValue::Kind::List, .items = axis.values})));
    std::string swept = fmt::format("{{{}}}", fmt::join(sweep, ","));
    if (!document.points.empty()) {
        std::vector<std::string> points;
        for (const SpecDocument::Point& point : document.points)
            points.push_back(asJson(point));
        swept = fmt::format("[{}]", fmt::join(points, ","));
    }
    std::string json = asJson(top);
    json.pop_back();
    return json + (top.empty() ? "" : ",") + asJson("fixed", asJson(fixed)) + "," + asJson("sweep", swept) +
           "}";
}

std::vector<std::string> offences(std::string_view yaml)
{
    return testing::schemaOffences(asJson(parseDocument(yaml, "s.yaml")),
                                   resourcesDirectory() / "schema" / "spec.schema.json");
}

TEST(JsonSchema, TakesWhatTheReaderTakes)
{
    for (const auto& file : std::filesystem::directory_iterator(resourcesDirectory() / "examples"))
        EXPECT_THAT(offences(contentsOf(file.path())), ::testing::IsEmpty()) << file.path();
    std::string every = "workload: lm\n";
    std::string swept = "sweep:\n";
    for (const KeyInfo& key : keys()) {
        if (key.name != "workload" && !key.sweepable)
            every += std::string(key.name) + ": " + std::string(key.example) + "\n";
        if (key.sweepable && key.type != ValueType::List)
            swept += "  " + std::string(key.name) + ": [" + std::string(key.example) + "]\n";
    }
    EXPECT_THAT(offences(every + swept), ::testing::IsEmpty());
    EXPECT_THAT(
        offences(
            "workload: lm\nsweep: [{threads: auto, counters: [a]}, {memory_limit: 1.5 GB, device: cuda}]\n"),
        ::testing::IsEmpty());
}

TEST(JsonSchema, RefusesWhatTheReaderRefuses)
{
    for (const char* yaml :
         {"workload: lm\nbacth: 3\n", "workload: ml\n", "workload: lm\nfixed: {batch: 0}\n",
          "workload: lm\nbatch: 65537\n", "workload: lm\nbatch: \"8\"\n", "workload: lm\nbatch: [1, 2]\n",
          "workload: attention\ncausal: yes\n", "workload: lm\ndevice: gpu\n",
          "workload: lm\nmemory_limit: 8\n", "workload: lm\nname: a/b\n",
          "workload: lm\ncompile: package:x\n", "workload: lm\ncheckpointing: block:x\n",
          "workload: lm\ncheckpointing: block+1\n", "workload: lm\ncheckpointing: nested:2+1\n",
          "workload: lm\nsweep: {name: [a, b]}\n", "workload: lm\nsweep: [{btach: 1}]\n",
          "workload: lm\nsweep: {threads: [1, none]}\n", "workload: lm\nrope_theta: 0\n"})
        EXPECT_THAT(offences(yaml), ::testing::Not(::testing::IsEmpty())) << yaml;
}

TEST(Resources, HoldTheKeysInTheHelpPage)
{
    const std::filesystem::path file = resourcesDirectory() / "help" / "spec.md";
    const std::string page = contentsOf(file);
    const std::string begin = "<!-- keys: made from the table in core/config -->\n\n";
    const std::string end = "\n<!-- end of keys -->";
    const std::size_t from = page.find(begin);
    const std::size_t to = page.find(end);
    ASSERT_NE(from, std::string::npos);
    ASSERT_NE(to, std::string::npos);
    expectGenerated(file, page.substr(0, from + begin.size()) + keysMarkdown() + page.substr(to));
}

TEST(Help, NamesEveryKeyOfAWorkloadInLinesThatFit)
{
    for (const Workload workload : {Workload::Attention, Workload::Lm}) {
        const std::string help = keysHelp(workload, 72);
        for (const KeyInfo& key : keys())
            EXPECT_EQ(help.find("  --" + std::string(key.name) + "\n") != std::string::npos,
                      key.appliesTo(workload) && key.name != "workload")
                << key.name;
        std::istringstream lines(help);
        for (std::string line; std::getline(lines, line);)
            EXPECT_LE(line.size(), 72) << line;
    }
}

} // namespace

} // namespace tilescope::config
