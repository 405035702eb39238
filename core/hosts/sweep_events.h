#pragma once

#include "core/session/protocol/event.h"
#include "core/session/protocol/line_splitter.h"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace tilescope::hosts {

/// The events in the output of a sweep on a host, as a local sweep would report them. One thread.
class SweepEvents {
public:
    /// \param file    where the runs will be here; replaces the file there in `hello`
    /// \param onLine  called with what is no event: lines of libraries and of standard error, not escaped, at most 1 MiB
    SweepEvents(const std::filesystem::path& file, std::function<void(const session::Event&)> onEvent,
                std::function<void(std::string_view)> onLine);

    void feedOutput(std::string_view bytes);
    void feedErrors(std::string_view bytes);
    /// The sweep has ended.
    void finish();

private:
    void take(std::string_view line);

    std::string file_;
    std::function<void(const session::Event&)> onEvent_;
    std::function<void(std::string_view)> onLine_;
    session::LineSplitter output_;
    session::LineSplitter errors_;
};

} // namespace tilescope::hosts
