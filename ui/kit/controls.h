#pragma once

#include <QComboBox>
#include <QFrame>
#include <QLabel>
#include <QPushButton>

#include <vector>

class QHBoxLayout;
class QLineEdit;
class QStackedWidget;
class QVBoxLayout;

namespace tilescope::ui {

/// A combo box with our own arrow.
class ComboBox : public QComboBox {
    Q_OBJECT
public:
    explicit ComboBox(const QString& accessibleName, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
};

/// A button that opens a menu, with our chevron.
class MenuButton : public QPushButton {
    Q_OBJECT
public:
    explicit MenuButton(const QString& text, QWidget* parent = nullptr);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
};

/// Dim text that takes the remaining space: on one line, or smaller and on as many as the height has room for. It
/// is elided if that does not suffice, and hidden if there is room for less than two fifths of one line or four
/// fifths of several; the tooltip then shows it whole.
class ElidedLabel : public QLabel {
    Q_OBJECT
public:
    explicit ElidedLabel(QWidget* parent = nullptr);

    bool isCut() const; ///< it is painted with an ellipsis

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Shown {
        QFont font;
        QStringList lines;
    };
    Shown shown() const;
};

/// Sentences on as many lines as they need. No line ends within an option of a command line, as in --steps.
class SentenceLabel : public QLabel {
    Q_OBJECT
public:
    explicit SentenceLabel(const QString& text = {}, QWidget* parent = nullptr);
    void setText(const QString& text); ///< hides QLabel::setText()
};

/// A heading in its own font. If it is too wide, its middle is elided and the tooltip shows it whole.
class TitleLabel : public QLabel {
    Q_OBJECT
public:
    explicit TitleLabel(const QString& text = {}, QWidget* parent = nullptr);

    QString shown() const; ///< the text as painted
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
};

/// A line edit with a magnifying glass.
QLineEdit* makeFindField(const QString& placeholder, const QString& accessibleName);

/// Esc in the field moves the focus to `content`; the text stays.
void leadOut(QLineEdit& field, QWidget& content);

/// The centred message of a page without content.
SentenceLabel* makeMessage();

/// A vertical layout without margins and gaps.
QVBoxLayout* makePlainColumn(QWidget* parent);

/// A row of buttons, one of which is checked.
class SegmentedControl : public QWidget {
    Q_OBJECT
public:
    explicit SegmentedControl(const QStringList& words, QWidget* parent = nullptr);
    int current() const { return current_; }
    void setCurrent(int index);
    void setWord(int index, const QString& word);
    /// Shows a list to choose from instead of a button for each word, which takes less room.
    void setCompact(bool compact);
    bool isCompact() const { return compact_; }
    /// The difference in width between the normal and the compact form.
    int savedByCompact() const;

signals:
    void changed(int index);

private:
    void choose(int index);

    std::vector<QPushButton*> buttons_;
    ComboBox* list_;
    bool compact_ = false;
    int current_ = 0;
};

/// The tool bar of a page. If it is too narrow, words are hidden first, then the tools given to mayGo(); then
/// segmented controls become lists.
class ToolBar : public QFrame {
    Q_OBJECT
public:
    explicit ToolBar(QWidget* parent = nullptr);
    void add(QWidget* widget);
    void addWide(QWidget* widget);     ///< takes the remaining width
    void addWord(const QString& text); ///< dim word before a field
    void addStretch();
    void addGap();
    QPushButton* addButton(const QString& text, const QString& tip);
    /// Hides this tool if the bar is too narrow; its function must also be in a menu or on a key.
    void mayGo(QWidget* widget);
    /// The tools are disabled while `content` shows its first widget, the message why there is nothing to act on.
    void actOn(const QStackedWidget& content);
    QSize minimumSizeHint() const override;

protected:
    bool event(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void fit();

    QHBoxLayout* layout_;
    std::vector<QWidget*> words_;
    std::vector<QWidget*> mayGo_; ///< hidden in this order
    std::vector<SegmentedControl*> segmented_;
};

} // namespace tilescope::ui
