#include "core/base/error.h"
#include "core/config/run_again.h"
#include "core/config/schema.h"

#include <gtest/gtest.h>

namespace tilescope::config {
namespace {

ExperimentSpec pointOf(std::string_view yaml)
{
    const auto specs = parseSpec(yaml, "test");
    EXPECT_EQ(specs.size(), 1U);
    return specs.front();
}

TEST(RunCommand, LeavesOutWhatFollows)
{
    EXPECT_EQ(runCommand(pointOf("{name: lm, workload: lm, size: tiny, mode: train}")),
              "tilescope run lm --mode train --size tiny");
    EXPECT_EQ(runCommand(pointOf("{name: attention, workload: attention}")), "tilescope run attention");
    EXPECT_EQ(runCommand(pointOf("{name: a b, workload: attention, heads: 8, kv_heads: 2, seq_len: 256}")),
              "tilescope run attention --name 'a b' --heads 8 --kv_heads 2 --seq_len 256");
    EXPECT_EQ(runCommand(pointOf("{name: lm, workload: lm, size: tiny, layers: 3, memory_limit: 1 GiB}")),
              "tilescope run lm --memory_limit '1073741824 B' --size tiny --layers 3");
}

// The flags of a command whose only quotes are single ones around a value.
Overrides flagsOf(const std::string& command)
{
    std::vector<std::string> words(1);
    bool quoted = false;
    for (const char c : command) {
        if (c == '\'')
            quoted = !quoted;
        else if (c == ' ' && !quoted)
            words.emplace_back();
        else
            words.back() += c;
    }
    Overrides flags;
    for (std::size_t i = 3; i + 1 < words.size(); i += 2) // after tilescope run WORKLOAD
        flags.emplace_back(words[i].substr(2), words[i + 1]);
    return flags;
}

TEST(RunCommand, GivesTheSameSpecForEveryKey)
{
    int checked = 0;
    for (const KeyInfo& key : keys()) {
        for (const Workload workload : {Workload::Lm, Workload::Attention}) {
            if (key.example.empty() || key.name == "workload" || !key.appliesTo(workload))
                continue;
            ExperimentSpec spec;
            try {
                spec =
                    specFromOverrides(workload, {{std::string(key.name), std::string(key.example)}}).front();
            } catch (const Error&) {
                continue; // the example needs other keys too
            }
            SCOPED_TRACE(key.name);
            const std::string command = runCommand(spec);
            EXPECT_EQ(specFromOverrides(workload, flagsOf(command)), std::vector{spec}) << command;
            ++checked;
        }
    }
    EXPECT_GT(checked, 30);
}

TEST(WithChanges, KeepsEveryOtherKey)
{
    const ExperimentSpec spec = pointOf("{name: x, workload: lm, size: tiny, batch: 2, memory_limit: 2 GiB, "
                                        "trace: off, counters: [sm__cycles_active.avg]}");
    EXPECT_EQ(withChanges(spec, {}), std::vector{spec});
    ExperimentSpec half = spec;
    half.batch = 1;
    EXPECT_EQ(withChanges(spec, {{"batch", "1"}}), std::vector{half});
    EXPECT_EQ(withChanges(spec, {{"batch", "[1, 2]"}}), (std::vector{half, spec}));
    EXPECT_THROW(withChanges(spec, {{"bacth", "1"}}), Error);
    const ExperimentSpec attention = pointOf("{name: y, workload: attention, seq_len: 512}");
    EXPECT_EQ(withChanges(attention, {{"seq_len", "256"}}).front().kvLen, 256) << "it follows seq_len";
}

} // namespace
} // namespace tilescope::config
