#pragma once

#include <QComboBox>
#include <QFrame>
#include <QLabel>
#include <QPushButton>

#include <vector>

class QHBoxLayout;
class QLineEdit;
class QVBoxLayout;

namespace tilescope::ui {

/// A combo box whose arrow is our chevron.
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

/// Dim words of one line, aligned as the label is, that take the room that others leave and end in an
/// ellipsis where that is too little; a hover then has them whole.
class ElidedLabel : public QLabel {
    Q_OBJECT
public:
    explicit ElidedLabel(QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
};

/// A line edit with a magnifying glass.
QLineEdit* makeFindField(const QString& placeholder, const QString& accessibleName);

/// Esc in the field gives the keyboard to what the field is about; its text stays.
void leadOut(QLineEdit& field, QWidget& content);

/// What a page says where it has nothing to show: dim, in the middle.
QLabel* makeMessage();

/// The layout of a page: its parts one below the other, without margins and gaps.
QVBoxLayout* makePlainColumn(QWidget* parent);

/// A row of buttons of which one is down.
class Segments : public QWidget {
    Q_OBJECT
public:
    explicit Segments(const QStringList& words, QWidget* parent = nullptr);
    int current() const { return current_; }
    void setCurrent(int index);
    void setWord(int index, const QString& word);

signals:
    void changed(int index);

private:
    std::vector<QPushButton*> buttons_;
    int current_ = 0;
};

/// The bar of tools above a page: things to the left, things to the right of a stretch. Where it is too
/// narrow for all, words go, then what may.
class ToolBar : public QFrame {
    Q_OBJECT
public:
    explicit ToolBar(QWidget* parent = nullptr);
    void add(QWidget* widget);
    void addWide(QWidget* widget);     ///< takes what the others leave
    void addWord(const QString& text); ///< dim word before a field
    void addStretch();
    void addGap();
    QPushButton* addButton(const QString& text, const QString& tip);
    /// Leaves it out where the bar is too narrow: what a key or a menu does as well.
    void mayGo(QWidget* widget);
    QSize minimumSizeHint() const override;

protected:
    bool event(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void fit();

    QHBoxLayout* layout_;
    std::vector<QWidget*> words_;
    std::vector<QWidget*> mayGo_; ///< the first goes first
};

} // namespace tilescope::ui
