#pragma once

#include <QStringList>
#include <QWidget>

class QMimeData;

namespace tilescope::ui {

/// The files and folders of a drag; empty if it holds none.
QStringList draggedPaths(const QMimeData& data);

/// The effect of dropping these files: "Open a.tscope", "Import 2 traces as one run", "Edit the spec a.yaml".
QString dropWords(const QStringList& paths);

/// A dashed box for files to be dropped. While a drag is over the window, it has the accent colour and says what would
/// happen. The window handles the drop. GUI thread.
class DropBox : public QWidget {
    Q_OBJECT
public:
    enum class Ground {
        None, ///< part of a page
        Veil  ///< covers a page, which shows through
    };
    explicit DropBox(Ground ground, QWidget* parent = nullptr);

    /// \param words  of the drag that is over the window; empty: there is none
    void setDrag(const QString& words);
    const QString& drag() const { return drag_; }
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    Ground ground_;
    QString drag_;
};

} // namespace tilescope::ui
