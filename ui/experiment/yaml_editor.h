#pragma once

#include <QPlainTextEdit>

namespace tilescope::ui {

/// The text of a spec, with line numbers and highlighting. Marks the line of a problem and the line of the
/// focused field.
class YamlEditor : public QPlainTextEdit {
    Q_OBJECT
public:
    explicit YamlEditor(QWidget* parent = nullptr);

    /// Replaces the text by changing only the differences, which keeps cursor and undo history valid.
    void replaceText(const QString& text);
    /// \param line  from 1; 0: none
    void markError(int line);
    void markLit(int line);
    int litLine() const { return litLine_; }

signals:
    /// The cursor came to another line, from 1, by keyboard or mouse.
    void lineEntered(int line);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    class Numbers;

    void dress();
    void placeNumbers();
    void paintNumbers(QPaintEvent* event);
    void showMarks();

    Numbers* numbers_;
    int errorLine_ = 0;
    int litLine_ = 0;
    int cursorLine_ = 0;
};

} // namespace tilescope::ui
