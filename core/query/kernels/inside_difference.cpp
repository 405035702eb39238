#include "core/query/kernels/inside_difference.h"

#include "core/query/kernels/instruction_pairs.h"
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
    }

    /// Adds up the samples and times of what is paired with the other run.
    void sumUp(const store::RunReader& reader, const ProcessQuery& topology, const InsideTable& other)
    {
        names = pairingNames(table, other);
        for (const InsideRow& row : table.rows)
            samples[names.at(row.kernel)] += row.samples;
        if (names.empty())
            return;
        std::map<std::string, std::pair<double, double>> sums;
        for (const auto& [name, launches] :
             kernelLaunches(reader, table.run.run, topology, [] { return false; }))
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
    std::map<std::string, std::string> names;    ///< pairingNames()
    std::map<std::string, std::int64_t> samples; ///< by those
    std::map<std::string, double> means;         ///< ns a launch, by those
};

std::string nameOf(const std::string& file)
{
    return file.substr(file.rfind('/') + 1);
}

/// The instructions of a kernel, in the order of the code.
std::vector<const InsideRow*> instructionsOf(const Side& side, const std::string& name)
{
    std::vector<const InsideRow*> rows;
    for (const InsideRow& row : side.table.rows)
        if (side.names.at(row.kernel) == name)
            rows.push_back(&row);
    std::ranges::stable_sort(rows, {}, [](const InsideRow* row) { return row->offset.value_or(0); });
    return rows;
}

void addInstructions(const Side& a, const Side& b, const std::string& name,
                     std::vector<InsideDifferenceRow>& all)
{
    const std::vector<const InsideRow*> ofA = instructionsOf(a, name);
    const std::vector<const InsideRow*> ofB = instructionsOf(b, name);
    if (ofA.empty() || ofB.empty())
        return;
    const auto hasTexts = [](const std::vector<const InsideRow*>& rows) {
        return std::ranges::none_of(rows, [](const InsideRow* row) { return row->instruction.empty(); });
    };
    const bool byShape = hasTexts(ofA) && hasTexts(ofB);
    const auto keysOf = [byShape](const std::vector<const InsideRow*>& rows) {
        std::vector<std::string> keys;
        for (const InsideRow* row : rows)
            keys.push_back(byShape ? instructionShape(row->instruction)
                                   : std::to_string(row->offset.value_or(0)));
        return keys;
    };
    const auto fill = [&name](InsideDifferenceRow& pair, const Side& side, const InsideRow& row, auto share,
                              auto time, auto line, auto offset) {
        pair.kernel = row.kernel;
        pair.name = row.name;
        pair.function = row.function;
        pair.instruction = row.instruction;
        pair.*line = row.line;
        pair.*offset = row.offset;
        pair.*share = static_cast<double>(row.samples) / static_cast<double>(side.samples.at(name));
        if (const auto mean = side.means.find(name); mean != side.means.end())
            pair.*time = (pair.*share).value_or(0) * mean->second;
        if (std::string text = side.texts.of(row.line); !text.empty())
            pair.text = std::move(text);
    };
    const auto addA = [&](std::size_t i, InsideDifferenceRow& pair) {
        fill(pair, a, *ofA[i], &InsideDifferenceRow::shareA, &InsideDifferenceRow::timeA,
             &InsideDifferenceRow::lineA, &InsideDifferenceRow::offsetA);
    };
    const auto addB = [&](std::size_t k, InsideDifferenceRow& pair) {
        fill(pair, b, *ofB[k], &InsideDifferenceRow::shareB, &InsideDifferenceRow::timeB,
             &InsideDifferenceRow::lineB, &InsideDifferenceRow::offsetB);
        pair.callerB = ofB[k]->caller;
    };
    std::vector<bool> isPairedA(ofA.size());
    std::vector<bool> isPairedB(ofB.size());
    for (const auto& [i, k] : pairedInstructions(keysOf(ofA), keysOf(ofB))) {
        InsideDifferenceRow& pair = all.emplace_back();
        addA(i, pair);
        addB(k, pair);
        isPairedA[i] = true;
        isPairedB[k] = true;
    }
    for (std::size_t i = 0; i < ofA.size(); ++i)
        if (!isPairedA[i])
            addA(i, all.emplace_back());
    for (std::size_t k = 0; k < ofB.size(); ++k)
        if (!isPairedB[k])
            addB(k, all.emplace_back());
}

/// Kernel, file, text or number of the line, its place in the kernel, function, reason.
using Pairing = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;

Pairing pairingOf(const InsideRow& row, const std::string& name, const SourceTexts& texts, bool byText)
{
    const auto lineKey = [&](const SourceLine& line) {
        const std::string text = byText ? texts.of(line) : std::string();
        return !text.empty() ? text : line.line > 0 ? std::to_string(line.line) : std::string();
    };
    return {name, nameOf(row.line.file), lineKey(row.line), lineKey(row.caller), row.function, row.reason};
}

} // namespace

std::map<std::string, std::string> pairingNames(const InsideTable& own, const InsideTable& other)
{
    const auto namesOf = [](const InsideTable& table) {
        std::map<std::string, std::string> names; // short ones
        for (const InsideRow& row : table.rows)
            names[row.kernel] = row.name;
        return names;
    };
    const std::map<std::string, std::string> ofOther = namesOf(other);
    std::map<std::string, std::string> names = namesOf(own);
    for (auto& [kernel, name] : names)
        if (ofOther.contains(kernel))
            name = kernel;
    return names;
}

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
    ofA.group = ofB.group;
    Side a(readerA, ofA);
    Side b(readerB, ofB);
    a.sumUp(readerA, ofA.topology, b.table);
    b.sumUp(readerB, ofB.topology, a.table);
    InsideDifference all{.runA = a.table.run,
                         .runB = b.table.run,
                         .group = ofB.group,
                         .isSampledA = a.table.isSampled,
                         .isSampledB = b.table.isSampled};
    const bool byText = !a.texts.isEmpty() && !b.texts.isEmpty();
    if (all.group == InsideGroup::Instruction)
        for (const auto& [name, samples] : b.samples)
            addInstructions(a, b, name, all.rows);
    std::map<Pairing, InsideDifferenceRow> rows;
    const auto add = [&](const Side& side, auto share, auto time, auto line) {
        for (const InsideRow& row : side.table.rows) {
            const std::string& name = side.names.at(row.kernel);
            if (!a.samples.contains(name) || !b.samples.contains(name) ||
                all.group == InsideGroup::Instruction)
                continue;
            InsideDifferenceRow& pair = rows[pairingOf(row, name, side.texts, byText)];
            pair.kernel = row.kernel;
            pair.name = row.name;
            pair.function = row.function;
            pair.reason = row.reason;
            pair.*line = row.line;
            if (&side == &b)
                pair.callerB = row.caller;
            if (std::string text = side.texts.of(row.line); !text.empty())
                pair.text = std::move(text);
            const double part = static_cast<double>(row.samples) / static_cast<double>(side.samples.at(name));
            pair.*share = (pair.*share).value_or(0) + part;
            if (const auto mean = side.means.find(name); mean != side.means.end())
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
