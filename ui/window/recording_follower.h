#pragma once

#include "core/exchange/import/import_cache.h"
#include "core/exchange/import/recording/growing_recording.h"
#include "ui/jobs/job_tracker.h"

#include <QObject>
#include <QString>
#include <QTimer>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace tilescope::ui {

class MessageStrip;
class Workspace;

/// Shows a recording while `tilescope record` writes it, and the finished file once it is there.
///
/// Imports what the working files hold into a file of its own, again and again while they grow. It rests at least
/// four times as long as an import took, so that it uses at most a fifth of a processor. A child of the strip that
/// shows its progress: dismissing the strip ends it. GUI thread.
class RecordingFollower : public QObject {
    Q_OBJECT
public:
    RecordingFollower(Workspace& workspace, exchange::GrowingRecording recording, MessageStrip& strip);
    ~RecordingFollower() override;

signals:
    /// The file that the recording is imported into is open.
    void opened(const QString& file);

private:
    using Clock = std::chrono::steady_clock;
    /// One look at the working files.
    struct Look {
        std::optional<std::uintmax_t> bytes = {}; ///< none: the folder is gone
        bool isNew = false;                       ///< the file holds more than before
        QString contents = {};                    ///< of the file, in words
        Clock::duration cost{};
    };

    void look();
    void looked(const Look& look);
    void end();
    int openFile() const; ///< its id; 0: it is not open

    Workspace& workspace_;
    const exchange::GrowingRecording recording_;
    MessageStrip& strip_;
    JobTracker looking_{this};
    QTimer timer_;
    std::shared_ptr<const exchange::CachedImport> import_; ///< its file is what the window shows
    std::uintmax_t bytes_ = 0;                             ///< of the working files at the last import
    bool isOpened_ = false;
};

} // namespace tilescope::ui
