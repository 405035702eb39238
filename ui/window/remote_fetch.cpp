#include "ui/window/remote_fetch.h"

#include "core/base/mutex.h"
#include "core/exchange/import/recording/growing_recording.h"
#include "core/hosts/collect_result.h"
#include "core/hosts/host_list.h"
#include "ui/kit/message_strip.h"
#include "ui/kit/number_text.h"
#include "ui/kit/workspace.h"

#include <QTime>

#include <chrono>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr std::chrono::milliseconds kTellEvery{100};
constexpr std::chrono::milliseconds kLeastPause{
    3000};                        // at least, between two fetches of a recording that grows
constexpr int kPausesOfFetch = 4; // as long as a fetch takes, so that a slow link stays usable

} // namespace

/// What the fetching thread tells the window.
struct RemoteFetch::Share {
    Mutex mutex;
    hosts::FetchProgress progress GUARDED_BY(mutex);
    hosts::HostState state GUARDED_BY(mutex) = hosts::HostState::Connecting;
    std::string lostBecause GUARDED_BY(mutex);
    std::chrono::steady_clock::duration took{}; ///< written before the result is delivered
};

RemoteFetch::RemoteFetch(Workspace& workspace, QString host, QString path, MessageStrip& strip)
    : QObject(&strip), workspace_(workspace), host_(std::move(host)), path_(std::move(path)), strip_(strip)
{
    telling_.setInterval(kTellEvery);
    again_.setSingleShot(true);
    connect(&telling_, &QTimer::timeout, this, &RemoteFetch::tell);
    connect(&again_, &QTimer::timeout, this, &RemoteFetch::fetch);
    strip_.tell(MessageStrip::Kind::Information, tr("Connecting to %1").arg(host_));
    strip_.addButton(tr("Cancel"), [this] {
        stop_.request_stop();
        fetching_.cancel();
        telling_.stop();
        strip_.hide();
        strip_.deleteLater();
    });
    fetch();
}

RemoteFetch::~RemoteFetch()
{
    stop_.request_stop();
}

void RemoteFetch::fetch()
{
    share_ = std::make_shared<Share>();
    stop_ = std::stop_source();
    if (!isOpened_)
        telling_.start();
    fetching_.start(
        [name = host_.toStdString(), path = path_.toStdString(), share = share_,
         stop = stop_.get_token()](const auto&) {
            const auto began = std::chrono::steady_clock::now();
            const auto watchState = [&share](hosts::HostState state, const std::string& words) {
                const MutexLock lock(share->mutex);
                share->state = state;
                share->lostBecause = words;
            };
            hosts::FetchedFile file;
            try {
                hosts::RemoteHost host(hosts::HostList::ofUser().get(name), {.state = watchState});
                host.prepare(stop);
                const auto join = [](const std::filesystem::path& folder,
                                     const std::filesystem::path& recording) {
                    return exchange::GrowingRecording{.folder = folder, .output = recording}
                        .importInto(recording)
                        .has_value();
                };
                file = fetchFile(
                    host, path, hosts::copiesFolder(), join,
                    [&share](const hosts::FetchProgress& progress) {
                        const MutexLock lock(share->mutex);
                        share->progress = progress;
                    },
                    stop);
            } catch (const hosts::Stopped&) { // nobody waits for it
            }
            share->took = std::chrono::steady_clock::now() - began;
            return file;
        },
        [this](const hosts::FetchedFile& file) { fetched(file); },
        [this](const QString& failure) {
            telling_.stop();
            strip_.conclude(MessageStrip::Kind::Error, failure + QLatin1Char('.'));
        });
}

void RemoteFetch::tell()
{
    hosts::FetchProgress progress;
    hosts::HostState state{};
    std::string why;
    {
        const MutexLock lock(share_->mutex);
        progress = share_->progress;
        state = share_->state;
        why = share_->lostBecause;
    }
    if (state == hosts::HostState::Lost)
        return strip_.setProgress(
            tr("%1 is out of reach: %2. Trying again.").arg(host_, QString::fromStdString(why)), 0);
    if (state == hosts::HostState::Installing)
        return strip_.setProgress(tr("Copying Tilescope to %1").arg(host_), 0);
    if (progress.of.count > 0)
        strip_.setProgress(tr("Fetching %1: %2 of %3, %4 over the network")
                               .arg(name(), byteText(double(progress.done.count)),
                                    byteText(double(progress.of.count)),
                                    byteText(double(progress.received.count))),
                           double(progress.done.count) / double(progress.of.count));
}

void RemoteFetch::fetched(const hosts::FetchedFile& file)
{
    telling_.stop();
    if (file.file.empty()) {
        if (!file.isGrowing)
            return; // it was stopped
        strip_.tell(MessageStrip::Kind::Information,
                    tr("%1 is being recorded and has no event yet.").arg(name()));
        strip_.addDismiss();
        return again_.start(kLeastPause);
    }
    const QString path = QString::fromStdString(file.file.string());
    if (!path.endsWith(QLatin1String(".tscope"))) {
        emit traceArrived(path);
        strip_.deleteLater();
        return;
    }
    if (!std::exchange(isOpened_, true)) {
        workspace_.openAndShow(QStringList(path));
        emit opened(path);
    } else {
        for (const OpenFile& open : workspace_.files())
            if (open.file->path() == file.file)
                workspace_.refresh(open.id);
    }
    const QString size = byteText(double(file.size.count));
    if (!file.isGrowing)
        return strip_.conclude(MessageStrip::Kind::Information,
                               tr("Fetched %1 (%2). Save As keeps a copy.").arg(name(), size));
    strip_.tell(MessageStrip::Kind::Information,
                tr("%1 is still recorded: %2 as of %3.")
                    .arg(name(), size, QTime::currentTime().toString(QStringLiteral("HH:mm:ss"))));
    strip_.addDismiss();
    again_.start(std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max<std::chrono::steady_clock::duration>(kLeastPause, kPausesOfFetch * share_->took)));
}

} // namespace tilescope::ui
