#include "ui/memory/stack_text.h"

#include "core/exchange/import/snapshot_frames.h"
#include "core/query/memory/memory_groups.h"

#include <QString>

#include <algorithm>

namespace tilescope::ui {

namespace {

std::vector<exchange::SnapshotFrame> framesOf(std::string_view path)
{
    std::vector<exchange::SnapshotFrame> frames = exchange::framesOf(path);
    const auto hasPlace = [](const exchange::SnapshotFrame& frame) { return !frame.file.empty(); };
    if (std::ranges::none_of(frames, hasPlace))
        frames.clear();
    return frames;
}

QString frameWords(const exchange::SnapshotFrame& frame, bool isShort)
{
    const QString name = QString::fromStdString(frame.name);
    if (frame.file.empty())
        return name;
    QString file = QString::fromStdString(frame.file);
    if (isShort)
        file = file.section(QLatin1Char('/'), -1);
    return QStringLiteral("%1:%2 %3").arg(file).arg(frame.line).arg(name);
}

} // namespace

QStringList stackFrames(std::string_view path)
{
    QStringList lines;
    for (const exchange::SnapshotFrame& frame : framesOf(path))
        lines << frameWords(frame, false);
    return lines;
}

QString stackName(std::string_view path)
{
    const std::vector<exchange::SnapshotFrame> frames = framesOf(path);
    if (frames.empty())
        return {};
    QStringList names;
    if (const std::string_view caller = query::callerFrame(path); !caller.empty())
        for (const exchange::SnapshotFrame& frame : framesOf(caller))
            names << frameWords(frame, true);
    names << frameWords(frames.front(), true);
    names.removeDuplicates();
    return names.join(QStringLiteral(" → "));
}

} // namespace tilescope::ui
