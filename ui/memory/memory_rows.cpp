#include "ui/memory/memory_rows.h"

#include "core/analysis/time/path_glob.h"
#include "core/analysis/work/tensor_shape.h"
#include "core/exchange/memory/memory_columns.h"
#include "core/model/text.h"
#include "core/query/memory/memory_difference.h"
#include "core/query/runs/grouping.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/path_text.h"
#include "ui/kit/table_cells.h"

#include <QCoreApplication>
#include <QRegularExpression>

#include <algorithm>
#include <cmath>
#include <map>

namespace tilescope::ui {

namespace {

using Kind = TableColumn::Kind;
using query::MemoryHistory;
using query::MemoryLife;

QString tr(const char* text)
{
    return QCoreApplication::translate("MemoryRows", text);
}

QString timeOf(std::int64_t time, std::int64_t zero)
{
    return timeText(double(time - zero));
}

// The bytes that a run has allocated at an instant, by a key.
struct Tally {
    std::map<std::string, std::pair<std::int64_t, std::int64_t>, std::less<>> byKey; // bytes, blocks
    std::int64_t attributed = 0;

    void add(std::string_view key, std::int64_t bytes, std::int64_t blocks)
    {
        auto place = byKey.find(key);
        if (place == byKey.end())
            place = byKey.emplace(std::string(key), std::pair<std::int64_t, std::int64_t>()).first;
        place->second.first += bytes;
        place->second.second += blocks;
        attributed += bytes;
    }
};

std::string_view groupOfOp(const MemoryRun& run, const MemoryLife& block)
{
    if (block.isOlder())
        return query::kOlderGroup;
    const std::string_view name = opOf(*run.history, block, run.ops.get());
    return name.empty() ? query::kNoOpGroup : name;
}

Tally tallyAt(const MemoryRun& run, MemoryTable by, const query::MemoryGroups* groups, std::int64_t time)
{
    Tally tally;
    const MemoryHistory& history = *run.history;
    for (const std::uint32_t index : history.aliveAt(time)) {
        const MemoryLife& block = history.blocks[index];
        tally.add(by == MemoryTable::Op ? groupOfOp(run, block)
                                        : std::string_view(groups->names[groups->groupOf[index]]),
                  block.bytes, 1);
    }
    return tally;
}

bool isSame(const Swatch& a, const Swatch& b)
{
    return a.kind == b.kind && a.hue == b.hue && a.category == b.category;
}

// Grey: blocks that belong to no group.
bool isFixed(const Swatch& swatch)
{
    return swatch.kind == Swatch::Kind::Category || isSame(swatch, Swatch::of(query::Hue::Other));
}

// The colour that a name has if no other group has it; of no kind if the name tells none.
Swatch ownSwatch(query::MemoryGrouping grouping, std::string_view name)
{
    using query::Hue;
    if (name == query::kUnattributed || grouping == query::MemoryGrouping::Category)
        return Swatch::ofCategory(QString::fromUtf8(name));
    if (name == query::kOlderGroup)
        return Swatch::ofCategory(QStringLiteral("context"));
    if (name == query::kNoModuleGroup || name == query::kNoPhaseGroup || name == query::kNoOpGroup)
        return Swatch::of(Hue::Other);
    if (const Hue hue = query::hueOfOp(name); grouping == query::MemoryGrouping::Op && hue != Hue::Other)
        return Swatch::of(hue);
    const std::pair<std::string_view, Hue> known[] = {
        {"norm", Hue::Norm},          {"attention", Hue::Attention}, {"embed", Hue::Embedding},
        {"head", Hue::Copy},          {"ffn", Hue::Matmul},          {"forward", Hue::Matmul},
        {"backward", Hue::Reduction}, {"loss", Hue::Softmax},        {"optimizer", Hue::Optimizer},
        {"scores", Hue::Attention},   {"softmax", Hue::Softmax}};
    for (const auto& [word, hue] : known)
        if (name.find(word) != std::string_view::npos)
            return Swatch::of(hue);
    return {};
}

// Colours of groups without one of their own: those least like the colours that names tell come first.
std::vector<Swatch> spareSwatches()
{
    using query::Hue;
    std::vector<Swatch> spare;
    for (const Hue hue : {Hue(Hue::Elementwise), Hue(Hue::Memset), Hue(Hue::Collective), Hue(Hue::Reduction),
                          Hue(Hue::Scan), Hue(Hue::Embedding), Hue(Hue::Norm), Hue(Hue::Softmax),
                          Hue(Hue::Copy), Hue(Hue::Optimizer), Hue(Hue::Attention), Hue(Hue::Matmul)})
        spare.push_back(Swatch::of(hue));
    for (const MemoryCategory category :
         {MemoryCategory::Gradients, MemoryCategory::Temporaries, MemoryCategory::Inputs,
          MemoryCategory::Workspace, MemoryCategory::Optimizer, MemoryCategory::Parameters,
          MemoryCategory::Activations})
        spare.push_back(Swatch::ofCategory(QString::fromUtf8(wordOf(category))));
    spare.push_back(Swatch::of(Hue::Convolution));
    return spare;
}

// The colours of groups by name; of a group that is not among them, that of its name.
class SwatchesByName {
public:
    SwatchesByName(MemoryTable by, const query::MemoryGroups* groups) : by_(by), groups_(groups)
    {
        if (groups != nullptr)
            swatches_ = swatchesOf(*groups);
    }
    Swatch of(const std::string& name) const
    {
        if (groups_ != nullptr)
            if (const auto at = std::ranges::find(groups_->names, name); at != groups_->names.end())
                return swatches_[std::size_t(at - groups_->names.begin())];
        const Swatch own = ownSwatch(query::MemoryGrouping(by_), name);
        return own.kind != Swatch::Kind::None ? own : Swatch::neutral();
    }

private:
    MemoryTable by_;
    const query::MemoryGroups* groups_;
    std::vector<Swatch> swatches_;
};

// A group at an instant.
struct Share : query::MemoryGroupRow {
    std::optional<std::int64_t> blocks = {}; // none where the bytes are in no known block
    std::optional<double> percent = {};      // of the allocated bytes; none for what lies beyond them
};

Share shareOf(std::string key, std::int64_t bytes, std::int64_t blocks, std::int64_t whole)
{
    Share share;
    share.key = std::move(key);
    share.held = Bytes{bytes};
    if (blocks > 0)
        share.blocks = blocks;
    if (whole > 0)
        share.percent = 100 * double(bytes) / double(whole);
    return share;
}

TableMaker<Share> shareTable(MemoryTable by, const std::vector<Share>& groups)
{
    using Of = exchange::ColumnOf<Share>;
    constexpr const char* kGroupings[] = {"category", "phase", "module", "op"};
    const exchange::MemoryGroupColumns of(kGroupings[std::size_t(by)]);
    TableMaker<Share> table(groups);
    table.add(of.name, 0).swatch = true;
    TableColumn& bytes = table.add(of.held, 60);
    bytes.title.clear(); // the title of the panel says at which instant
    bytes.tip = tr("held at that instant");
    table.addBar(of.held, 66).sortable = false;
    table.add(Of("percent", "share", &Share::percent, {.unit = quantity::Unit::Percent}), 60).dim = true;
    table.add(Of("blocks", "blocks", &Share::blocks), 52).dim = true;
    return table;
}

// Reserved memory beyond the allocated bytes.
void addBeyond(TableData& data, const TableMaker<Share>& table, const MemoryRun& run, std::int64_t time)
{
    const auto addRow = [&](MemoryCategory category, std::int64_t bytes) {
        TableRow row = table.row(shareOf(std::string(wordOf(category)), bytes, 0, 0));
        row.id = -1;
        row.selectable = false;
        row.section = data.rows.back().strong;
        row.swatch = Swatch::ofCategory(QString::fromUtf8(wordOf(category)));
        data.rows.push_back(std::move(row));
    };
    for (const MemoryCategory category : {MemoryCategory::Fragmentation, MemoryCategory::ReservedFree}) {
        const query::StepCurve& curve = run.history->curves[std::size_t(category)];
        if (!run.history->segments.empty() && !curve.empty())
            addRow(category, curve.at(time));
    }
    if (run.context)
        addRow(MemoryCategory::Context, *run.context);
}

} // namespace

std::pair<std::int64_t, std::int64_t> MemoryRun::shown() const
{
    const std::int64_t first = history->allocated.empty() ? 0 : history->allocated.time(0);
    const std::int64_t from = span ? std::max(first, std::int64_t(span->from.count())) : first;
    const std::int64_t to =
        span ? std::min(history->length, std::int64_t(span->to.count())) : history->length;
    return {std::min(from, history->length), std::max(from, to)};
}

std::int64_t MemoryRun::peakTime() const
{
    const auto [from, to] = shown();
    return span ? history->allocated.highest(from, to) : history->peakTime;
}

bool MemoryRun::countsRequested() const
{
    return history->run.traits().countsRequested;
}

QString MemoryRun::countWord() const
{
    return QString::fromUtf8(history->run.traits().heldWord());
}

std::optional<std::int64_t> MemoryRun::allocatedSize(std::int64_t time) const
{
    if (!countsRequested() || !history->hasSegments())
        return {};
    const analysis::SegmentUse use = history->segmentsAt(time).use();
    return use.requested + use.rounding;
}

const query::TimelineStep* MemoryRun::stepAt(std::int64_t time) const
{
    const auto after =
        std::upper_bound(steps.begin(), steps.end(), time,
                         [](std::int64_t at, const query::TimelineStep& step) { return at < step.start; });
    if (after == steps.begin() || time >= (after - 1)->end)
        return nullptr;
    return &*(after - 1);
}

std::vector<Swatch> swatchesOf(const query::MemoryGroups& groups)
{
    const std::size_t count = groups.names.size();
    std::vector<Swatch> swatches(count);
    const auto isTaken = [&swatches](const Swatch& swatch) {
        return std::ranges::any_of(swatches, [&](const Swatch& taken) { return isSame(taken, swatch); });
    };
    for (std::size_t i = 0; i < count; ++i)
        if (const Swatch own = ownSwatch(groups.grouping, groups.names[i]); isFixed(own) || !isTaken(own))
            swatches[i] = own;
    // Names without a colour of their own, and those whose colour another group has.
    const std::vector<Swatch> spare = spareSwatches();
    std::size_t next = 0;
    for (Swatch& swatch : swatches) {
        if (swatch.kind != Swatch::Kind::None)
            continue;
        const auto free = std::ranges::find_if_not(spare, isTaken);
        swatch = free != spare.end() ? *free : spare[next++ % spare.size()];
    }
    return swatches;
}

QString blockGroup(const query::MemoryHistory& history, std::uint32_t block)
{
    const MemoryLife& life = history.blocks[block];
    static const QRegularExpression layer(QStringLiteral("layers\\.\\d+"));
    const std::string_view path = history.text(life.path);
    QString where = life.isOlder() ? QString() : QString::fromStdString(exchange::stackName(path));
    if (where.isEmpty())
        where = QString::fromUtf8(life.isOlder() ? history.text(life.name)
                                                 : analysis::belowStep(analysis::fromStepDown(path)));
    where.replace(layer, QStringLiteral("layers.*"));
    if (where.isEmpty())
        where = life.isOlder() ? tr("before the trace") : tr("outside any range");
    return where + QLatin1Char('\n') + QString::fromUtf8(wordOf(life.category));
}

QString blockName(const MemoryRun& run, std::uint32_t block)
{
    return QString::fromStdString(exchange::nameOf(*run.history, run.history->blocks[block], run.ops.get()));
}

std::vector<BlockFact> blockFacts(const MemoryRun& run, std::uint32_t block)
{
    const MemoryHistory& history = *run.history;
    const MemoryLife& life = history.blocks[block];
    std::vector<BlockFact> facts;
    const auto add = [&facts](const QString& key, const QString& value, bool dim = false) {
        if (!value.isEmpty())
            facts.push_back({key, value, dim});
    };
    add(tr("Bytes"), QStringLiteral("%1 (%2)").arg(byteText(double(life.bytes)), exactBytes(life.bytes)));
    add(tr("Category"), QString::fromUtf8(wordOf(life.category)));
    const bool older = life.isOlder();
    const bool stays = life.isLeft();
    const QString from = older ? tr("before the trace") : timeOf(life.begin, run.zero());
    const QString to = stays ? tr("beyond the trace") : timeOf(life.end, run.zero());
    add(tr("Lives"),
        tr("%1 to %2").arg(from, to) +
            (older || stays ? QString() : QStringLiteral(", ") + timeText(double(life.end - life.begin))));
    add(tr("Held by"), QString::fromUtf8(history.text(life.name)));
    if (!older) {
        add(tr("Made by"),
            life.op == 0 && !run.ops ? tr("being read…") : QString::fromUtf8(groupOfOp(run, life)));
        const std::string_view path = history.text(life.path);
        const exchange::ReadableStack stack = exchange::userFramesFirst(path);
        for (std::size_t i = 0; i < stack.frames.size(); ++i) {
            const bool isLibrary = i >= stack.own;
            add(i == stack.own ? tr("Libraries")
                : i == 0       ? tr("Stack")
                               : QString(),
                QString::fromStdString(exchange::shownFrame(stack.frames[i])), isLibrary);
        }
        if (stack.frames.empty()) {
            add(tr("Range"), QString::fromUtf8(analysis::belowStep(path)));
            add(tr("Module"), QString::fromUtf8(moduleOf(history, life)));
        }
        if (const CodePlace* place = history.places.of(history.text(life.path)))
            add(tr("Opened in"),
                QStringLiteral("%1, %2:%3")
                    .arg(QString::fromStdString(place->function), QString::fromStdString(place->file))
                    .arg(place->line));
    }
    const std::string_view shapes = shapesOf(history, life, run.ops.get());
    add(older ? tr("Tensor") : tr("Given"), QString::fromStdString(analysis::tensorsText(shapes)));
    if (const query::TimelineStep* step = older ? nullptr : run.stepAt(life.begin))
        add(tr("Step"), wholeNumber(step->step));
    add(tr("Address"), QStringLiteral("0x%1").arg(life.address, 0, 16));
    add(tr("Device"), QString::fromStdString(exchange::deviceText(history.device)));
    return facts;
}

MemoryShares memoryShareRows(const MemoryRun& run, MemoryTable by, const query::MemoryGroups* groups,
                             std::int64_t time)
{
    const MemoryHistory& history = *run.history;
    MemoryShares shares;
    shares.allocated = history.allocated.at(time);
    Tally tally = tallyAt(run, by, groups, time);
    if (by == MemoryTable::Category)
        for (const std::string& name : groups->names)
            tally.add(name, 0, 0); // also categories without bytes
    if (const std::int64_t unattributed = shares.allocated - tally.attributed; unattributed != 0)
        tally.add(query::kUnattributed, unattributed, 0);
    std::vector<Share> rows;
    std::int64_t blocks = 0;
    for (const auto& [key, held] : tally.byKey) {
        rows.push_back(shareOf(key, held.first, held.second, shares.allocated));
        shares.sum += held.first;
        blocks += held.second;
    }
    std::ranges::stable_sort(rows, std::ranges::greater{}, &Share::held);
    for (const Share& share : rows)
        shares.keys.push_back(share.key);
    const TableMaker<Share> table = shareTable(by, rows);
    const SwatchesByName swatches(by, groups);
    shares.table = table.table(rows, [&swatches](const Share& share) { return swatches.of(share.key); });
    const auto addTotal = [&](const QString& name, std::int64_t bytes) {
        TableRow row = table.row(shareOf(name.toStdString(), bytes, blocks, shares.allocated));
        row.cells[std::size_t(MemoryShareColumn::Bar)].bar = 0;
        row.id = -1;
        row.strong = true;
        row.section = shares.table.rows.empty() || !shares.table.rows.back().strong;
        row.selectable = false;
        shares.table.rows.push_back(std::move(row));
    };
    addTotal(run.countWord(), shares.allocated);
    shares.allocatedSize = run.allocatedSize(time);
    if (shares.allocatedSize && *shares.allocatedSize != shares.allocated) {
        addTotal(tr("allocated, with rounding"), *shares.allocatedSize);
        shares.table.rows.back().cells[0].exact =
            tr("allocated_size in PyTorch: what was requested, rounded up by the allocator");
    }
    addBeyond(shares.table, table, run, time);
    return shares;
}

BlockList blockRows(const MemoryRun& run, const BlockChoice& choice, const query::MemoryGroups* groups)
{
    const MemoryHistory& history = *run.history;
    std::vector<std::uint32_t> blocks;
    if (choice.time) {
        blocks = history.aliveAt(*choice.time);
    } else {
        const auto [from, to] = run.shown();
        for (std::uint32_t i = 0; i < history.blocks.size(); ++i)
            if (history.blocks[i].begin < to && history.blocks[i].end > from)
                blocks.push_back(i);
        const auto isLarger = [&](std::uint32_t a, std::uint32_t b) {
            return history.blocks[a].bytes != history.blocks[b].bytes
                       ? history.blocks[a].bytes > history.blocks[b].bytes
                       : a < b;
        };
        std::partial_sort(blocks.begin(),
                          blocks.begin() + std::ptrdiff_t(std::min(choice.most, blocks.size())), blocks.end(),
                          isLarger);
    }
    BlockList list;
    list.blocks = blocks.size();
    for (const std::uint32_t block : blocks)
        list.bytes += history.blocks[block].bytes;
    blocks.resize(std::min(choice.most, blocks.size()));
    list.table = tableOfBlocks(run, blocks, groups);
    return list;
}

TableData tableOfBlocks(const MemoryRun& run, const std::vector<std::uint32_t>& blocks,
                        const query::MemoryGroups* groups)
{
    const MemoryHistory& history = *run.history;
    const exchange::MemoryBlockColumns of(history, run.ops.get(), run.zero());
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    TableMaker<std::uint32_t> table(blocks);
    table.add(of.name, 0).swatch = true;
    table.add(of.category, 92).dim = true;
    table.add(of.bytes, 78);
    table.add(of.range, 170, [](TableCell& cell, std::uint32_t) { cell.text = belowStep(cell.text); }).dim =
        true;
    table
        .add(of.since, 82,
             [kInfinity](TableCell& cell, std::uint32_t) {
                 if (std::isnan(cell.sort)) {
                     cell = makeWords(tr("before"));
                     cell.sort = -kInfinity;
                 }
             })
        .dim = true;
    table
        .add(of.lifetime, 82,
             [kInfinity](TableCell& cell, std::uint32_t) {
                 if (std::isnan(cell.sort)) {
                     cell = makeWords(tr("stays"));
                     cell.sort = kInfinity;
                 }
             })
        .dim = true;
    for (const auto* column : {&of.op, &of.tensor, &of.shape, &of.address, &of.code})
        table.add(*column, 130).dim = true;
    const std::vector<Swatch> swatches = groups != nullptr ? swatchesOf(*groups) : std::vector<Swatch>{};
    TableData data = table.table(blocks, [&](std::uint32_t block) {
        return groups != nullptr
                   ? swatches[groups->groupOf[block]]
                   : Swatch::ofCategory(QString::fromUtf8(wordOf(history.blocks[block].category)));
    });
    for (std::size_t i = 0; i < blocks.size(); ++i)
        data.rows[i].id = std::int64_t(blocks[i]);
    return data;
}

namespace {

// A segment at an instant.
struct SegmentAt {
    MemorySegment segment;
    Bytes used{};
    std::int64_t blocks = 0; // that are not free
    Bytes largestFree{};

    Bytes size() const { return Bytes{segment.bytes}; }
    Bytes free() const { return size() - used; }
};

std::vector<SegmentAt> segmentsOf(const analysis::SegmentMap& map)
{
    std::vector<SegmentAt> rows;
    for (const MemorySegment& segment : map.segments()) {
        SegmentAt& row = rows.emplace_back(SegmentAt{segment});
        for (const analysis::PlacedBlock& block : map.blocksOf(segment)) {
            const bool isFree = block.state == analysis::PlacedBlock::State::Free;
            row.used += Bytes{isFree ? 0 : block.size};
            row.blocks += isFree ? 0 : 1;
            row.largestFree = std::max(row.largestFree, Bytes{isFree ? block.size : 0});
        }
    }
    return rows;
}

} // namespace

SegmentRows segmentRows(const query::MemoryHistory& history, std::int64_t time)
{
    using Of = exchange::ColumnOf<SegmentAt>;
    const analysis::SegmentMap map = history.segmentsAt(time);
    const std::vector<SegmentAt> segments = segmentsOf(map);
    const exchange::Shown inOneUnit{.unitGroup = 1};
    TableMaker<SegmentAt> table(segments);
    table
        .add(Of("segment", "segment", [](const SegmentAt& row) { return std::int64_t(row.segment.address); },
                {.unit = quantity::Unit::Address}),
             0)
        .kind = Kind::Text;
    table.add(Of("size", "size", &SegmentAt::size, inOneUnit), 74);
    table.add(Of("used", "used", &SegmentAt::used, inOneUnit), 78);
    table.add(Of("free", "free", &SegmentAt::free, inOneUnit), 74);
    table.add(makeColumn(tr("Used"), Kind::Bar, 80), [](const SegmentAt& row) {
        return makeBar(double(row.used.count) / double(std::max<std::int64_t>(1, row.segment.bytes)), 1);
    });
    table.add(Of("blocks", "blocks", &SegmentAt::blocks), 56).dim = true;
    table.add(Of("largest_free", "largest free", &SegmentAt::largestFree, inOneUnit), 112).dim = true;
    table
        .add(Of("stream", "stream",
                [](const SegmentAt& row) {
                    return row.segment.stream ? exchange::Cell(std::to_string(row.segment.stream.value))
                                              : exchange::Cell();
                }),
             54)
        .dim = true;
    table
        .add(Of("kind", "kind",
                [](const SegmentAt& row) {
                    return row.segment.isExpandable ? "expandable" : row.segment.isLarge ? "large" : "small";
                }),
             84)
        .dim = true;
    SegmentRows rows{table.table(segments, [](const SegmentAt&) { return Swatch(); }), {}};
    for (std::size_t i = 0; i < segments.size(); ++i)
        rows.table.rows[i].id = std::int64_t(segments[i].segment.address);
    const analysis::SegmentUse use = map.use();
    rows.summary = segments.empty()
                       ? QString()
                       : tr("%1, %2 reserved: %3 requested, %4 lost to rounding, %5 free in segments in "
                            "use, %6 in empty ones; largest free block %7")
                             .arg(counted(std::ssize(segments), "segment"), byteText(double(use.reserved())),
                                  byteText(double(use.requested)), byteText(double(use.rounding)),
                                  byteText(double(use.freeInUse)), byteText(double(use.freeSegments)),
                                  byteText(double(map.largestFree())));
    return rows;
}

} // namespace tilescope::ui
