#include "ui/experiment/spec_form.h"
#include "ui/experiment/spec_text.h"

#include "core/base/error.h"
#include "core/config/spec_file.h"
#include "core/model/text.h"
#include "ui/experiment/spec_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

using config::KeyInfo;
using config::SpecDocument;
using Given = SpecForm::Given;

const KeyInfo& key(std::string_view name)
{
    return *config::findKey(name);
}

SpecForm formOf(const std::string& yaml)
{
    return SpecForm::fromYaml(yaml, "s.yaml");
}

QString exampleOf(const KeyInfo& key)
{
    const SpecDocument document = config::parseDocument("x: " + std::string(key.example), "example");
    return textOfValue(document.fixed.front().value);
}

/// A spec that allows the key.
std::string specFor(const KeyInfo& key)
{
    if (key.collective && !key.lm)
        return "workload: collective\n";
    return key.lm ? "workload: lm\n" : "workload: attention\n";
}

/// What every edit must keep: the text reads back as the form that made it.
void expectSame(const SpecForm& made, const SpecForm& read, const std::string& yaml)
{
    EXPECT_EQ(made.document().fixed, read.document().fixed) << yaml;
    EXPECT_EQ(made.document().axes, read.document().axes) << yaml;
    EXPECT_EQ(made.document().points, read.document().points) << yaml;
}

TEST(SpecForm, GivesEveryKeyItsValueAndReadsItBack)
{
    for (const KeyInfo& info : config::keys()) {
        SCOPED_TRACE(info.name);
        const std::string before = specFor(info);
        SpecForm form = formOf(before);
        const QString example = exampleOf(info);
        form.set(info, {example});
        const std::string yaml = form.yaml(before);
        const SpecForm read = formOf(yaml);
        expectSame(form, read, yaml);
        EXPECT_EQ(read.given(info), Given::Once);
        EXPECT_EQ(read.values(info), QStringList(example));
        if (info.name == "workload")
            continue;
        SpecForm without = read;
        without.set(info, {});
        EXPECT_EQ(without.given(info), Given::Default);
        EXPECT_EQ(without.yaml(yaml), before);
    }
}

TEST(SpecForm, SweepsEveryKeyThatCanBeSwept)
{
    for (const KeyInfo& info : config::keys()) {
        if (!info.sweepable)
            continue;
        SCOPED_TRACE(info.name);
        const std::string before = specFor(info);
        SpecForm form = formOf(before);
        QStringList values{exampleOf(info)};
        if (info.type == config::ValueType::Boolean)
            values << (values[0] == "true" ? "false" : "true");
        else if (!info.choices.empty())
            values << QString::fromStdString(
                info.choices.front() == values[0].toStdString() ? info.choices.back() : info.choices.front());
        else
            values << (info.type == config::ValueType::List ? QStringLiteral("c") : QStringLiteral("3"));
        form.set(info, values);
        const std::string yaml = form.yaml(before);
        const SpecForm read = formOf(yaml);
        expectSame(form, read, yaml);
        EXPECT_EQ(read.given(info), Given::Swept);
        EXPECT_EQ(read.values(info), values) << yaml;
        EXPECT_EQ(read.document().pointCount(), 2);
        SpecForm once = read;
        once.set(info, {values[1]});
        EXPECT_EQ(once.given(info), Given::Once);
        EXPECT_EQ(formOf(once.yaml(yaml)).values(info), QStringList(values[1]));
    }
}

TEST(SpecForm, ShowsTheKeysOfItsWorkload)
{
    EXPECT_TRUE(formOf("workload: lm\n").shows(key("layers")));
    EXPECT_FALSE(formOf("workload: lm\n").shows(key("seq_len")));
    EXPECT_TRUE(formOf("workload: attention\n").shows(key("seq_len")));
    EXPECT_FALSE(formOf("workload: dtypes\n").shows(key("backend")));
    EXPECT_TRUE(formOf("workload: dtypes\nbackend: naive\n").shows(key("backend")))
        << "so that it can be taken out";
    EXPECT_TRUE(formOf("").shows(key("workload")));
    EXPECT_FALSE(formOf("").shows(key("seq_len")));
}

TEST(SpecForm, HoldsWhatIsWrittenHoweverWrongItIs)
{
    for (const char* text :
         {"[", "a: b", "\"", "#x", "{", "- a", "abc", "8 # eight", "null", "true", "1e3", "&a", "*"}) {
        SpecForm form = formOf("workload: attention\n");
        form.set(key("batch"), {text});
        const std::string yaml = form.yaml("workload: attention\n");
        EXPECT_EQ(formOf(yaml).values(key("batch")), QStringList(text)) << yaml;
    }
}

TEST(SpecForm, ShowsWhatExplicitPointsGiveAndLeavesIt)
{
    const SpecForm form =
        formOf("workload: attention\nsweep:\n  - {seq_len: 64, batch: 1}\n  - {seq_len: 128, batch: 1}\n");
    EXPECT_EQ(form.given(key("seq_len")), Given::InPoints);
    EXPECT_EQ(form.values(key("seq_len")), QStringList({"64", "128"}));
    EXPECT_EQ(form.values(key("batch")), QStringList("1"));
}

TEST(SpecForm, FindsTheLineOfAKeyAndTheKeyOfALine)
{
    const SpecForm form =
        formOf("# head\nworkload: attention\nfixed:\n  batch: 8\nsweep:\n  seq_len:\n    - 64\n    - 128\n");
    EXPECT_EQ(form.lineOf(key("batch")), 4);
    EXPECT_EQ(form.lineOf(key("seq_len")), 6);
    EXPECT_EQ(form.lineOf(key("heads")), 0);
    EXPECT_EQ(form.keyAt(8)->name, "seq_len");
    EXPECT_EQ(form.keyAt(4)->name, "batch");
    EXPECT_EQ(form.keyAt(1), nullptr);
}

TEST(SpecForm, AnEmptyTextIsAnEmptyForm)
{
    SpecForm form = formOf("# mine\n\n");
    EXPECT_EQ(form.workload(), std::nullopt);
    form.set(key("workload"), {"lm"});
    EXPECT_EQ(form.yaml("# mine\n\n"), "# mine\nworkload: lm\n");
    EXPECT_THROW(formOf("just words"), Error);
}

constexpr const char* kHandWritten = R"(# What tiles change.

name: tiles     # short
workload: attention

# long enough to be steady
steps:   100
fixed: {batch: 8, heads: 4}   # as in the paper

sweep:
  # the question
  backend: [naive, flash-torch]  # the rivals

  seq_len: [256, 1024]
# the end
)";

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(SpecText, ChangesNoMoreOfAHandWrittenTextThanWasAskedFor)
{
    const auto changed = [](std::string_view name, const QStringList& values) {
        SpecForm form = formOf(kHandWritten);
        form.set(key(name), values);
        return form.yaml(kHandWritten);
    };
    EXPECT_EQ(changed("steps", {"50"}), replaced(kHandWritten, "100", "50"));
    EXPECT_EQ(changed("name", {"my tiles"}), replaced(kHandWritten, "name: tiles", "name: my tiles"));
    EXPECT_EQ(changed("batch", {"16"}), replaced(kHandWritten, "batch: 8", "batch: 16"));
    EXPECT_EQ(changed("seq_len", {"256", "512", "1024"}),
              replaced(kHandWritten, "[256, 1024]", "[256, 512, 1024]"));
    EXPECT_EQ(changed("backend", {"flash-torch", "naive"}),
              replaced(kHandWritten, "[naive, flash-torch]", "[flash-torch, naive]"));
    EXPECT_EQ(changed("precision", {"fp32", "bf16"}),
              replaced(kHandWritten, "sweep:\n", "sweep:\n  precision: [fp32, bf16]\n"));
    EXPECT_EQ(changed("device", {"cpu"}),
              replaced(kHandWritten, "workload: attention\n", "workload: attention\ndevice: cpu\n"));
    EXPECT_EQ(changed("seq_len", {}), replaced(kHandWritten, "  seq_len: [256, 1024]\n", ""));
}

TEST(SpecText, RewritesWhatCannotBeEditedAndKeepsItsComments)
{
    SpecForm form = formOf(kHandWritten);
    form.set(key("d_head"), {"64"}); // `fixed` is a map in one line
    const std::string yaml = form.yaml(kHandWritten);
    EXPECT_EQ(formOf(yaml).values(key("d_head")), QStringList("64"));
    for (const char* comment : {"# What tiles change.", "# short", "# long enough to be steady",
                                "# as in the paper", "# the question", "# the rivals", "# the end"})
        EXPECT_THAT(yaml, ::testing::HasSubstr(comment));
    EXPECT_EQ(withChanges("no: [spec", form.document()), std::nullopt);
}

TEST(SpecText, TakesTheHeadingOfASectionOutWithItsLastKey)
{
    const std::string before = "workload: attention\nsweep:\n  seq_len: [64, 128]\n";
    SpecForm form = formOf(before);
    form.set(key("seq_len"), {"64"});
    EXPECT_EQ(form.yaml(before), "workload: attention\nseq_len: 64\n");
    form = formOf("workload: attention\nseq_len: 64\n");
    form.set(key("seq_len"), {"64", "128"});
    EXPECT_EQ(form.yaml("workload: attention\nseq_len: 64\n"), before);
}

TEST(SplitValues, PartsWhatIsTypedAsItsKeyIsWritten)
{
    EXPECT_EQ(splitValues(key("batch"), "8, 16 32,"), QStringList({"8", "16", "32"}));
    EXPECT_EQ(splitValues(key("memory_limit"), "8 GiB, 512 MiB"), QStringList({"8 GiB", "512 MiB"}));
    EXPECT_EQ(splitValues(key("name"), "a, b"), QStringList("a, b"));
    EXPECT_EQ(splitValues(key("counters"), "a, b; c"), QStringList({"a, b", "c"}));
    EXPECT_TRUE(splitValues(key("batch"), "  ").isEmpty());
}

TEST(CheckSpec, SeparatesFormErrorsFromUnreadableTexts)
{
    const SpecVerdict good = checkSpec("workload: attention\nsweep: {seq_len: [64, 128]}\n", "s.yaml");
    ASSERT_TRUE(good.good());
    EXPECT_EQ(good.points->size(), 2U);
    const SpecVerdict wrong = checkSpec("workload: attention\nbatch: many\nheads: -1\n", "s.yaml");
    EXPECT_FALSE(wrong.good());
    ASSERT_TRUE(wrong.form);
    EXPECT_EQ(wrong.line, 2);
    ASSERT_EQ(wrong.problems.size(), 2U);
    EXPECT_EQ(wrong.problems[1].key, "heads");
    const SpecVerdict broken = checkSpec("workload: [attention\n", "s.yaml");
    EXPECT_FALSE(broken.form);
    EXPECT_FALSE(broken.sentence.isEmpty());
}

} // namespace
} // namespace tilescope::ui
