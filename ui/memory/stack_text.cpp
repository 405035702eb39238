#include "ui/memory/stack_text.h"

#include "core/exchange/stack_frames.h"

#include <QString>

namespace tilescope::ui {

namespace {

QString shortFrame(exchange::SnapshotFrame frame)
{
    frame.file.erase(0, frame.file.rfind('/') + 1);
    return QString::fromStdString(exchange::shownFrame(frame));
}

} // namespace

StackLines stackLines(std::string_view path)
{
    const exchange::ReadableStack stack = exchange::userFramesFirst(path);
    StackLines lines;
    for (std::size_t i = 0; i < stack.frames.size(); ++i)
        (i < stack.own ? lines.own : lines.libraries)
            << QString::fromStdString(exchange::shownFrame(stack.frames[i]));
    return lines;
}

QString stackName(std::string_view path)
{
    const exchange::ReadableStack stack = exchange::userFramesFirst(path);
    if (stack.frames.empty())
        return {};
    QStringList names;
    if (stack.own > 0)
        names << shortFrame(stack.frames.front());
    names << shortFrame(exchange::framesOf(path).front());
    names.removeDuplicates();
    return names.join(QStringLiteral(" → "));
}

} // namespace tilescope::ui
