#pragma once

#include "core/exchange/tables/column_of.h"
#include "core/query/compare/compare_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tilescope::exchange {

/// The columns of every table that compares two runs: A, B and what B has more. They share a unit.
template <class Row> struct SideColumns {
    /// \param unit  end of the keys: _ns
    /// \param key   of the difference, without its unit
    template <class A, class B, class Change>
    SideColumns(const std::string& unit, const std::string& key, A ofA, B ofB, Change difference,
                Unit quantity)
        : a("a" + unit, "A", ofA, {.unit = quantity, .unitGroup = 1}),
          b("b" + unit, "B", ofB, {.unit = quantity, .unitGroup = 1}),
          change(key + unit, "B - A", difference,
                 {.unit = quantity, .keep = 2, .meaning = Meaning::Difference, .unitGroup = 1})
    {
    }

    ColumnOf<Row> a;
    ColumnOf<Row> b;
    ColumnOf<Row> change;
};

/// The ratio of two times, with its interval and the verdict.
struct TimeDifferenceColumns {
    using Row = analysis::TimeDifference;
    using Of = ColumnOf<Row>;

    Of ratio = Of("B / A", "B / A", [](const Row& row) { return fmt::format("{:.3f}", row.ratio); },
                  {.audience = Audience::People});
    Of interval = Of("95 % interval", "95 % interval",
                     [](const Row& row) {
                         return row.ratio95
                                    ? fmt::format("{:.3f} to {:.3f}", row.ratio95->low, row.ratio95->high)
                                    : std::string("-");
                     },
                     {.audience = Audience::People});
    Of verdict = Of("verdict", "verdict",
                    [](const Row& row) {
                        std::string words(wordOf(row.verdict));
                        std::ranges::replace(words, '-', ' ');
                        return words;
                    },
                    {.keep = 2, .audience = Audience::People, .meaning = Meaning::Verdict});
};

/// Kernels, ops, families or ranges of both sides.
struct GroupDifferenceColumns {
    using Row = query::ComparedGroup;
    using Of = ColumnOf<Row>;
    using Difference = analysis::GroupDifference;

    /// \param keyName  of the groups' names in JSON
    /// \param title    of the names: kernel, op, family, range
    GroupDifferenceColumns(const std::string& keyName, const std::string& title)
        : key(keyName, keyName, memberOf(&Row::difference, &Difference::key),
              {.audience = Audience::Programs}),
          name(title, title,
               [](const Row& row) { return row.shortName.empty() ? row.difference.key : row.shortName; },
               {.keep = 2, .audience = Audience::People, .elidable = true})
    {
    }

    Of key;
    Of name;
    Of shortName = Of("short_name", "", &Row::shortName, {.audience = Audience::Programs});
    Of family = Of("family", "family", &Row::family);
    SideColumns<Row> times{"_ns",
                           "difference",
                           memberOf(&Row::difference, &Difference::a),
                           memberOf(&Row::difference, &Difference::b),
                           &Row::change,
                           Unit::Nanoseconds};
    /// Half the interval of the difference.
    Of spread = Of("± 95 %", "± 95 %",
                   [](const Row& row) {
                       const auto& interval = row.difference.difference95;
                       return interval ? std::optional((interval->high - interval->low) / 2) : std::nullopt;
                   },
                   {.unit = Unit::Nanoseconds, .keep = 0, .audience = Audience::People, .unitGroup = 1});
    Of ratio = Of("ratio", "B / A", memberOf(&Row::difference, &Difference::ratio));
    Of instancesA = countColumn("instances_a", "count A", &Difference::instancesA);
    Of instancesB = countColumn("instances_b", "count B", &Difference::instancesB);
    Of p = Of("p", "", memberOf(&Row::difference, &Difference::p), {.audience = Audience::Programs});
    Of verdict = Of("verdict", "verdict", [](const Row& row) { return wordOf(row.difference.verdict); },
                    {.keep = 2, .meaning = Meaning::Verdict});

private:
    /// A number per step, which may be a mean; a whole one has no decimals.
    static Of countColumn(std::string key, std::string title, double Difference::*count)
    {
        Of column(std::move(key), std::move(title), memberOf(&Row::difference, count));
        column.value = [count](const Row& row) {
            const double number = row.difference.*count;
            constexpr double kExact = 1e15; // doubles up to here have all whole numbers
            return std::abs(number) < kExact && number == std::trunc(number)
                       ? Cell(static_cast<std::int64_t>(number))
                       : Cell(number);
        };
        return column;
    }
};

/// Times of the parts of a change.
inline SideColumns<query::ChangePart> partColumns()
{
    using Row = query::ChangePart;
    return {"_ns",
            "delta",
            &Row::a,
            &Row::b,
            [](const Row& row) { return Nanoseconds(row.delta); },
            Unit::Nanoseconds};
}

/// What the bytes of the blocks of both sides are: "allocated", or "allocated and requested".
inline std::string heldWords(const query::Comparison& comparison)
{
    const std::string_view a = comparison.a.run.traits().heldWord();
    const std::string_view b = comparison.b.run.traits().heldWord();
    return std::string(a) + (a == b ? "" : " and " + std::string(b));
}

/// Bytes of the peaks and of other moments.
struct MemoryDifferenceColumns : SideColumns<query::ComparedMemory> {
    using Row = query::ComparedMemory;
    using Of = ColumnOf<Row>;

    /// \param held  what the bytes of the peak are, as heldWords() returns it
    explicit MemoryDifferenceColumns(const std::string& held)
        : SideColumns(
              "", "difference", &Row::a, &Row::b,
              [](const Row& row) { return row.a && row.b ? std::optional(*row.b - *row.a) : std::nullopt; },
              Unit::Bytes),
          words("what", "what",
                [held](const Row& row) {
                    std::string text = row.what == "peak_allocated" ? "peak " + held : row.what;
                    std::ranges::replace(text, '_', ' ');
                    return text;
                },
                {.audience = Audience::People})
    {
    }

    Of what = Of("what", "", &Row::what, {.audience = Audience::Programs});
    Of words; ///< `peak requested` for peak_allocated of a snapshot
    Of ratio = Of("ratio", "B / A", [](const Row& row) {
        return row.a && row.b && row.a->count > 0
                   ? Cell(static_cast<double>(row.b->count) / static_cast<double>(row.a->count))
                   : Cell();
    });
};

} // namespace tilescope::exchange
