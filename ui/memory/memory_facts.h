#pragma once

#include "core/query/memory/memory_strips.h"
#include "ui/kit/panel.h"
#include "ui/memory/memory_rows.h"

#include <cstdint>

namespace tilescope::ui {

class KeyValueTable;

/// The panel that describes the selected block or segment of memory. GUI thread.
class MemoryFacts : public Panel {
    Q_OBJECT
public:
    explicit MemoryFacts(QWidget* parent = nullptr);

    void showNothing();
    void showBlock(const MemoryRun& run, std::uint32_t block);
    /// \param strip  of the instant that is looked at; null: the segment does not exist then
    void showSegment(std::uint64_t address, const query::MemoryStrip* strip);

signals:
    /// The selection, for the status bar.
    void selectionText(const QString& text);

private:
    KeyValueTable* facts_;
};

} // namespace tilescope::ui
