#pragma once

#include "core/query/kernels/kernel_stats.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/kernels/op_tables.h"
#include "ui/kernels/instances.h"
#include "ui/kit/table_model.h"

namespace tilescope::ui {

/// The places of some columns of a kernel table.
enum class KernelColumn { Family = 1, Instances = 2, Total = 3, Share = 5 };

/// A kernel, an op or a group of them, for the table, the roofline and the histogram.
struct KernelLine : query::KernelRow {
    QString name = {};      ///< full; of a group its key
    QString label = {};     ///< short
    bool hasFamily = false; ///< false if the lines are families or ranges
    Swatch swatch = {};
    std::optional<Nanoseconds> other = {}; ///< total in the run beside it; none: it does not have the name

    void takeWork(const query::RooflineRow& row);
};

std::vector<KernelLine> linesOf(const query::KernelsTable& table);
/// Ops by their own time, for runs without a GPU.
/// \param work    by op, if there is any
/// \param spread  of the ops to list, if it is known: of the steps in question
std::vector<KernelLine> linesOf(const query::OpsTable& ops, const query::RooflineTable* work,
                                const OpSpread* spread);

/// Ops by their arguments. Their deviation and range are not known.
std::vector<KernelLine> linesOf(const query::RooflineTable& byShape);

/// Ops summed by family. The deviations of families are not known.
std::vector<KernelLine> byFamily(const std::vector<KernelLine>& lines);

/// Adds the totals of the same names in another run, and lines without time for the names that only it has.
void addOther(std::vector<KernelLine>& lines, const std::vector<KernelLine>& others);

/// The titles of the columns, and why some columns are empty.
struct KernelTitles {
    QString first;                ///< Kernel, Op, Family, Range, …
    QString noWork;               ///< why rates are missing; empty if they are not
    QString noTensor;             ///< why the last column is empty
    bool onHost = false;          ///< the lines are ops: the last column is left out
    QString letter = {};          ///< of the run
    QString other = {};           ///< letter of the run beside it; empty: there is none
    QString whyNoDifference = {}; ///< why there is no difference; empty if the totals can be compared
};

/// A row a line, its id the line's index.
TableData kernelRows(const std::vector<KernelLine>& lines, const KernelTitles& titles);

/// The short list of families: name, total, bar. The id is that of the hue.
/// \param onHost  the families are those of ops, whose totals are self times
TableData familyRows(const std::vector<query::KernelRow>& families, bool onHost);

/// Ranges to which a table can be limited: those with kernels and all above them, outer ones first, then by
/// name; at most `most`.
QStringList rangeChoices(const std::vector<std::string>& paths, int most);

} // namespace tilescope::ui
