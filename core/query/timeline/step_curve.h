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

/// A quantity that changes at instants and is constant in between (allocated bytes), with a pyramid of
/// extremes: each level stores minimum and maximum of kFanout entries of the level below, so that the
/// extremes of any interval take O(kFanout * levels). Ten bytes per change: times and values are stored as
/// offsets from one base per kFanout changes. Immutable once built; any thread.
class StepCurve {
public:
    static constexpr std::size_t kFanout = 16;

    StepCurve() = default;
    /// \pre times ascend (equal ones keep their order), as many as values
    StepCurve(std::vector<std::int64_t> times, std::vector<std::int64_t> values);
    /// Omits changes that keep the value.
    /// \pre  as above
    static StepCurve ofChanges(std::span<const std::int64_t> times, std::span<const std::int64_t> values);

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::int64_t time(std::size_t i) const { return begins_[i / kFanout] + later_[i]; }
    std::int64_t value(std::size_t i) const { return levels_.front()[i / kFanout].low + above_[i]; }

    /// The value at `time`: that of the last change at or before it, or the first value.
    /// \pre  not empty
    std::int64_t at(std::int64_t time) const;

    /// From when until when the value at `time` holds.
    /// \param end  of the last value
    /// \pre  not empty
    std::pair<std::int64_t, std::int64_t> stepAt(std::int64_t time, std::int64_t end) const;

    /// Minimum and maximum within [from, to], including the value at `from`.
    /// \pre  not empty
    std::pair<std::int64_t, std::int64_t> extremes(std::int64_t from, std::int64_t to) const;

    /// The first time within [from, to] at which the curve is at its maximum in that interval.
    /// \pre  not empty
    std::int64_t highest(std::int64_t from, std::int64_t to) const;

    /// Fills one CurveColumn for each interval of `perColumn` nanoseconds, starting at `from`.
    /// \pre  not empty
    void columns(double from, double perColumn, std::span<CurveColumn> out) const;

    /// Index of the first maximum.
    /// \pre  not empty
    std::size_t peak() const;

    /// Memory used, in bytes.
    std::size_t memory() const;

private:
    struct Extremes {
        std::int64_t low;
        std::int64_t high;
    };
    /// Offsets, in four bytes each if that is sufficient for all.
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
    Offsets later_;                             // offsets from begins_
    Offsets above_;                             // offsets from the minimum of their kFanout values
    std::vector<std::vector<Extremes>> levels_; // levels_[l][i]: entries i * kFanout^(l+1) and on
};

/// Builds a StepCurve; skips changes that keep the value.
class StepCurveDrawing {
public:
    /// \pre  time >= the previous one
    void add(std::int64_t time, std::int64_t value)
    {
        if (!values_.empty() && values_.back() == value)
            return;
        times_.push_back(time);
        values_.push_back(value);
    }
    bool empty() const { return times_.empty(); }
    std::size_t changes() const { return times_.size(); }
    /// Returns the curve and resets the builder.
    StepCurve curve() { return empty() ? StepCurve() : StepCurve(std::move(times_), std::move(values_)); }

private:
    std::vector<std::int64_t> times_;
    std::vector<std::int64_t> values_;
};

} // namespace tilescope::query
