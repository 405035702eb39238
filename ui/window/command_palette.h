#pragma once

#include "ui/jobs/job_tracker.h"
#include "ui/window/palette_entries.h"

#include <QDialog>

#include <vector>

class QLineEdit;
class QListWidget;

namespace tilescope::ui {

class MainWindow;
class SentenceLabel;

/// A dialog that finds any action, run, kernel and help page by a few letters and does or shows it. The kernels
/// are those of the first selected run; they appear as soon as they are read. Deletes itself when it closes.
class CommandPalette : public QDialog {
    Q_OBJECT
public:
    explicit CommandPalette(MainWindow& window);

protected:
    bool event(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void readKernels();
    void narrow();
    void choose();
    void describe();
    void place();

    MainWindow& window_;
    std::vector<PaletteEntry> entries_;
    JobTracker reading_;
    QLineEdit* field_;
    QListWidget* list_;
    SentenceLabel* nothing_;
};

} // namespace tilescope::ui
