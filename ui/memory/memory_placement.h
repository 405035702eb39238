#pragma once

#include "core/query/memory/memory_layout.h"
#include "core/query/memory/memory_strips.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/panel.h"
#include "ui/memory/memory_axis.h"
#include "ui/memory/memory_rows.h"

#include <optional>
#include <vector>

class QSlider;
class QStackedWidget;

namespace tilescope::ui {

class MemoryBlocks;
class MemorySegments;
class SegmentedControl;

/// The panel of a run's blocks: over time, at their addresses or stacked, or in the segments of an instant.
///
/// Places blocks and computes their levels of detail in the background. Owned by the page; GUI thread.
class MemoryPlacement : public Panel {
    Q_OBJECT
public:
    explicit MemoryPlacement(MemoryAxis& axis, QWidget* parent = nullptr);

    MemoryBlocks& blocks() { return *blocks_; }
    MemorySegments& segments() { return *segments_; }
    bool showsSegments() const;

    void cancel();
    void clear();
    /// Another run, whose groups follow with show(). Draws the largest blocks if there are very many.
    void setRun(const MemoryRun& run);
    void setOps(std::shared_ptr<const query::MemoryOps> ops);
    void show(std::shared_ptr<const query::MemoryGroups> groups);
    /// The segments of an instant.
    /// \param instant  in words
    void showStrips(const std::vector<query::MemoryStrip>& strips, const QString& instant);
    void select(std::optional<std::uint32_t> block, std::optional<std::uint64_t> segment);

signals:
    /// The segments of the instant are to be shown: call showStrips().
    void stripsWanted();
    void failed(const QString& sentence);

private:
    void place();
    void layOut();
    void showBlocks();
    void showDetail();

    JobTracker placing_{this}, levelling_{this};
    std::optional<MemoryRun> run_; ///< none: nothing is shown
    std::shared_ptr<const query::MemoryGroups> groups_;
    std::shared_ptr<const query::MemoryLayout> layout_;
    std::optional<std::uint32_t> block_;
    std::optional<std::uint64_t> segment_;
    SegmentedControl* placement_;
    QWidget* detailTools_;
    QSlider* detail_;
    QStackedWidget* placed_; ///< blocks over time, or the segments of an instant
    MemoryBlocks* blocks_;
    MemorySegments* segments_;
};

} // namespace tilescope::ui
