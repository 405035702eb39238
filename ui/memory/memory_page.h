#pragma once

#include "core/query/memory/memory_layout.h"
#include "core/query/memory/memory_strips.h"
#include "ui/kit/page.h"
#include "ui/memory/memory_axis.h"
#include "ui/memory/memory_rows.h"

#include <array>

class QComboBox;
class QLabel;
class QLineEdit;
class QSlider;
class QStackedWidget;

namespace tilescope::ui {

class KeyValueTable;
class MemoryAreas;
class MemoryBlocks;
class MemoryLegend;
class MemorySegments;
class Panel;
class Segments;
class TableView;

/// The memory of a run over time, its blocks, and the live blocks at an instant; the other selected runs as
/// outlines.
///
/// Of a long run the curves appear first, then the blocks, then the names of ops. Reading, grouping and
/// placing run in the background.
class MemoryPage : public Page {
    Q_OBJECT
public:
    explicit MemoryPage(Workspace& workspace, QWidget* parent = nullptr);

    enum class List { Alive, Ever, Segments };

    MemoryAxis& axis() { return axis_; }
    MemoryAreas& areas() { return *areas_; }
    MemoryBlocks& blocks() { return *blocks_; }
    MemorySegments& segments() { return *segments_; }
    TableView& table() { return *table_; }   ///< blocks, or segments
    TableView& shares() { return *shares_; } ///< what is allocated at the instant, by group
    void startFind() override;
    void goTo(const PageTarget& target) override;
    /// The instant that is looked at, from the run's first event.
    /// \pre  a run is shown
    std::int64_t instant() const;
    void setInstant(std::int64_t time);

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;

private:
    enum class Instant { Peak, Chosen, StepEnd };
    struct Whole {
        std::vector<MemoryRun> runs;
        std::shared_ptr<const query::MemoryGroups> groups; ///< of the first
    };
    struct Lists {
        MemoryShares shares;
        BlockList blocks;
        SegmentRows segments;
        std::vector<query::MemoryStrip> strips;
    };

    // Parts of the page.
    QWidget* makeTools();
    QWidget* makePanels();
    QWidget* makePlots();
    Panel* makeBlocks();
    QWidget* makeSide();
    Panel* makeFacts();
    void showMessage(const QString& text);

    // What is shown of the runs.
    void load();
    void outlined(std::vector<MemoryRun> runs);
    void loaded(Whole whole);
    void showCurves();
    void fitAxis();
    void loadOps();
    void group();
    void grouped(std::shared_ptr<const query::MemoryGroups> groups);
    void layOut();
    void showBlocks();
    void showDetail();
    void fillLegend();

    // The instant, the block and the span that are looked at.
    void placeInstant();
    void chooseInstant(double time);
    void showLists();
    void showInstant(Lists lists);
    void hideAtFirst(List list);
    void showStrips();
    void chooseBlock(std::int64_t block);
    void chooseSegment(std::uint64_t address);
    void showSegment();
    void markRow();
    void showBlock();
    void place();
    void chooseShare(std::int64_t row);
    void tellSpan();
    QString instantWords() const;
    QString summaryWords(std::optional<std::int64_t> allocatedSize) const;
    const MemoryRun* main() const { return shown_.empty() ? nullptr : &shown_.front(); }
    query::MemoryGrouping grouping() const;

    JobTracker outlining_{this}, loading_{this}, namingOps_{this}, grouping_{this}, placing_{this},
        levelling_{this}, listing_{this};
    MemoryAxis axis_;
    std::vector<SelectedRun> runs_;
    std::vector<MemoryRun> shown_; ///< the first is the one whose blocks are shown
    std::array<std::shared_ptr<const query::MemoryGroups>, 3> groups_; ///< of the first, by grouping
    std::shared_ptr<const query::MemoryLayout> layout_;
    Instant instantKind_ = Instant::Peak;
    bool isColourChosen_ = false; ///< by the user, not from the run
    // One of them is selected at most.
    std::optional<std::uint32_t> block_;
    std::optional<std::uint64_t> segment_;   ///< its address
    std::vector<query::MemoryStrip> strips_; ///< at the instant, where plot or list shows segments
    bool isReading_ = false;                 ///< the blocks of the selection are not there yet
    QString wanted_;                         ///< a block that a link leads to, until the blocks are there
    std::vector<std::string> shareKeys_;
    std::array<bool, 2> isHidingKnown_{}; ///< of blocks and of segments

    Segments* colourBy_;
    Segments* instantChoice_;
    QComboBox* run_;
    QLabel* summary_;
    QStackedWidget* stack_;
    QLabel* message_;
    MemoryAreas* areas_;
    MemoryLegend* legend_;
    Panel* curvesPanel_ = nullptr;
    Panel* blocksPanel_ = nullptr;
    MemoryBlocks* blocks_;
    MemorySegments* segments_;
    QStackedWidget* placed_ = nullptr; ///< blocks over time, or the segments of an instant
    QWidget* detailTools_ = nullptr;
    Segments* placement_ = nullptr;
    QSlider* detail_ = nullptr;
    Panel* sharesPanel_ = nullptr;
    Segments* sharesBy_ = nullptr;
    TableView* shares_;
    Panel* listPanel_ = nullptr;
    Segments* listKind_ = nullptr;
    QLineEdit* filter_;
    TableView* table_;
    Panel* factsPanel_ = nullptr;
    KeyValueTable* facts_ = nullptr;
};

} // namespace tilescope::ui
