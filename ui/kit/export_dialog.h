#pragma once

#include "ui/kit/exporter.h"

#include <QDialog>

class QCheckBox;
class QDoubleSpinBox;
class QLabel;
class QSpinBox;

namespace tilescope::ui {

class ComboBox;
class SegmentedControl;

/// The dialog that exports a part of a page: which part, format and size.
class ExportDialog : public QDialog {
    Q_OBJECT
public:
    /// \param all    what can be exported, at least one; the first is the page
    /// \param title  of documents
    /// \param names  the first parts of file names, see fileNameOf()
    ExportDialog(std::vector<Exportable> all, const QString& title, QStringList names, QWidget* parent);

    /// The proposed file name for the current choice, with its suffix.
    QString fileName() const;
    /// The file that was written; empty if none was.
    const QString& written() const { return written_; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void choose();
    void chooseFormat();
    void preview();
    void save();
    void copy();
    ExportOptions options() const;
    const Exportable& chosen() const;
    template <class Does> void inPaperColours(const Does& does);

    QString title_;
    QStringList names_;
    QString written_;
    std::vector<Exportable> all_;
    ComboBox* what_;
    SegmentedControl* format_;
    QSpinBox* width_;
    QSpinBox* height_;
    QDoubleSpinBox* scale_;
    QCheckBox* paper_;
    QLabel* preview_;
    QLabel* holds_; ///< describes the contents of the CSV
    QLabel* problem_;
};

} // namespace tilescope::ui
