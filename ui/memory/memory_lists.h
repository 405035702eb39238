#pragma once

#include "core/query/memory/memory_strips.h"
#include "ui/jobs/job_tracker.h"
#include "ui/memory/memory_rows.h"

#include <QObject>

#include <array>
#include <optional>
#include <string>
#include <vector>

class QLineEdit;

namespace tilescope::ui {

class Panel;
class SegmentedControl;
class TableView;

/// The groups of a run's memory, by query::MemoryGrouping; null where they are not computed.
using MemoryGroupings = std::array<std::shared_ptr<const query::MemoryGroups>, query::kMemoryGroupings>;

/// The tables about an instant: what is allocated by group, and the blocks or the allocator's segments.
///
/// Rows are made in the background. Owned by the page; GUI thread.
class MemoryLists : public QObject {
    Q_OBJECT
public:
    explicit MemoryLists(QObject* parent = nullptr);

    enum class List { Alive, Ever, Segments };
    struct Instant {
        std::int64_t time = 0; ///< from the run's first event
        bool isPeak = true;
        QString title; ///< "at 3.2 ms"
    };

    Panel* sharesPanel() { return sharesPanel_; }
    Panel* listPanel() { return listPanel_; }
    TableView& table() { return *table_; }   ///< blocks, or segments
    TableView& shares() { return *shares_; } ///< what is allocated, by group
    QLineEdit& filter() { return *filter_; }

    /// Makes the rows of an instant; emits shown().
    /// \param colours  the groups whose colours the blocks have
    /// \param strips   also the segments for a plot
    void show(const MemoryRun& run, const MemoryGroupings& groups, query::MemoryGrouping colours,
              const Instant& instant, bool strips);
    void clear();
    void cancel() { listing_.cancel(); }
    /// Groups the shares so, without showing them again.
    void groupBy(MemoryTable by);
    void select(std::optional<std::uint32_t> block, std::optional<std::uint64_t> segment);

    const std::vector<query::MemoryStrip>& strips() const { return strips_; } ///< if they were made
    /// PyTorch's count at the instant (MemoryRun::allocatedSize()).
    std::optional<std::int64_t> allocatedSize() const { return allocatedSize_; }

signals:
    /// The user wants another table: call show().
    void wanted();
    void shown();
    void blockChosen(std::int64_t block);
    void segmentChosen(std::uint64_t address);
    void failed(const QString& sentence);

private:
    struct Made {
        MemoryShares shares;
        BlockList blocks;
        SegmentRows segments;
        std::vector<query::MemoryStrip> strips;
    };

    void makeShares();
    void makeList();
    void take(Made made, const Instant& instant, bool hasReserved);
    void hideAtFirst(List list);
    void markRow();
    void chooseShare(std::int64_t row);
    List list() const;

    JobTracker listing_{this};
    std::vector<query::MemoryStrip> strips_;
    std::optional<std::int64_t> allocatedSize_;
    std::vector<std::string> shareKeys_;
    std::array<bool, 2> isHidingKnown_{}; ///< of blocks and of segments
    std::optional<std::uint32_t> block_;
    std::optional<std::uint64_t> segment_;
    Panel* sharesPanel_;
    SegmentedControl* sharesBy_;
    TableView* shares_;
    Panel* listPanel_;
    SegmentedControl* listKind_;
    QLineEdit* filter_;
    TableView* table_;
};

} // namespace tilescope::ui
