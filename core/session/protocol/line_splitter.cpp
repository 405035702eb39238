#include "core/session/protocol/line_splitter.h"

namespace tilescope::session {

void LineSplitter::hold(std::string_view part)
{
    if (skipping_)
        return;
    if (held_.size() + part.size() > limit_) {
        skipping_ = true;
        ++dropped_;
        held_.clear();
        held_.shrink_to_fit();
        return;
    }
    held_.append(part);
}

void LineSplitter::feed(std::string_view bytes, const std::function<void(std::string_view)>& take)
{
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        hold(bytes.substr(0, end));
        if (end == std::string_view::npos)
            return;
        if (!skipping_)
            take(held_);
        held_.clear();
        skipping_ = false;
        bytes.remove_prefix(end + 1);
    }
}

void LineSplitter::finish(const std::function<void(std::string_view)>& take)
{
    if (!held_.empty())
        take(held_);
    held_.clear();
    skipping_ = false;
}

} // namespace tilescope::session
