#pragma once

#include "core/hosts/remote_file.h"
#include "ui/jobs/job_tracker.h"

#include <QObject>
#include <QString>
#include <QTimer>

#include <memory>
#include <stop_token>

namespace tilescope::ui {

class MessageStrip;
class Workspace;

/// Fetches a file of a host into the user's cache, shows the progress in a strip with a button that cancels, and opens the
/// copy. A recording that is still made there is fetched again, as its growth allows, until it is complete. A child of
/// the strip: dismissing the strip ends it. GUI thread.
class RemoteFetch : public QObject {
    Q_OBJECT
public:
    RemoteFetch(Workspace& workspace, QString host, QString path, MessageStrip& strip);
    ~RemoteFetch() override;

signals:
    /// A copy that is no recording has arrived: a trace of another program, which is to be imported.
    void traceArrived(const QString& file);
    /// The copy of a recording is open.
    void opened(const QString& file);

private:
    struct Share;

    void fetch();
    void fetched(const hosts::FetchedFile& file);
    void tell();
    QString name() const { return host_ + QLatin1Char(':') + path_; }

    Workspace& workspace_;
    const QString host_;
    const QString path_;
    MessageStrip& strip_;
    JobTracker fetching_{this};
    std::stop_source stop_;
    std::shared_ptr<Share> share_;
    QTimer telling_;
    QTimer again_;
    bool isOpened_ = false;
};

} // namespace tilescope::ui
