#include "core/hosts/sweep_events.h"

#include "core/base/error.h"

#include <optional>
#include <utility>
#include <variant>

namespace tilescope::hosts {

SweepEvents::SweepEvents(const std::filesystem::path& file,
                         std::function<void(const session::Event&)> onEvent,
                         std::function<void(std::string_view)> onLine)
    : file_(file.string()), onEvent_(std::move(onEvent)), onLine_(std::move(onLine))
{
}

void SweepEvents::feedOutput(std::string_view bytes)
{
    output_.feed(bytes, [this](std::string_view line) { take(line); });
}

void SweepEvents::feedErrors(std::string_view bytes)
{
    errors_.feed(bytes, onLine_);
}

void SweepEvents::finish()
{
    errors_.finish(onLine_);
}

void SweepEvents::take(std::string_view line)
{
    std::optional<session::Event> event;
    try {
        event = session::parseEvent(line);
    } catch (const Error&) {
        return onLine_(line); // of a library there
    }
    if (!event)
        return;
    if (auto* hello = std::get_if<session::HelloEvent>(&*event))
        hello->file = file_;
    onEvent_(*event);
}

} // namespace tilescope::hosts
