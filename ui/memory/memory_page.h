#pragma once

#include "ui/kit/page.h"
#include "ui/memory/memory_axis.h"
#include "ui/memory/memory_lists.h"
#include "ui/memory/memory_placement.h"

class QComboBox;
class QSplitter;

namespace tilescope::ui {

class MemoryAreas;
class MemoryFacts;
class MemoryLegend;
class SegmentedControl;
class MessageStack;

/// The memory of a run over time, its blocks, and the live blocks at an instant; the other selected runs as
/// outlines.
///
/// Of a long run the curves appear first, then the blocks, then the names of ops. Reading, grouping and
/// placing run in the background.
class MemoryPage : public Page {
    Q_OBJECT
public:
    explicit MemoryPage(Workspace& workspace, QWidget* parent = nullptr);

    MemoryAxis& axis() { return axis_; }
    MemoryAreas& areas() { return *areas_; }
    MemoryBlocks& blocks() { return placement_->blocks(); }
    MemorySegments& segments() { return placement_->segments(); }
    TableView& table() { return lists_->table(); }   ///< blocks, or segments
    TableView& shares() { return lists_->shares(); } ///< what is allocated at the instant, by group
    bool startFind() override;
    void goTo(const PageTarget& target) override;
    QString command() const override;
    /// The instant that is looked at, from the run's first event.
    /// \pre  a run is shown
    std::int64_t instant() const;

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;
    bool followsTime() const override { return true; }

private:
    enum class Instant { Peak, Chosen, StepEnd };
    struct Whole {
        std::vector<MemoryRun> runs;
        std::shared_ptr<const query::MemoryGroups> groups; ///< of the first
    };

    // Parts of the page.
    QWidget* makeTools();
    QWidget* makePanels();
    void addPlots(QSplitter& both);
    void addSide(QSplitter& both);
    void connectParts();
    void showMessage(const QString& text);

    // What is shown of the runs.
    void load();
    void outlined(std::vector<MemoryRun> runs);
    void loaded(Whole whole);
    void showCurves();
    void fillDevices();
    std::optional<DeviceIndex> device() const;
    void fitAxis();
    void loadOps();
    void group();
    void grouped(std::shared_ptr<const query::MemoryGroups> groups);
    void fillLegend();

    // The instant, the block and the span that are looked at.
    void placeInstant();
    void chooseInstant(double time);
    void showLists();
    void showInstant();
    const query::MemoryStrip* stripOf(std::uint64_t address) const;
    void chooseBlock(std::int64_t block);
    void chooseSegment(std::uint64_t address);
    void showSelected();
    void showBlock();
    void tellSpan();
    void describe(const QString& selection);
    QString instantWords() const;
    QString whyNoMemory() const;
    QString summaryWords(std::optional<std::int64_t> allocatedSize) const;
    const MemoryRun* main() const { return shown_.empty() ? nullptr : &shown_.front(); }
    query::MemoryGrouping grouping() const;

    JobTracker outlining_{this}, loading_{this}, namingOps_{this}, grouping_{this};
    MemoryAxis axis_;
    std::vector<SelectedRun> runs_;
    std::vector<MemoryRun> shown_; ///< the first is the one whose blocks are shown
    MemoryGroupings groups_;       ///< of the first
    Instant instantKind_ = Instant::Peak;
    bool isColourChosen_ = false; ///< by the user, not from the run
    // One of them is selected at most.
    std::optional<std::uint32_t> block_;
    std::optional<std::uint64_t> segment_; ///< its address
    bool isReading_ = false;               ///< the blocks of the selection are not there yet
    QString wanted_;                       ///< a block that a link leads to, until the blocks are there

    SegmentedControl* colourBy_;
    SegmentedControl* instantChoice_;
    QComboBox* run_;
    QComboBox* device_;
    MessageStack* stack_;
    MemoryAreas* areas_;
    MemoryLegend* legend_;
    Panel* curvesPanel_ = nullptr;
    MemoryPlacement* placement_;
    MemoryLists* lists_;
    MemoryFacts* facts_;
};

} // namespace tilescope::ui
