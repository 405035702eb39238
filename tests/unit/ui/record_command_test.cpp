#include "ui/window/record_command.h"

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/ui/timeouts.h"
#include "ui/window/output_view.h"
#include "ui/window/terminal_program.h"

#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

namespace tilescope::ui {
namespace {

RecordCommand command()
{
    RecordCommand command;
    command.program = QStringLiteral("python 'my train.py' --lr 3e-4");
    command.folder = QStringLiteral("/home/user");
    command.file = QStringLiteral("t.tscope");
    return command;
}

TEST(RecordCommand, HasOnlyTheOptionsThatDiffer)
{
    EXPECT_EQ(command().text(QStringLiteral("/home/user")).toStdString(),
              "tilescope record -o t.tscope -- python 'my train.py' --lr 3e-4");
    EXPECT_EQ(command().path(), QStringLiteral("/home/user/t.tscope"));
    RecordCommand all = command();
    all.begin = RecordCommand::Begin::Steps;
    all.beginAt = QStringLiteral("10:12");
    all.seconds = QStringLiteral("5");
    all.modules = all.memory = all.storesCommandLine = false;
    all.ops = all.stacks = all.allCalls = all.wholeGraphs = all.calibrates = all.yieldsToTorch = true;
    all.inside = all.metrics = true;
    EXPECT_EQ(
        all.text(QStringLiteral("/")).toStdString(),
        "cd /home/user && tilescope record -o t.tscope --steps 10:12 --seconds 5 --trace full --graphs graph "
        "--no-modules --no-memory --ops --stacks --inside --metrics --calibrate --yield-to-torch "
        "--no-command-line -- "
        "python "
        "'my train.py' --lr 3e-4");
}

TEST(RecordCommand, SaysWhatIsNoCommandLine)
{
    for (const char* program : {"", "python 'x", "python a.py | tee log", "python $FILE"}) {
        RecordCommand wrong = command();
        wrong.program = QString::fromUtf8(program);
        EXPECT_THROW(wrong.arguments(), Error) << program;
    }
}

TEST(OutputView, ShowsLinesAsATerminalDoes)
{
    OutputView view;
    view.add("one\r\ntwo\n\x1b[31mred\x1b[0m\n");
    view.add("step 1\rstep 2");
    view.add("\rstep \xc3");
    view.add("\xa9\x1b");
    view.add("[Kx\n");
    EXPECT_EQ(view.toPlainText().toStdString(), "one\ntwo\nred\nstep éx\n");
    view.restart();
    EXPECT_TRUE(view.toPlainText().isEmpty());
}

TEST(TerminalProgram, RunsInATerminalAndPassesItsOutput)
{
    TerminalProgram program;
    QByteArray output;
    QObject::connect(&program, &TerminalProgram::wrote,
                     [&output](const QByteArray& words) { output += words; });
    QSignalSpy ended(&program, &TerminalProgram::ended);
    const testing::TemporaryFolder folder;
    program.start(QStringLiteral("sh"),
                  {QStringLiteral("-c"), QStringLiteral("test -t 1 && echo terminal; pwd; exit 3")},
                  QString::fromStdString(folder.path().string()));
    ASSERT_TRUE(ended.wait(kTimeoutMs));
    EXPECT_EQ(ended.front().front().toString(), QStringLiteral("ended with exit code 3"));
    EXPECT_TRUE(output.contains("terminal"));
    EXPECT_TRUE(output.contains(QByteArray::fromStdString(folder.path().filename().string())));
}

TEST(TerminalProgram, CtrlCReachesTheProgram)
{
    TerminalProgram program;
    QByteArray output;
    QObject::connect(&program, &TerminalProgram::wrote,
                     [&output](const QByteArray& words) { output += words; });
    QSignalSpy ended(&program, &TerminalProgram::ended);
    program.start(
        QStringLiteral("sh"),
        {QStringLiteral("-c"),
         QStringLiteral("trap 'echo interrupted; exit 0' INT; echo ready; while :; do sleep 0.1; done")},
        QStringLiteral("/"));
    ASSERT_TRUE(QTest::qWaitFor([&output] { return output.contains("ready"); }, kTimeoutMs));
    program.interrupt();
    ASSERT_TRUE(ended.wait(kTimeoutMs));
    EXPECT_TRUE(output.contains("interrupted"));
    EXPECT_TRUE(ended.front().front().toString().isEmpty());
}

TEST(TerminalProgram, SaysWhyAProgramDoesNotStart)
{
    TerminalProgram program;
    QSignalSpy ended(&program, &TerminalProgram::ended);
    program.start(QStringLiteral("/no/such/program"), {}, QStringLiteral("/"));
    ASSERT_TRUE(!ended.isEmpty() || ended.wait(kTimeoutMs));
    EXPECT_TRUE(ended.front().front().toString().startsWith(QStringLiteral("not started")));
}

} // namespace
} // namespace tilescope::ui
