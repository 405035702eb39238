#include "ui/window/record_command.h"

#include "core/base/error.h"
#include "core/base/shell_word.h"

#include <QDir>

namespace tilescope::ui {

QStringList RecordCommand::arguments() const
{
    QStringList words{QStringLiteral("record"), QStringLiteral("-o"), file};
    const auto add = [&words](bool isWanted, const char* option, const QString& value = {}) {
        if (!isWanted)
            return;
        words << QString::fromLatin1(option);
        if (!value.isEmpty())
            words << value;
    };
    add(!host.isEmpty(), "--on", host);
    add(!host.isEmpty() && !folder.isEmpty(), "--cwd", folder);
    add(begin == Begin::Steps, "--steps", beginAt);
    add(begin == Begin::Delay, "--delay", beginAt);
    add(begin == Begin::Range, "--from", beginAt);
    add(!seconds.isEmpty(), "--seconds", seconds);
    add(allCalls, "--trace", QStringLiteral("full"));
    add(wholeGraphs, "--graphs", QStringLiteral("graph"));
    add(!modules, "--no-modules");
    add(!memory, "--no-memory");
    add(ops, "--ops");
    add(stacks, "--stacks");
    add(!hostSamples, "--host-samples", QStringLiteral("off"));
    add(inside, "--inside");
    add(metrics, "--metrics");
    add(calibrates, "--calibrate");
    add(yieldsToTorch, "--yield-to-torch");
    add(!storesCommandLine, "--no-command-line");
    words << QStringLiteral("--");
    const std::vector<std::string> command = splitShellWords(program.toStdString());
    if (command.empty())
        throw Error{.what = "no program is given",
                    .where = "command",
                    .remedy = "write what starts it: python train.py"};
    for (const std::string& word : command)
        words << QString::fromStdString(word);
    return words;
}

QString RecordCommand::workingFolder() const
{
    return host.isEmpty() ? folder : QDir::currentPath();
}

QString RecordCommand::text(const QString& here) const
{
    std::string line;
    if (QDir(workingFolder()) != QDir(here))
        line = "cd " + shellPath(workingFolder().toStdString()) + " && ";
    line += "tilescope";
    for (const QString& word : arguments())
        line += " " + shellWord(word.toStdString());
    return QString::fromStdString(line);
}

QString RecordCommand::path() const
{
    return QDir(workingFolder()).absoluteFilePath(file);
}

} // namespace tilescope::ui
