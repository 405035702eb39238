#include "core/query/kernels/inside_difference.h"

#include "core/base/error.h"
#include "core/query/kernels/kernel_launches.h"
#include "core/query/kernels/kernel_sources.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace tilescope::query {

namespace {

/// The lines of source files that are known: from the recording, or from this machine.
class SourceTexts {
public:
    SourceTexts(const store::RunReader& reader, RunId run)
    {
        for (auto& [name, source] : kernelSources(reader, run))
            if (!source.lines.empty())
                files_.emplace(name, std::move(source));
    }
    bool isEmpty() const { return files_.empty(); }
    std::string of(const SourceLine& line) const
    {
        const auto file = files_.find(line.file);
        return file == files_.end() ? std::string() : trimmed(file->second.line(line.line));
    }

private:
    static std::string trimmed(const std::string& text)
    {
        const std::size_t begin = text.find_first_not_of(" \t\r");
        const std::size_t end = text.find_last_not_of(" \t\r");
        return begin == std::string::npos ? std::string() : text.substr(begin, end - begin + 1);
    }

    std::map<std::string, KernelSourceFile> files_;
};

/// One of the two runs.
struct Side {
    Side(const store::RunReader& reader, const InsideQuery& query)
        : table(inside(reader, query)), texts(reader, table.run.run)
    {
        std::map<std::string, std::string> names; // short ones, by name
        for (const InsideRow& row : table.rows) {
            names[row.kernel] = row.name;
            samples[row.name] += row.samples;
        }
        if (names.empty())
            return;
        std::map<std::string, std::pair<double, double>> sums;
        for (const auto& [name, launches] :
             kernelLaunches(reader, table.run.run, query.topology, [] { return false; }))
            if (const auto found = names.find(name); found != names.end()) {
                auto& [time, count] = sums[found->second];
                time += static_cast<double>(launches.time.count());
                count += static_cast<double>(launches.count);
            }
        for (const auto& [name, sum] : sums)
            means[name] = sum.first / sum.second;
    }

    InsideTable table;
    SourceTexts texts;
    std::map<std::string, std::int64_t> samples; ///< by short name of the kernel
    std::map<std::string, double> means;         ///< ns a launch
};

std::string nameOf(const std::string& file)
{
    return file.substr(file.rfind('/') + 1);
}

/// Kernel, file, text or number of the line, its place in the kernel, function, reason.
using Pairing = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;

Pairing pairingOf(const InsideRow& row, const SourceTexts& texts, bool byText)
{
    const auto lineKey = [&](const SourceLine& line) {
        const std::string text = byText ? texts.of(line) : std::string();
        return !text.empty() ? text : line.line > 0 ? std::to_string(line.line) : std::string();
    };
    return {row.name,  nameOf(row.line.file), lineKey(row.line), lineKey(row.caller), row.function,
            row.reason};
}

} // namespace

std::optional<double> InsideDifferenceRow::delta() const
{
    if ((shareA && !timeA) || (shareB && !timeB))
        return std::nullopt;
    return timeB.value_or(0) - timeA.value_or(0);
}

InsideDifference insideDifference(const store::RunReader& readerA, const InsideQuery& queryA,
                                  const store::RunReader& readerB, const InsideQuery& queryB)
{
    InsideQuery ofA = queryA;
    InsideQuery ofB = queryB;
    if (ofB.group == InsideGroup::Kernel)
        ofB.group = InsideGroup::Line;
    if (ofB.group == InsideGroup::Instruction)
        throw Error{.what = "instructions of two recordings are not compared",
                    .where = "--group",
                    .remedy = "allowed with --against: line, function, reason"};
    ofA.group = ofB.group;
    const Side a(readerA, ofA);
    const Side b(readerB, ofB);
    InsideDifference all{.runA = a.table.run,
                         .runB = b.table.run,
                         .group = ofB.group,
                         .isSampledA = a.table.isSampled,
                         .isSampledB = b.table.isSampled};
    const bool byText = !a.texts.isEmpty() && !b.texts.isEmpty();
    std::map<Pairing, InsideDifferenceRow> rows;
    const auto add = [&](const Side& side, auto share, auto time, auto line) {
        for (const InsideRow& row : side.table.rows) {
            if (!a.samples.contains(row.name) || !b.samples.contains(row.name))
                continue;
            InsideDifferenceRow& pair = rows[pairingOf(row, side.texts, byText)];
            pair.kernel = row.kernel;
            pair.name = row.name;
            pair.function = row.function;
            pair.reason = row.reason;
            pair.*line = row.line;
            if (&side == &b)
                pair.callerB = row.caller;
            if (std::string text = side.texts.of(row.line); !text.empty())
                pair.text = std::move(text);
            const double part =
                static_cast<double>(row.samples) / static_cast<double>(side.samples.at(row.name));
            pair.*share = (pair.*share).value_or(0) + part;
            if (const auto mean = side.means.find(row.name); mean != side.means.end())
                pair.*time = (pair.*time).value_or(0) + part * mean->second;
        }
    };
    add(a, &InsideDifferenceRow::shareA, &InsideDifferenceRow::timeA, &InsideDifferenceRow::lineA);
    add(b, &InsideDifferenceRow::shareB, &InsideDifferenceRow::timeB, &InsideDifferenceRow::lineB);
    for (auto& [pairing, row] : rows)
        all.rows.push_back(std::move(row));
    std::ranges::stable_sort(all.rows, std::greater{}, [](const InsideDifferenceRow& row) {
        return std::pair(std::abs(row.delta().value_or(0)), std::abs(row.points()));
    });
    return all;
}

} // namespace tilescope::query
