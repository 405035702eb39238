// What is drawn of a layout at a zoom: boxes that can be seen one by one, and rows of pixels in which smaller
// ones are merged.

#include "core/query/memory_layout.h"

#include <algorithm>
#include <cmath>

namespace tilescope::query {

namespace {

constexpr double kSeen = 2; ///< pixels that a box has at least, either way, to be drawn by itself
constexpr float kSteps = 8; ///< shares are told apart in such steps

/// Part of a box in one row of pixels.
struct Sliver {
    float left = 0;
    float right = 0;
    float height = 0; ///< of the row, 0 to 1
    int row = 0;
    std::uint8_t group = 0;
};

/// How much of each pixel of a row each group covers, as sums and as differences of sums.
class Row {
public:
    Row(int width, std::size_t groups)
        : width_(width), groups_(groups), points_(stride() * groups, 0), steps_(stride() * groups, 0),
          isUsed_(groups, false)
    {
    }

    void add(const Sliver& sliver)
    {
        isUsed_[sliver.group] = true;
        float* points = points_.data() + stride() * sliver.group;
        float* steps = steps_.data() + stride() * sliver.group;
        const int first = std::clamp(static_cast<int>(sliver.left), 0, width_ - 1);
        const int last = std::clamp(static_cast<int>(sliver.right), 0, width_);
        if (first == last) {
            points[first] += sliver.height * (sliver.right - sliver.left);
        } else {
            points[first] += sliver.height * (static_cast<float>(first + 1) - sliver.left);
            points[last] += sliver.height * (sliver.right - static_cast<float>(last));
            steps[first + 1] += sliver.height;
            steps[last] -= sliver.height;
        }
        from_ = std::min(from_, first);
        to_ = std::max(to_, std::min(width_, last + 1));
    }

    /// Appends what the row shows, and empties it.
    void finish(int row, std::vector<MergedMemory>& out)
    {
        std::vector<std::size_t> used;
        for (std::size_t group = 0; group < groups_; ++group)
            if (isUsed_[group])
                used.push_back(group);
        std::vector<float> sums(used.size(), 0);
        std::size_t begun = out.size();
        int level = 0;
        for (int x = from_; x < to_; ++x) {
            float all = 0;
            float most = 0;
            std::size_t group = 0;
            for (std::size_t i = 0; i < used.size(); ++i) {
                const std::size_t at = stride() * used[i] + static_cast<std::size_t>(x);
                sums[i] += steps_[at];
                const float here = sums[i] + points_[at];
                all += here;
                if (here > most) {
                    most = here;
                    group = used[i];
                }
            }
            if (all < kNothing)
                continue;
            const int wanted = static_cast<int>(std::ceil(std::min(all, 1.0F) * kSteps));
            MergedMemory* run = out.size() > begun ? &out.back() : nullptr;
            if (run != nullptr && run->to == x && run->group == group && level == wanted) {
                const auto length = static_cast<float>(run->to - run->from);
                run->share = (run->share * length + all) / (length + 1);
                ++run->to;
            } else {
                out.push_back({row, x, x + 1, static_cast<std::uint8_t>(group), all});
                level = wanted;
            }
        }
        for (const std::size_t group : used) {
            const auto clear = [&](std::vector<float>& values) {
                const auto begin = values.begin() + static_cast<std::ptrdiff_t>(stride() * group);
                std::fill(begin + from_, begin + std::min(to_ + 1, width_ + 1), 0.0F);
            };
            clear(points_);
            clear(steps_);
            isUsed_[group] = false;
        }
        from_ = width_;
        to_ = 0;
    }

private:
    static constexpr float kNothing = 1e-6F; ///< what sums of differences leave behind
    std::size_t stride() const { return static_cast<std::size_t>(width_) + 1; }

    int width_;
    std::size_t groups_;
    std::vector<float> points_;
    std::vector<float> steps_;
    std::vector<bool> isUsed_;
    int from_ = width_;
    int to_ = 0;
};

/// Cuts a box into its rows of pixels.
void cut(const DrawnMemory& box, int rows, std::vector<Sliver>& slivers)
{
    const int first = std::clamp(static_cast<int>(box.top), 0, rows - 1);
    const int last = std::clamp(static_cast<int>(std::ceil(box.bottom)) - 1, first, rows - 1);
    for (int row = first; row <= last; ++row) {
        const double height =
            std::min(box.bottom, static_cast<double>(row + 1)) - std::max(box.top, static_cast<double>(row));
        if (height > 0)
            slivers.push_back({static_cast<float>(box.left), static_cast<float>(box.right),
                               static_cast<float>(height), row, box.group});
    }
}

} // namespace

MemoryDrawing drawMemory(const MemoryLayout& layout, std::span<const std::uint8_t> groupOf,
                         const MemoryFrame& frame)
{
    MemoryDrawing drawing;
    std::vector<Sliver> slivers;
    std::size_t groups = 1;
    layout.eachWithin(frame.from, frame.to, [&](std::size_t i) {
        const MemoryBox& box = layout.boxes[i];
        const auto low = static_cast<double>(box.low);
        const auto high = static_cast<double>(box.high);
        if (high <= frame.low || low >= frame.high)
            return;
        const DrawnMemory drawn{std::max(0.0, frame.x(static_cast<double>(box.from))),
                                std::min<double>(frame.width, frame.x(static_cast<double>(box.to))),
                                std::max(0.0, frame.y(high)),
                                std::min<double>(frame.height, frame.y(low)),
                                static_cast<std::uint32_t>(i),
                                groupOf[box.block]};
        groups = std::max<std::size_t>(groups, drawn.group + std::size_t{1});
        // By its own size, not by what the frame's edges leave of it.
        const double width = frame.x(static_cast<double>(box.to)) - frame.x(static_cast<double>(box.from));
        const double height = frame.y(low) - frame.y(high);
        if (width >= kSeen && height >= kSeen)
            drawing.boxes.push_back(drawn);
        else
            cut(drawn, frame.height, slivers);
    });
    // Rows in order, each sliver once: a counting sort.
    std::vector<std::uint32_t> begins(static_cast<std::size_t>(frame.height) + 1, 0);
    for (const Sliver& sliver : slivers)
        ++begins[static_cast<std::size_t>(sliver.row) + 1];
    for (std::size_t row = 1; row < begins.size(); ++row)
        begins[row] += begins[row - 1];
    std::vector<std::uint32_t> order(slivers.size());
    std::vector<std::uint32_t> next(begins.begin(), begins.end());
    for (std::uint32_t i = 0; i < slivers.size(); ++i)
        order[next[static_cast<std::size_t>(slivers[i].row)]++] = i;
    Row row(frame.width, groups);
    for (int y = 0; y < frame.height; ++y) {
        const std::uint32_t begin = begins[static_cast<std::size_t>(y)];
        const std::uint32_t end = begins[static_cast<std::size_t>(y) + 1];
        if (begin == end)
            continue;
        for (std::uint32_t i = begin; i < end; ++i)
            row.add(slivers[order[i]]);
        row.finish(y, drawing.merged);
    }
    return drawing;
}

} // namespace tilescope::query
