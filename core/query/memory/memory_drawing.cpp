// What is drawn of a layout at a zoom: boxes that can be seen one by one, and rows of pixels in which smaller
// ones are merged.

#include "core/query/memory/memory_drawing.h"

#include <algorithm>
#include <cmath>

namespace tilescope::query {

namespace {

constexpr double kSeen = 2; ///< least width and height in pixels of a box that is drawn individually

/// A box that is merged, in pixels.
struct Merged {
    float left;
    float width;
    float top;
    float height;
    std::uint8_t group;
};

} // namespace

struct MemoryDrawer::State {
    MemoryDrawing drawing;
    std::vector<Merged> merged;
    std::vector<Sliver> slivers; // by row, from begins[row] to before begins[row + 1]
    std::vector<Sliver> staying; // slivers that continue in the next row
    std::vector<std::uint32_t> begins, stayingBegins;
    CoverageRow sums;
    std::size_t groups = 1;

    void start()
    {
        drawing.merged.clear();
        drawing.boxes.clear();
        merged.clear();
        groups = 1;
    }
    template <class Each>
    void sort(const MemoryLayout& layout, std::span<const std::uint8_t> groupOf, const MemoryFrame& frame,
              double seen, Each each);
    void cut(int rows);
    void addRuns(const MemoryLevel& level, const MemoryFrame& frame, int row);
    void finish(const MemoryFrame& frame, const MemoryLevel* level);
};

/// Separates large boxes, which are drawn, from small boxes, which are merged.
template <class Each>
void MemoryDrawer::State::sort(const MemoryLayout& layout, std::span<const std::uint8_t> groupOf,
                               const MemoryFrame& frame, double seen, Each each)
{
    const double perTime = 1 / frame.timeOfColumn();
    const double perByte = 1 / frame.bytesOfRow();
    each([&](std::size_t i) {
        const MemoryBox& box = layout.boxes[i];
        const auto low = static_cast<double>(box.low);
        const auto high = static_cast<double>(box.high);
        if (high <= frame.low || low >= frame.high)
            return;
        const double from = (static_cast<double>(box.from) - frame.from) * perTime;
        const double to = (static_cast<double>(box.to) - frame.from) * perTime;
        const double above = (frame.high - high) * perByte;
        const double below = (frame.high - low) * perByte;
        const double left = std::max(0.0, from);
        const double right = std::min<double>(frame.width, to);
        const double top = std::max(0.0, above);
        const double bottom = std::min<double>(frame.height, below);
        const std::uint8_t group = groupOf[box.block];
        // The full size of the box decides, not its part within the frame.
        if (to - from >= seen && below - above >= seen) {
            drawing.boxes.push_back({left, right, top, bottom, static_cast<std::uint32_t>(i), group});
            return;
        }
        groups = std::max<std::size_t>(groups, group + std::size_t{1});
        merged.push_back({static_cast<float>(left), static_cast<float>(right - left), static_cast<float>(top),
                          static_cast<float>(bottom - top), group});
    });
}

/// Cuts merged blocks into rows of pixels. A tall block becomes one piece, not one for each row that it fills.
void MemoryDrawer::State::cut(int rows)
{
    // Adds each sliver to its row: counted first, then placed.
    const auto eachSliver = [&](auto part, auto stay) {
        for (const Merged& box : merged) {
            const float bottom = box.top + box.height;
            const int first = std::clamp(static_cast<int>(box.top), 0, rows - 1);
            const int last = std::clamp(static_cast<int>(std::ceil(bottom)) - 1, first, rows - 1);
            if (first == last) {
                part(first, box, box.height);
                continue;
            }
            part(first, box, static_cast<float>(first + 1) - box.top);
            part(last, box, bottom - static_cast<float>(last));
            if (last > first + 1)
                stay(first + 1, last, box);
        }
    };
    begins.assign(static_cast<std::size_t>(rows) + 2, 0);
    stayingBegins.assign(static_cast<std::size_t>(rows) + 2, 0);
    eachSliver([&](int row, const Merged&, float) { ++begins[static_cast<std::size_t>(row) + 2]; },
               [&](int from, int to, const Merged&) {
                   ++stayingBegins[static_cast<std::size_t>(from) + 2];
                   ++stayingBegins[static_cast<std::size_t>(to) + 2];
               });
    for (std::size_t row = 2; row < begins.size(); ++row) {
        begins[row] += begins[row - 1];
        stayingBegins[row] += stayingBegins[row - 1];
    }
    slivers.resize(begins.back());
    staying.resize(stayingBegins.back());
    eachSliver(
        [&](int row, const Merged& box, float height) {
            slivers[begins[static_cast<std::size_t>(row) + 1]++] = {box.left, box.width, height, box.group};
        },
        [&](int from, int to, const Merged& box) {
            staying[stayingBegins[static_cast<std::size_t>(from) + 1]++] = {box.left, box.width, 1,
                                                                            box.group};
            staying[stayingBegins[static_cast<std::size_t>(to) + 1]++] = {box.left, box.width, -1, box.group};
        });
}

/// The bytes of each row of a level within a row of pixels.
void MemoryDrawer::State::addRuns(const MemoryLevel& level, const MemoryFrame& frame, int pixel)
{
    const double rowsOfPixel = frame.bytesOfRow() / level.frame.bytesOfRow();
    const double top = (level.frame.high - frame.high) / level.frame.bytesOfRow() + pixel * rowsOfPixel;
    const double bottom = std::min<double>(level.frame.height, top + rowsOfPixel);
    const double pixelsOfColumn = level.frame.timeOfColumn() / frame.timeOfColumn();
    const double left = (level.frame.from - frame.from) / frame.timeOfColumn();
    const double first = std::max(0.0, -left / pixelsOfColumn); // column of the level at the left edge
    for (int row = std::max(0, static_cast<int>(top)); row < bottom; ++row) {
        const double within = std::min(bottom, row + 1.0) - std::max(top, static_cast<double>(row));
        const auto height = static_cast<float>(within / rowsOfPixel);
        const auto end = level.runs.begin() + level.begins[static_cast<std::size_t>(row) + 1];
        auto run = std::ranges::lower_bound(
            level.runs.begin() + level.begins[static_cast<std::size_t>(row)], end, first, {},
            [](const MemoryLevel::Run& each) { return static_cast<double>(each.to); });
        for (; run != end; ++run) {
            const double from = std::max(0.0, left + run->from * pixelsOfColumn);
            if (from >= frame.width)
                break;
            const double to = std::min<double>(frame.width, left + run->to * pixelsOfColumn);
            if (to > from)
                sums.add({static_cast<float>(from), static_cast<float>(to - from), height * run->share,
                          run->group});
        }
    }
}

void MemoryDrawer::State::finish(const MemoryFrame& frame, const MemoryLevel* level)
{
    cut(frame.height);
    sums.start(frame.width, groups);
    for (int y = 0; y < frame.height; ++y) {
        const auto at = static_cast<std::size_t>(y);
        for (std::uint32_t i = stayingBegins[at]; i < stayingBegins[at + 1]; ++i)
            sums.addStaying(staying[i]);
        for (std::uint32_t i = begins[at]; i < begins[at + 1]; ++i)
            sums.add(slivers[i]);
        if (level != nullptr)
            addRuns(*level, frame, y);
        if (!sums.empty())
            sums.finish(y, drawing.merged);
    }
}

MemoryDrawer::MemoryDrawer() : state_(std::make_unique<State>()) {}
MemoryDrawer::~MemoryDrawer() = default;

const MemoryDrawing& MemoryDrawer::drawMerged(const MemoryLayout& layout,
                                              std::span<const std::uint8_t> groupOf, const MemoryFrame& frame,
                                              double pixels)
{
    state_->start();
    state_->sort(layout, groupOf, frame, pixels,
                 [&](auto take) { layout.eachWithin(frame.from, frame.to, take); });
    state_->finish(frame, nullptr);
    return state_->drawing;
}

const MemoryDrawing& MemoryDrawer::draw(const MemoryLayout& layout, std::span<const std::uint8_t> groupOf,
                                        const MemoryFrame& frame, const MemoryLevels* levels)
{
    const MemoryLevel* level = nullptr;
    if (levels != nullptr)
        for (const MemoryLevel& each : levels->levels)
            if (level == nullptr && each.serves(frame))
                level = &each;
    if (level == nullptr)
        return drawMerged(layout, groupOf, frame, kSeen);
    state_->start();
    state_->groups = level->groups;
    state_->sort(layout, groupOf, frame, kSeen, [&](auto take) {
        for (const std::uint32_t box : level->large) {
            if (static_cast<double>(layout.boxes[box].from) >= frame.to)
                break;
            if (static_cast<double>(layout.boxes[box].to) > frame.from)
                take(box);
        }
    });
    state_->finish(frame, level);
    return state_->drawing;
}

} // namespace tilescope::query
