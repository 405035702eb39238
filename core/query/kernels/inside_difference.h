#pragma once

#include "core/query/kernels/inside_table.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// A line, function, instruction or state of a kernel in two runs. Members without a value do not apply, or the side lacks the row.
struct InsideDifferenceRow {
    std::string kernel = {}; ///< in full, in B if it has the row
    std::string name = {};   ///< of the kernel, short
    SourceLine lineA = {};
    SourceLine lineB = {};
    SourceLine callerB = {}; ///< InsideRow::caller in B
    std::string text = {};   ///< of the line, if the recordings hold it
    std::string function = {};
    std::string instruction = {};              ///< in B if it has the row
    std::optional<std::uint64_t> offsetA = {}; ///< of the instruction
    std::optional<std::uint64_t> offsetB = {};
    std::string reason = {};
    std::optional<double> shareA = {}; ///< of the kernel's samples
    std::optional<double> shareB = {};
    std::optional<double> timeA = {}; ///< ns: this share of the kernel's mean time
    std::optional<double> timeB = {};

    /// B - A in ns; a side that lacks the row counts as 0. None if a kernel's time is unknown.
    std::optional<double> delta() const;
    /// B - A in percentage points.
    double points() const { return 100 * (shareB.value_or(0) - shareA.value_or(0)); }
};

/// The rows of each kernel add up to the difference of its mean times.
struct InsideDifference {
    store::RunRecord runA = {};
    store::RunRecord runB = {};
    InsideGroup group = InsideGroup::Line;
    std::vector<InsideDifferenceRow> rows = {}; ///< the largest change first
    bool isSampledA = false;
    bool isSampledB = false;
};

/// The kernels of a run by what pairs them with those of another: their full names where both runs have them, as several
/// instances of a template may have one short name; the others their short names.
std::map<std::string, std::string> pairingNames(const InsideTable& own, const InsideTable& other);

/// What changed inside the kernels that two runs have in common (pairingNames()). Lines are paired by their text if
/// it is known of both (kernelSources()), otherwise by file name and number; instructions by their shapes, in the order of the
/// code (pairedInstructions()), or by their offsets where one side is not disassembled.
/// \param queryB  its group applies to both sides; kernel: as line
/// \throws Error  as inside()
InsideDifference insideDifference(const store::RunReader& readerA, const InsideQuery& queryA,
                                  const store::RunReader& readerB, const InsideQuery& queryB);

} // namespace tilescope::query
