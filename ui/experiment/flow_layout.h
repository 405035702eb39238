#pragma once

#include <QLayout>
#include <QList>

namespace tilescope::ui {

/// Lays widgets side by side as they fit, the rest in further lines.
class FlowLayout : public QLayout {
public:
    explicit FlowLayout(QWidget* parent = nullptr, int horizontalGap = 0, int verticalGap = 0);
    ~FlowLayout() override;

    /// Puts a widget before the item at `index`.
    void insertWidget(int index, QWidget* widget);

    void addItem(QLayoutItem* item) override { items_.append(item); }
    int count() const override { return int(items_.size()); }
    QLayoutItem* itemAt(int index) const override { return items_.value(index); }
    QLayoutItem* takeAt(int index) override;
    Qt::Orientations expandingDirections() const override { return {}; }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override { return lay({0, 0, width, 0}, false); }
    void setGeometry(const QRect& rect) override;
    QSize sizeHint() const override;
    QSize minimumSize() const override;

private:
    int lay(const QRect& rect, bool apply) const; ///< returns the height it takes

    QList<QLayoutItem*> items_;
    int horizontalGap_;
    int verticalGap_;
};

} // namespace tilescope::ui
