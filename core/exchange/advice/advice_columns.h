#pragma once

#include "core/exchange/tables/column_of.h"
#include "core/query/advice/advice_table.h"

#include <cmath>

namespace tilescope::exchange {

/// The columns of findings.
struct AdviceColumns {
    using Row = query::Advice;
    using Of = ColumnOf<Row>;

    /// \param advice  of the rows; must outlive the columns
    explicit AdviceColumns(const query::AdviceTable& advice)
        : atStake(
              "at_stake_ns", "at stake",
              [&advice](const Row& row) { return Nanoseconds(std::llround(advice.perStep(row.atStake))); },
              {.keep = 2}),
          percent("percent", "share", [&advice](const Row& row) { return advice.percent(row.atStake); },
                  {.unit = Unit::Percent, .keep = 2})
    {
    }

    Of rule = Of("rule", "rule", [](const Row& row) { return wordOf(row.rule); }, {.keep = 2});
    Of atStake;
    Of percent;
    Of sentence =
        Of("sentence", "finding", [](const Row& row) { return cellOrNull(row.sentence); }, {.keep = 2});
    Of remedy = Of("remedy", "remedy", [](const Row& row) { return cellOrNull(row.remedy); });
};

} // namespace tilescope::exchange
