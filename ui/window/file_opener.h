#pragma once

#include "ui/jobs/job_tracker.h"

#include <QStringList>
#include <QWidget>

#include <memory>

namespace tilescope::exchange {
struct CachedImport;
}

namespace tilescope::ui {

class MessageStrip;
class Workspace;

/// Opens files that may be traces of other programs: determines in the background what they are, imports traces
/// into the import cache, and opens the recording. A strip above the pages shows the progress with a cancel
/// button, and afterwards the result or the error. Also copies recordings. GUI thread.
class FileOpener : public QWidget {
    Q_OBJECT
public:
    explicit FileOpener(Workspace& workspace, QWidget* parent = nullptr);
    ~FileOpener() override;

    /// Files and folders. Traces among them become one run.
    void open(const QStringList& paths);
    /// Asks for a file and copies the open recording into it.
    void saveAs(int file);
    /// Copies the open recording.
    void saveCopy(int file, const QString& copy);

private:
    struct Opened;
    MessageStrip* newStrip();
    void show(MessageStrip& strip, const std::shared_ptr<const exchange::CachedImport>& import);
    void removeStrips();

    Workspace& workspace_;
};

} // namespace tilescope::ui
