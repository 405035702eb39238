#include "ui/hosts/host_check.h"

#include "core/base/mutex.h"
#include "core/hosts/host_check.h"

#include <utility>
#include <vector>

namespace tilescope::ui {

/// The steps that were found and are not delivered.
struct HostCheck::Steps {
    Mutex mutex;
    std::vector<machine::Finding> found GUARDED_BY(mutex);
};

HostCheck::HostCheck(QObject* parent) : QObject(parent)
{
    constexpr int kRefreshMs = 50;
    timer_.setInterval(kRefreshMs);
    connect(&timer_, &QTimer::timeout, this, &HostCheck::deliver);
}

HostCheck::~HostCheck()
{
    stop();
}

void HostCheck::start(const hosts::Host& host)
{
    stop();
    stop_ = std::stop_source();
    steps_ = std::make_shared<Steps>();
    timer_.start();
    checking_.start(
        [host, steps = steps_, stop = stop_.get_token()](const auto&) {
            hosts::SshLink link(host);
            try {
                checkHost(
                    link, hosts::Bundle::ofThisProgram(),
                    [&steps](const machine::Finding& finding) {
                        const MutexLock lock(steps->mutex);
                        steps->found.push_back(finding);
                    },
                    stop);
            } catch (const hosts::Stopped&) { // its result is not wanted
            }
            return true;
        },
        [this](bool) { end({}); }, [this](const QString& failure) { end(failure); });
}

void HostCheck::stop()
{
    stop_.request_stop();
    checking_.cancel();
    timer_.stop();
    steps_.reset();
}

void HostCheck::deliver()
{
    if (steps_ == nullptr)
        return;
    std::vector<machine::Finding> found;
    {
        const MutexLock lock(steps_->mutex);
        found.swap(steps_->found);
    }
    for (const machine::Finding& finding : found)
        emit stepped(finding);
}

void HostCheck::end(const QString& failure)
{
    deliver();
    timer_.stop();
    steps_.reset();
    emit ended(failure);
}

} // namespace tilescope::ui
