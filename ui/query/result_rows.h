#pragma once

#include "core/exchange/runs/sql_section.h"
#include "core/query/file_session.h"
#include "ui/kit/table_model.h"

#include <QStringList>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tilescope::ui {

/// A statement with its title in a menu. `%1` is the number of a run.
struct ExampleStatement {
    const char* title;
    const char* sql;
    const char* rows; ///< those that make it worth running: `kernels where run = %1`
};
const std::vector<ExampleStatement>& exampleStatements();
/// The statement of an example for a run.
QString statementOf(const ExampleStatement& example, std::int64_t run);
/// The first example whose rows the run has: kernels of a GPU, ops of a CPU, steps of an untraced run, the runs of a file
/// without any. Any thread.
QString firstStatement(
    const std::filesystem::path& file, std::int64_t run,
    const query::Cancelled& cancelled = [] { return false; });

/// The rows of a statement. A column whose values are all numbers or null is right-aligned.
TableData resultRows(const store::SqlResult& result);

/// The columns of a result whose values are numbers or null, and not all null.
std::vector<std::size_t> numberColumns(const store::SqlResult& result);

/// A column of a result against another, ready for a plot.
struct ResultSeries {
    std::vector<double> keys;   ///< of a text column: 0, 1, 2, …
    std::vector<double> values; ///< as many
    QStringList labels;         ///< of a text column, one per key; otherwise empty
    bool isCut = false;         ///< a text column has more rows than a plot can label
};
/// Rows without a number in either column are left out.
ResultSeries seriesOf(const store::SqlResult& result, std::size_t keys, std::size_t values);

} // namespace tilescope::ui
