#include "core/analysis/kernels/sequence_alignment.h"

#include <algorithm>

namespace tilescope::analysis {

namespace {

using Keys = std::span<const std::uint32_t>;

/// Aligns the beginnings of two sequences: to their ends, or as far as a given number of differences leads.
///
/// A path begins at (0, 0); a step to the right skips an element of a, a step down one of b, and a diagonal step
/// pairs equal elements. Diagonal k holds the points with x - y = k.
class Piece {
public:
    Piece(Keys a, Keys b, std::size_t mostDifferences)
        : a_(a), b_(b), n_(static_cast<std::int64_t>(a.size())), m_(static_cast<std::int64_t>(b.size()))
    {
        const auto most = static_cast<std::int64_t>(mostDifferences);
        for (std::int64_t d = 0; d <= most; ++d) {
            addRow(d);
            if (x_ == n_ && y_ == m_)
                return;
        }
    }

    std::size_t endOfA() const { return static_cast<std::size_t>(x_); }
    std::size_t endOfB() const { return static_cast<std::size_t>(y_); }

    /// \param offsetA, offsetB  positions of the piece in the sequences
    std::vector<AlignedPair> pairs(std::size_t offsetA, std::size_t offsetB) const
    {
        std::vector<AlignedPair> found;
        std::int64_t x = x_;
        std::int64_t y = y_;
        for (auto d = static_cast<std::int64_t>(rows_.size()) - 1; d >= 0; --d) {
            const std::int64_t entered = d == 0 ? 0 : entry(d, x - y);
            const std::int64_t diagonal = x - y;
            for (; x > entered; --x, --y)
                found.push_back({static_cast<std::uint32_t>(offsetA + static_cast<std::size_t>(x) - 1),
                                 static_cast<std::uint32_t>(offsetB + static_cast<std::size_t>(y) - 1)});
            if (d == 0)
                break;
            if (isDown(d, diagonal))
                --y;
            else
                --x;
        }
        std::ranges::reverse(found);
        return found;
    }

private:
    static constexpr std::int64_t kNone = -1; ///< no path reaches the diagonal

    /// The largest x on a diagonal that d - 1 differences reach.
    std::int64_t before(std::int64_t d, std::int64_t k) const
    {
        return k < 1 - d || k > d - 1
                   ? kNone
                   : rows_[static_cast<std::size_t>(d - 1)][static_cast<std::size_t>(k + d - 1)];
    }
    /// x after a step down from the diagonal above; kNone if no path reaches that diagonal.
    std::int64_t down(std::int64_t d, std::int64_t k) const
    {
        const std::int64_t x = before(d, k + 1);
        return x == kNone || x - k > m_ ? kNone : x;
    }
    std::int64_t right(std::int64_t d, std::int64_t k) const
    {
        const std::int64_t x = before(d, k - 1);
        return x == kNone || x + 1 > n_ ? kNone : x + 1;
    }
    bool isDown(std::int64_t d, std::int64_t k) const { return down(d, k) >= right(d, k); }
    /// x at which the path of d differences enters a diagonal.
    std::int64_t entry(std::int64_t d, std::int64_t k) const { return std::max(down(d, k), right(d, k)); }

    void addRow(std::int64_t d)
    {
        std::vector<std::int64_t> row(static_cast<std::size_t>(2 * d + 1), kNone);
        std::int64_t furthest = kNone;
        for (std::int64_t k = -d; k <= d; k += 2) {
            std::int64_t x = d == 0 ? 0 : entry(d, k);
            if (x == kNone)
                continue;
            while (x < n_ && x - k < m_ &&
                   a_[static_cast<std::size_t>(x)] == b_[static_cast<std::size_t>(x - k)])
                ++x;
            row[static_cast<std::size_t>(k + d)] = x;
            if (2 * x - k > furthest) {
                furthest = 2 * x - k;
                x_ = x;
                y_ = x - k;
            }
        }
        rows_.push_back(std::move(row));
    }

    Keys a_;
    Keys b_;
    std::int64_t n_;
    std::int64_t m_;
    std::int64_t x_ = 0; ///< where the path ends
    std::int64_t y_ = 0;
    std::vector<std::vector<std::int64_t>> rows_; ///< by differences: the largest x on each diagonal
};

} // namespace

std::vector<AlignedPair> alignSequences(Keys a, Keys b, std::size_t mostDifferences)
{
    std::vector<AlignedPair> pairs;
    std::size_t x = 0;
    std::size_t y = 0;
    while (x < a.size() && y < b.size()) {
        const Piece piece(a.subspan(x), b.subspan(y), std::max<std::size_t>(mostDifferences, 1));
        const std::vector<AlignedPair> found = piece.pairs(x, y);
        pairs.insert(pairs.end(), found.begin(), found.end());
        x += piece.endOfA();
        y += piece.endOfB();
    }
    return pairs;
}

} // namespace tilescope::analysis
