#include "ui/window/run_filter.h"

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

query::RunSummary oomRun()
{
    query::RunSummary run;
    run.run = RunId{12};
    run.name = "flash: lengths";
    run.workload = "attention";
    run.params = {
        {"backend", "flash-torch"}, {"seq_len", "1024"}, {"causal", "false"}, {"precision", "bf16"}};
    run.result.status = RunStatus::Oom;
    run.result.device = "NVIDIA H200";
    run.result.flags = {"drift", "noisy"};
    run.tag = "baseline";
    run.note = "The fan was loud";
    return run;
}

TEST(RunFilter, EveryWordMustMatch)
{
    const query::RunSummary run = oomRun();
    const std::pair<const char*, bool> filters[] = {{"", true},
                                                    {"status:oom", true},
                                                    {"status:OOM backend:flash", true},
                                                    {"status:oom backend:naive", false},
                                                    {"backend=flash", false},
                                                    {"backend=flash-torch", true},
                                                    {"backend=naive,flash-torch", true},
                                                    {"seq_len:10", true},
                                                    {"seq_len=10", false},
                                                    {"seq_len=512,1024", true},
                                                    {"study:flash", true},
                                                    {"sweep=lengths", true},
                                                    {"device=\"NVIDIA H200\"", true},
                                                    {"device=NVIDIA", false},
                                                    {"flags:noisy", true},
                                                    {"flags=drift", true},
                                                    {"flags:cold", false},
                                                    {"tag:base", true},
                                                    {"#12", true},
                                                    {"#1", false},
                                                    {"fan", true},
                                                    {"\"was loud\"", true},
                                                    {"bf16", true},
                                                    {"causal", false},
                                                    {"nothing", false},
                                                    {"heads=4", false},
                                                    {"status:oom \"", true}};
    for (const auto& [words, matches] : filters)
        EXPECT_EQ(RunFilter(QString::fromUtf8(words)).matches(run), matches) << words;
}

TEST(RunFilter, AClickAddsAValueAndRemovesIt)
{
    QString words = QStringLiteral("status:ok");
    const auto toggle = [&words](const char* key, const char* value) {
        words = RunFilter::toggled(words, QString::fromUtf8(key), QString::fromUtf8(value));
        return words.toStdString();
    };
    EXPECT_EQ(toggle("backend", "flash"), "status:ok backend=flash");
    EXPECT_EQ(toggle("backend", "naive"), "status:ok backend=flash,naive");
    EXPECT_EQ(toggle("device", "NVIDIA H200"), "status:ok backend=flash,naive device=\"nvidia h200\"");
    EXPECT_TRUE(RunFilter::has(words, QStringLiteral("device"), QStringLiteral("NVIDIA H200")));
    EXPECT_EQ(toggle("backend", "flash"), "status:ok backend=naive device=\"nvidia h200\"");
    EXPECT_EQ(toggle("device", "NVIDIA H200"), "status:ok backend=naive");
    EXPECT_EQ(toggle("backend", "naive"), "status:ok");
    EXPECT_FALSE(RunFilter::has(words, QStringLiteral("backend"), QStringLiteral("naive")));
}

TEST(RunFilter, FacetsAreTheKeysWithSeveralValues)
{
    query::FileSnapshot file;
    for (const char* length : {"512", "1024", "512"}) {
        query::RunSummary& run = file.runs.emplace_back(oomRun());
        run.params.set("seq_len", length);
    }
    const std::vector<RunFacet> facets = facetsOf({&file});
    std::vector<std::string> keys;
    for (const RunFacet& facet : facets)
        keys.push_back(facet.key.toStdString());
    EXPECT_EQ(keys, (std::vector<std::string>{"seq_len", "flags", "tag"}));
    ASSERT_EQ(facets[0].values.size(), 2U);
    EXPECT_EQ(facets[0].values[0], (std::pair<QString, std::size_t>(QStringLiteral("512"), 2)));
}

} // namespace
} // namespace tilescope::ui
