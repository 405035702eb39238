#pragma once

#include "ui/kit/table_model.h"

#include <QWidget>

#include <vector>

namespace tilescope::ui {

/// Colours and names of a plot's contents, each with its bytes at an instant, in as many rows as needed.
/// Paints itself; GUI thread.
class MemoryLegend : public QWidget {
    Q_OBJECT
public:
    struct Entry {
        Swatch swatch;
        QString name;
        QString value; ///< may change with the cursor; the room for it stays
        bool outline = false;
        bool hatched = false;
    };
    explicit MemoryLegend(QWidget* parent = nullptr);

    void show(std::vector<Entry> entries);
    const std::vector<Entry>& entries() const { return entries_; }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    int cellWidth(const Entry& entry) const;
    int rowHeight() const;
    std::vector<QRect> cells(int width) const;

    std::vector<Entry> entries_;
};

} // namespace tilescope::ui
