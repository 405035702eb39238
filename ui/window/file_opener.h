#pragma once

#include "ui/jobs/job_tracker.h"

#include <QStringList>
#include <QWidget>

#include <memory>

namespace tilescope::exchange {
struct CachedImport;
struct GrowingRecording;
} // namespace tilescope::exchange

namespace tilescope::ui {

class MessageStrip;
class Workspace;

/// Whether a path names a file or a folder, the file that `tilescope record` is going to write, or HOST:PATH of a known
/// host, which is not asked.
bool isThere(const QString& path);

/// "rank0.json and 7 more"
QString namesOf(const QStringList& paths);

/// The filters of a dialog that opens files: recordings with the traces of every format that can be imported, each of these
/// formats alone, and all files.
QString openFilters();

/// Opens files that may be traces of other programs: determines in the background what they are, imports traces
/// into the import cache, and opens the recording. A strip above the pages shows the progress with a cancel
/// button, and afterwards the result or the error. Also copies recordings. GUI thread.
class FileOpener : public QWidget {
    Q_OBJECT
public:
    explicit FileOpener(Workspace& workspace, QWidget* parent = nullptr);
    ~FileOpener() override;

    /// Files and folders. Traces among them become one run. A recording that `tilescope record` is writing is
    /// followed, whether its folder of working files is named or the file that it will be.
    void open(const QStringList& paths);
    /// Fetches a file of a host and opens the copy; it grows with a recording that is still made there.
    void openOnHost(const QString& host, const QString& path);
    /// Follows those of the recordings, which are open, that are gaining a run.
    void follow(const QStringList& recordings);
    /// Asks for a file and copies the open recording into it.
    void saveAs(int file);
    /// Copies the open recording.
    void saveCopy(int file, const QString& copy);

private:
    struct Opened;
    MessageStrip* newStrip();
    void follow(const exchange::GrowingRecording& recording);
    void show(MessageStrip& strip, const std::shared_ptr<const exchange::CachedImport>& import);
    void removeStrips();

    Workspace& workspace_;
    JobTracker finding_{this};
};

} // namespace tilescope::ui
