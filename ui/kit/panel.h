#pragma once

#include <QFrame>
#include <QPushButton>

class QHBoxLayout;
class QLabel;
class QVBoxLayout;

namespace tilescope::ui {

/// A surface with a header: title, dim subtitle, and the page's widgets on the right.
class Panel : public QFrame {
    Q_OBJECT
public:
    explicit Panel(const QString& title, QWidget* parent = nullptr);

    void setTitle(const QString& title);
    void setSubtitle(const QString& subtitle);
    /// Puts a widget at the right end of the header.
    void addToHeader(QWidget* widget);
    /// A link at the right end that leads to another page.
    QPushButton* addLink(const QString& text);
    void setContent(QWidget* content);
    void setContent(QLayout* content);

private:
    QLabel* title_;
    QLabel* subtitle_;
    QHBoxLayout* header_;
    QVBoxLayout* layout_;
};

} // namespace tilescope::ui
