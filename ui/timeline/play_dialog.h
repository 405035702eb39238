#pragma once

#include "ui/timeline/play_export.h"

#include <QDialog>
#include <QTimer>

class QLabel;
class QProgressBar;
class QPushButton;
class QSpinBox;

namespace tilescope::ui {

class ComboBox;
class SegmentedControl;

/// Exports a play as animated SVG or GIF: asks for format, speed and width, shows progress, and can be cancelled.
class PlayDialog : public QDialog {
    Q_OBJECT
public:
    /// \param scene     all lanes from the top
    /// \param slowdown  that is proposed
    /// \param name      of the file, without suffix
    PlayDialog(TimelineScene scene, int width, const PlayPart& part, double slowdown, const QString& name,
               QWidget* parent);

    /// Writes a file with the chosen format and speed; the dialog closes when it is complete.
    void write(const QString& file);
    void reject() override;

signals:
    /// \param detail  "160 frames, 960 × 400 pixels, 10.0 s, 412 KiB"
    void written(const QString& file, const QString& detail);

private:
    PlayExportOptions options() const;
    void describe();
    void save();
    void step();
    void fail(const QString& sentence);

    TimelineScene scene_;
    PlayPart part_;
    QString name_;
    QString file_;
    std::vector<double> speeds_;
    SegmentedControl* format_;
    ComboBox* speed_;
    QSpinBox* width_;
    QLabel* holds_;
    QProgressBar* progress_;
    QPushButton* save_;
    std::unique_ptr<PlayExport> export_;
    QTimer next_;
};

} // namespace tilescope::ui
