#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tilescope::query {

/// The extremes of a curve within one pixel column.
struct CurveColumn {
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::int64_t last = 0; ///< value at the column's right edge
};

/// A quantity that changes at instants and holds in between (bytes allocated), with a pyramid of extremes
/// above it: each level keeps the minimum and maximum of kFanout entries of the level below, so the extremes
/// of any stretch take O(kFanout * levels). Ten bytes a change: of each kFanout one time is told in full, of
/// the others how much later they are, of values how much above the least. Immutable once built; any thread.
class StepCurve {
public:
    static constexpr std::size_t kFanout = 16;

    StepCurve() = default;
    /// \pre times ascend (equal ones keep their order), as many as values
    StepCurve(std::vector<std::int64_t> times, std::vector<std::int64_t> values);
    /// Without the times at which the value stays what it was.
    /// \pre  as above
    static StepCurve ofChanges(std::span<const std::int64_t> times, std::span<const std::int64_t> values);

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::int64_t time(std::size_t i) const { return begins_[i / kFanout] + later_[i]; }
    std::int64_t value(std::size_t i) const { return levels_.front()[i / kFanout].low + above_[i]; }

    /// Value at `time`: that of the last change at or before it, the first one before any.
    /// \pre  not empty
    std::int64_t at(std::int64_t time) const;

    /// Least and greatest value that the curve has within [from, to], what it carries in included.
    /// \pre  not empty
    std::pair<std::int64_t, std::int64_t> extremes(std::int64_t from, std::int64_t to) const;

    /// When within [from, to] the curve is first at its greatest; `from` where it comes in so.
    /// \pre  not empty
    std::int64_t highest(std::int64_t from, std::int64_t to) const;

    /// One CurveColumn for each stretch of `perColumn` nanoseconds from `from` on.
    /// \pre  not empty
    void columns(double from, double perColumn, std::span<CurveColumn> out) const;

    /// Index of the greatest value, the earliest of equals.
    /// \pre  not empty
    std::size_t peak() const;

    /// Bytes it occupies.
    std::size_t memory() const;

private:
    struct Extremes {
        std::int64_t low;
        std::int64_t high;
    };
    /// Differences, in four bytes each where that is enough for all of them.
    class Offsets {
    public:
        void assign(std::vector<std::int64_t> wide);
        std::int64_t operator[](std::size_t i) const { return wide_.empty() ? narrow_[i] : wide_[i]; }
        std::size_t memory() const
        {
            return narrow_.size() * sizeof(narrow_[0]) + wide_.size() * sizeof(wide_[0]);
        }

    private:
        std::vector<std::uint32_t> narrow_;
        std::vector<std::int64_t> wide_;
    };
    Extremes among(std::size_t first, std::size_t last) const;
    template <class Time> std::size_t firstAfter(Time time, std::size_t hint = 0) const;

    std::size_t size_ = 0;
    std::vector<std::int64_t> begins_;          // time of each kFanout-th change
    Offsets later_;                             // than that
    Offsets above_;                             // the least value among its kFanout
    std::vector<std::vector<Extremes>> levels_; // levels_[l][i]: entries i * kFanout^(l+1) and on
};

/// A StepCurve while it is being drawn: a change wherever the value is another.
class StepCurveDrawing {
public:
    /// \pre time is not before the last one
    void add(std::int64_t time, std::int64_t value)
    {
        if (!values_.empty() && values_.back() == value)
            return;
        times_.push_back(time);
        values_.push_back(value);
    }
    bool empty() const { return times_.empty(); }
    std::size_t changes() const { return times_.size(); }
    /// What was drawn; nothing stays here.
    StepCurve curve() { return empty() ? StepCurve() : StepCurve(std::move(times_), std::move(values_)); }

private:
    std::vector<std::int64_t> times_;
    std::vector<std::int64_t> values_;
};

} // namespace tilescope::query
