#include "ui/kernels/inside_rows.h"

#include "core/analysis/kernels/stall_reasons.h"
#include "core/model/metric.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/tone.h"

#include <QObject>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace tilescope::ui {

namespace {

using Kind = TableColumn::Kind;
using query::InsidePart;
using query::InsideRow;

constexpr double kStrong = 0.1; ///< of the kernel's samples

/// States and the places of families in the palette, whose colours serve here.
constexpr std::pair<std::string_view, std::size_t> kHues[] = {
    {"barrier", 2},         {"math_pipe_throttle", 0}, {"wait", 3},         {"long_scoreboard", 10},
    {"dispatch_stall", 11}, {"short_scoreboard", 4},   {"gmma", 12},        {"warpgroup_arrive", 6},
    {"lg_throttle", 8},     {"mio_throttle", 7},       {"tex_throttle", 9}, {"no_instructions", 5},
    {"imc_miss", 5},        {"branch_resolving", 9},   {"drain", 8},        {"membar", 6}};

QString words(const std::string& text)
{
    return QString::fromStdString(text);
}

double countOf(const InsidePart& part, bool isUnissued)
{
    return double(isUnissued ? part.unissued : part.samples);
}
double countOf(const InsideRow& row, bool isUnissued)
{
    return double(isUnissued ? row.unissued : row.samples);
}

void addParts(std::vector<InsidePart>& parts, const std::vector<InsidePart>& more)
{
    for (const InsidePart& part : more) {
        const auto known = std::ranges::find(parts, part.reason, &InsidePart::reason);
        if (known == parts.end()) {
            parts.push_back(part);
            continue;
        }
        known->samples += part.samples;
        known->unissued += part.unissued;
    }
    std::ranges::stable_sort(parts, std::greater{}, &InsidePart::samples);
}

/// A bar whose parts are the states; as long as `most` where it fills the column.
TableCell makeStack(const std::vector<InsidePart>& parts, double most, bool isUnissued)
{
    TableCell cell;
    double whole = 0;
    for (const InsidePart& part : parts)
        whole += countOf(part, isUnissued);
    QStringList shares;
    constexpr qsizetype kMostNamed = 5;
    for (const InsidePart& part : parts) {
        const double count = countOf(part, isUnissued);
        if (count <= 0 || most <= 0)
            continue;
        cell.stack.emplace_back(hueOfState(part.reason), count / most);
        if (shares.size() < kMostNamed)
            shares << percentText(count / whole) + QLatin1Char(' ') + stateText(part.reason);
    }
    cell.sort = whole;
    cell.exact = shares.join(QStringLiteral(", "));
    return cell;
}

double samplesOf(const query::InsideTable& table, const InsideChoice& choice)
{
    double samples = 0;
    for (const InsideRow& row : table.rows)
        if (row.kernel == choice.kernel)
            samples += countOf(row, choice.isUnissued);
    return samples;
}

TableCell makeShare(double share)
{
    TableCell cell = makeNumber(100 * share, Unit{});
    if (share >= kStrong)
        cell.tone = Tone::Strong;
    return cell;
}

/// The changes of lines, by line, caller and function.
struct Change {
    std::optional<double> delta;
    std::optional<double> before;
    std::optional<double> now;
};
using ChangeKey = std::tuple<SourceLine, SourceLine, std::string>;

std::map<ChangeKey, Change> changesOf(const InsideReadings& readings, const std::string& kernel)
{
    std::map<ChangeKey, Change> changes;
    if (!readings.difference)
        return changes;
    const auto names = query::pairingNames(readings.shown.kernels, readings.before->kernels);
    const auto own = names.find(kernel);
    if (own == names.end())
        return changes;
    for (const query::InsideDifferenceRow& each : readings.difference->rows)
        if (const auto other = names.find(each.kernel); other != names.end() && other->second == own->second)
            changes[{each.lineB, each.callerB, each.function}] = {each.delta(), each.timeA, each.timeB};
    return changes;
}

void addTo(std::optional<double>& sum, const std::optional<double>& value)
{
    if (value)
        sum = sum.value_or(0) + *value;
}

void addChange(InsideSourceRow& row, const std::map<ChangeKey, Change>& changes, const InsideRow& sampled)
{
    const auto found = changes.find({sampled.line, sampled.caller, sampled.function});
    if (found == changes.end())
        return;
    addTo(row.change, found->second.delta);
    addTo(row.before, found->second.before);
    addTo(row.time, found->second.now);
}

} // namespace

QString placeText(const SourceLine& line)
{
    const QString file = words(line.file.substr(line.file.rfind('/') + 1));
    return line.line > 0 ? file + QLatin1Char(':') + QString::number(line.line) : file;
}

query::Hue hueOfState(const std::string& reason)
{
    if (reason == "selected")
        return query::Hue::Busy;
    if (reason == "not_selected")
        return query::Hue::GapTracing;
    const auto* const known =
        std::ranges::find(kHues, reason, &std::pair<std::string_view, std::size_t>::first);
    return known == std::ranges::end(kHues) ? query::Hue::Other : query::Hue(known->second);
}

QString stateText(const std::string& reason)
{
    return QString::fromUtf8(analysis::stallReason(reason).name);
}

std::vector<std::string> filesOf(const InsideReading& reading, const std::string& kernel)
{
    std::map<std::string, std::int64_t> samples;
    for (const InsideRow& row : reading.lines.rows)
        if (row.kernel == kernel) {
            const SourceLine& own = row.caller.line > 0 ? row.caller : row.line;
            if (!own.file.empty())
                samples[own.file] += row.samples;
        }
    std::vector<std::string> files;
    for (const auto& [file, count] : samples)
        files.push_back(file);
    std::ranges::stable_sort(files, std::greater{}, [&](const std::string& file) { return samples[file]; });
    return files;
}

std::vector<InsideSourceRow> sourceLinesOf(const InsideReadings& readings, const InsideChoice& choice)
{
    constexpr std::uint32_t kAround = 6; // lines before the first and after the last one
    const std::map<ChangeKey, Change> changes = changesOf(readings, choice.kernel);
    std::map<std::uint32_t, InsideSourceRow> lines;
    std::map<std::uint32_t, std::vector<InsideSourceRow>> inlined;
    for (const InsideRow& row : readings.shown.lines.rows) {
        const bool isInlined = row.caller.line > 0;
        const SourceLine& own = isInlined ? row.caller : row.line;
        if (row.kernel != choice.kernel || own.file != choice.file || own.line == 0)
            continue;
        InsideSourceRow& line = lines[own.line];
        InsideSourceRow each{.line = row.line,
                             .parts = row.parts,
                             .count = countOf(row, choice.isUnissued),
                             .isInlined = isInlined};
        addChange(each, changes, row);
        if (!isInlined) {
            addParts(line.parts, row.parts);
            line.count += each.count;
            addTo(line.change, each.change);
            addTo(line.before, each.before);
            addTo(line.time, each.time);
            continue;
        }
        each.text = joinedWords(words(row.function), placeText(row.line));
        ++line.inlined;
        line.inlinedCount += each.count;
        if (const QString name = words(row.function); !name.isEmpty() && !line.inlinedNames.contains(name))
            line.inlinedNames += (line.inlinedNames.isEmpty() ? QString() : QStringLiteral(", ")) + name;
        inlined[own.line].push_back(std::move(each));
    }
    if (lines.empty())
        return {};
    const auto source = readings.shown.sources.find(choice.file);
    const bool hasText = source != readings.shown.sources.end() && !source->second.lines.empty();
    if (hasText) {
        const std::uint32_t first = lines.begin()->first;
        const std::uint32_t last = lines.rbegin()->first;
        for (std::uint32_t i = first > kAround ? first - kAround : 1; i <= last + kAround; ++i)
            if (i <= source->second.lines.size())
                lines[i];
    }
    std::vector<InsideSourceRow> rows;
    for (auto& [number, line] : lines) {
        line.line = {choice.file, number};
        if (hasText)
            line.text = words(source->second.line(number)).replace(QLatin1Char('\t'), QStringLiteral("    "));
        line.isFolded = line.inlined > 0 && !choice.unfolded.contains(number);
        if (line.isFolded) {
            line.count += line.inlinedCount;
            for (const InsideSourceRow& each : inlined[number]) {
                addParts(line.parts, each.parts);
                addTo(line.change, each.change);
                addTo(line.before, each.before);
                addTo(line.time, each.time);
            }
        }
        const bool isOpen = line.inlined > 0 && !line.isFolded;
        rows.push_back(std::move(line));
        if (!isOpen)
            continue;
        std::ranges::stable_sort(inlined[number], std::greater{}, &InsideSourceRow::count);
        std::ranges::move(inlined[number], std::back_inserter(rows));
    }
    return rows;
}

TableData sourceRows(const std::vector<InsideSourceRow>& lines, double whole, bool isCompared)
{
    double most = 0;
    double longest = 0;
    std::vector<double> changes;
    for (const InsideSourceRow& line : lines) {
        most = std::max(most, line.count);
        longest = std::max({longest, line.time.value_or(0), line.before.value_or(0)});
        changes.push_back(std::abs(line.change.value_or(0)));
    }
    const Unit unit = columnUnit(changes, timeUnit);
    TableData data;
    data.columns = {makeColumn({}, Kind::Text, 24), makeColumn(QObject::tr("Line"), Kind::Number, 46, true),
                    makeColumn(QObject::tr("Source"), Kind::Text, 0),
                    makeColumn(QObject::tr("Samples by state"), Kind::Stack, 120),
                    makeColumn(QObject::tr("%"), Kind::Number, 50)};
    data.columns[2].code = true;
    if (isCompared)
        data.columns.push_back(makeColumn(titleIn(QObject::tr("B - A"), unit), Kind::Number, 76));
    for (TableColumn& column : data.columns)
        column.sortable = false;
    for (const InsideSourceRow& line : lines) {
        TableRow& row = data.rows.emplace_back();
        row.id = std::int64_t(data.rows.size()) - 1;
        row.cells.push_back(makeWords(line.inlined == 0 ? QString()
                                      : line.isFolded   ? QStringLiteral("▸")
                                                        : QStringLiteral("▾")));
        row.cells.push_back(line.isInlined ? TableCell{} : makeCount(line.line.line));
        QString text = line.text;
        if (line.isInlined)
            text = QStringLiteral("    └ ") + text;
        else if (line.isFolded)
            text += QStringLiteral("   ← %1, %2")
                        .arg(line.inlinedNames.isEmpty() ? counted(std::int64_t(line.inlined), "inlined line")
                                                         : line.inlinedNames,
                             QObject::tr("%1 of it inlined")
                                 .arg(percentText(whole > 0 ? line.inlinedCount / whole : 0)));
        TableCell code = makeWords(text);
        if (line.isInlined || line.count <= 0)
            code.tone = Tone::Dim;
        row.cells.push_back(code);
        TableCell stack = line.count > 0 ? makeStack(line.parts, most, false) : TableCell{};
        double shown = 0;
        for (const auto& [hue, share] : stack.stack)
            shown += share;
        if (shown > 0) // where only samples without an issue count, the bar is as long as they are
            for (auto& [hue, share] : stack.stack)
                share *= line.count / most / shown;
        if (isCompared && longest > 0 && line.before && line.time && *line.time > 0)
            stack.secondBar = std::min(1.0, line.count / most * *line.before / *line.time);
        row.cells.push_back(std::move(stack));
        row.cells.push_back(line.count > 0 && whole > 0 ? makeShare(line.count / whole) : TableCell{});
        if (!isCompared)
            continue;
        TableCell change;
        if (line.change) {
            change = makeNumber(*line.change, unit);
            change.text = signedColumnDigits(*line.change, unit);
            change.tone = toneOf(*line.change, true);
        }
        row.cells.push_back(std::move(change));
    }
    return data;
}

TableData hotRows(const InsideReading& reading, const InsideChoice& choice)
{
    const double whole = samplesOf(reading.lines, choice);
    double most = 0;
    for (const InsideRow& row : reading.lines.rows)
        if (row.kernel == choice.kernel)
            most = std::max(most, countOf(row, choice.isUnissued));
    TableData data;
    data.columns = {makeColumn(QObject::tr("Line"), Kind::Text, 130),
                    makeColumn(QObject::tr("Source"), Kind::Text, 0),
                    makeColumn(QObject::tr("Samples"), Kind::Number, 84, true),
                    makeColumn(QObject::tr("%"), Kind::Number, 50),
                    makeColumn({}, Kind::Bar, 50),
                    makeColumn(QObject::tr("Stalled most by"), Kind::Text, 170),
                    makeColumn(QObject::tr("of the line, %"), Kind::Number, 60, true)};
    data.columns[1].code = true;
    data.columns[5].swatch = true;
    data.columns[5].sentence = true;
    for (std::size_t i = 0; i < reading.lines.rows.size(); ++i) {
        const InsideRow& line = reading.lines.rows[i];
        const double count = countOf(line, choice.isUnissued);
        if (line.kernel != choice.kernel || count <= 0)
            continue;
        TableRow& row = data.rows.emplace_back();
        row.id = std::int64_t(i);
        if (!line.stall.empty())
            row.swatch = Swatch::of(hueOfState(line.stall));
        const auto source = reading.sources.find(line.line.file);
        QString text = source == reading.sources.end() ? QString()
                                                       : words(source->second.line(line.line.line)).trimmed();
        if (line.caller.line > 0)
            text = QObject::tr("%1, from %2").arg(words(line.function), placeText(line.caller));
        row.cells = {makeWords(line.line.file.empty() ? QObject::tr("no line") : placeText(line.line),
                               words(line.line.file)),
                     makeWords(text, {}, Tone::Dim),
                     makeCount(count),
                     makeShare(whole > 0 ? count / whole : 0),
                     makeBar(count, most),
                     makeWords(stateText(line.stall)),
                     line.stall.empty() ? TableCell{} : makeNumber(100 * line.stallShare(), Unit{})};
    }
    return data;
}

TableData stateRows(const InsideReadings& readings, const InsideChoice& choice)
{
    struct State {
        InsideRow row;
        double before = -1;
    };
    std::vector<State> states;
    double samples = 0;
    for (const InsideRow& row : readings.shown.reasons.rows)
        if (row.kernel == choice.kernel) {
            states.push_back({row});
            samples += double(row.samples);
        }
    const std::set<std::string> before = readings.kernelsBefore(choice.kernel);
    double samplesBefore = 0;
    if (readings.before)
        for (const InsideRow& row : readings.before->kernels.rows)
            if (before.contains(row.kernel))
                samplesBefore += double(row.samples);
    if (samplesBefore > 0)
        for (const InsideRow& row : readings.before->reasons.rows)
            for (State& state : states)
                if (before.contains(row.kernel) && row.reason == state.row.reason)
                    state.before = std::max(state.before, 0.0) + double(row.samples) / samplesBefore;
    double most = 0;
    for (const State& state : states)
        most = std::max({most, state.row.share, state.before});
    TableData data;
    data.columns = {makeColumn(QObject::tr("State of the warps"), Kind::Text, 0),
                    makeColumn({}, Kind::Bar, 90), makeColumn(QObject::tr("%"), Kind::Number, 48),
                    makeColumn(QObject::tr("Empty, %"), Kind::Number, 62)};
    data.columns[0].swatch = true;
    data.columns[0].sentence = true;
    data.columns[3].tip =
        QObject::tr("Samples in this state at which the scheduler issued no instruction of any warp");
    if (readings.before)
        data.columns.push_back(makeColumn(QObject::tr("A, %"), Kind::Number, 48, true));
    for (const State& state : states) {
        const InsideRow& row = state.row;
        const analysis::StallReason reason = analysis::stallReason(row.reason);
        TableRow& made = data.rows.emplace_back();
        made.id = std::int64_t(data.rows.size()) - 1;
        made.swatch = Swatch::of(hueOfState(row.reason));
        QString about = QString::fromUtf8(reason.sentence) + QStringLiteral(" (%1)").arg(words(row.reason));
        if (!reason.remedy.empty())
            about += QLatin1Char('\n') + QString::fromUtf8(reason.remedy);
        TableCell bar = makeBar(row.share, most);
        if (readings.before)
            bar.secondBar = most > 0 ? std::max(0.0, state.before) / most : 0;
        made.cells = {makeWords(stateText(row.reason), about), bar, makeShare(row.share),
                      reason.isStall && samples > 0 ? makeNumber(100 * double(row.unissued) / samples, Unit{})
                                                    : makeNumber({}, Unit{})};
        if (readings.before)
            made.cells.push_back(state.before >= 0 ? makeNumber(100 * state.before, Unit{})
                                                   : makeNumber({}, Unit{}));
    }
    return data;
}

TableData instructionRows(const InsideReadings& readings, const InsideChoice& choice,
                          const std::optional<SourceLine>& line)
{
    struct Group {
        const InsideRow* first = nullptr;
        std::vector<InsidePart> parts = {};
        double count = 0;
        int size = 1;
        std::optional<double> before = {}; ///< share of the samples of the kernel
    };
    const InsideReading& reading = readings.shown;
    std::map<std::uint64_t, double> before; // by offset
    if (readings.instructions)
        for (const query::InsideDifferenceRow& each : readings.instructions->rows)
            if (each.kernel == choice.kernel && each.offsetB && each.shareA)
                before[*each.offsetB] = *each.shareA;
    const double whole = samplesOf(reading.instructions, choice);
    std::vector<const InsideRow*> sampled;
    for (const InsideRow& row : reading.instructions.rows)
        if (row.kernel == choice.kernel && (!line || row.line == *line || row.caller == *line))
            sampled.push_back(&row);
    std::ranges::stable_sort(sampled, {}, [](const InsideRow* row) { return row->offset.value_or(0); });
    const auto mnemonic = [](const InsideRow& row) {
        return row.instruction.substr(0, row.instruction.find(' '));
    };
    std::vector<Group> groups;
    for (const InsideRow* row : sampled) {
        const bool isSame = !groups.empty() && !row->instruction.empty() &&
                            mnemonic(*groups.back().first) == mnemonic(*row) &&
                            groups.back().first->line == row->line;
        if (!isSame)
            groups.push_back({.first = row, .size = 0});
        Group& group = groups.back();
        ++group.size;
        addParts(group.parts, row->parts);
        group.count += countOf(*row, choice.isUnissued);
        if (const auto found = before.find(row->offset.value_or(0)); found != before.end())
            group.before = group.before.value_or(0) + found->second;
    }
    double most = 0;
    for (const Group& group : groups)
        most = std::max(most, group.count);
    TableData data;
    data.columns = {makeColumn(QObject::tr("Offset"), Kind::Text, 50, true),
                    makeColumn(QObject::tr("Instruction"), Kind::Text, 0),
                    makeColumn({}, Kind::Text, 40, true),
                    makeColumn(QObject::tr("Samples by state"), Kind::Stack, 70),
                    makeColumn(QObject::tr("%"), Kind::Number, 48)};
    data.columns[1].code = true;
    if (readings.instructions) {
        data.columns.push_back(makeColumn(QObject::tr("A, %"), Kind::Number, 48, true));
        data.columns.back().tip =
            QObject::tr("Of the instruction of run A with the same operation and operands, whatever their "
                        "registers, at the same place in the order of the code");
    }
    if (!line) // otherwise they are all of one line
        data.columns.insert(data.columns.begin() + 1,
                            makeColumn(QObject::tr("Line"), Kind::Number, 46, true));
    for (const Group& group : groups) {
        const InsideRow& row = *group.first;
        TableRow& made = data.rows.emplace_back();
        made.id = std::int64_t(data.rows.size()) - 1;
        TableCell offset =
            makeWords(QString::number(row.offset.value_or(0), 16).rightJustified(4, QLatin1Char('0')));
        offset.sort = double(row.offset.value_or(0));
        TableCell stack = makeStack(group.parts, most, choice.isUnissued);
        TableCell number = row.line.line > 0 ? makeCount(row.line.line) : TableCell{};
        number.exact = placeText(row.line);
        made.cells = {offset, makeWords(words(row.instruction)),
                      makeWords(group.size > 1 ? QStringLiteral("×%1").arg(group.size) : QString()), stack,
                      makeShare(whole > 0 ? group.count / whole : 0)};
        if (!line)
            made.cells.insert(made.cells.begin() + 1, number);
        if (readings.instructions)
            made.cells.push_back(group.before ? makeNumber(100 * *group.before, Unit{})
                                              : makeNumber({}, Unit{}));
    }
    return data;
}

std::vector<InsideFigure> insideFigures(const InsideReadings& readings, const std::string& kernel,
                                        const QString& letter)
{
    struct Values {
        std::optional<double> time, issued, tensor, active, read, occupancy, warps, registers;
        const query::KernelLaunches* launches = nullptr;
    };
    const auto valuesOf = [](const InsideReading& reading, const std::string& name) {
        Values values;
        if (const auto found = reading.launches.find(name); found != reading.launches.end()) {
            values.launches = &found->second;
            values.time = found->second.mean();
            if (found->second.occupancy)
                values.occupancy = 100 * found->second.occupancy->share;
            if (found->second.usual.registersPerThread > 0)
                values.registers = found->second.usual.registersPerThread;
        }
        if (const auto limit = query::insideLimit(reading.reasons, name))
            values.issued = 100 * limit->issued;
        values.tensor = reading.metric(name, kTensorActive);
        values.active = reading.metric(name, kSmActive);
        values.read = reading.metric(name, kDramRead);
        return values;
    };
    const Values now = valuesOf(readings.shown, kernel);
    Values before;
    if (readings.before && !letter.isEmpty()) {
        const std::set<std::string> others = readings.kernelsBefore(kernel);
        for (const InsideRow& other : readings.before->kernels.rows) // the most sampled first
            if (others.contains(other.kernel)) {
                before = valuesOf(*readings.before, other.kernel);
                break;
            }
    }
    const auto percent = [](const std::optional<double>& value) {
        return value ? threeDigits(*value) : QString();
    };
    const auto beside = [&letter](const std::optional<double>& value, const QString& unit) {
        return value && !letter.isEmpty() ? letter + QLatin1Char(' ') + threeDigits(*value) + unit
                                          : QString();
    };
    const QString noMetrics = QObject::tr("record with --metrics");
    std::vector<InsideFigure> figures;
    InsideFigure time{.title = QObject::tr("Time a launch")};
    if (now.time) {
        const Unit unit = timeUnit(*now.time);
        time.value = threeDigits(*now.time / unit.divisor);
        time.unit = QString::fromStdString(unit.suffix);
        time.detail = counted(now.launches->count, "launch", "launches");
    }
    if (before.time && now.time && !letter.isEmpty())
        time.before = letter + QLatin1Char(' ') + timeText(*before.time);
    figures.push_back(time);
    figures.push_back({QObject::tr("Issue slots used"),
                       percent(now.issued),
                       QStringLiteral("%"),
                       {},
                       beside(before.issued, QStringLiteral(" %")),
                       QObject::tr("Samples at which the scheduler issued an instruction of any warp")});
    figures.push_back({QObject::tr("Tensor pipe active"), percent(now.tensor), QStringLiteral("%"),
                       now.tensor ? QString() : noMetrics, beside(before.tensor, QStringLiteral(" %"))});
    figures.push_back({QObject::tr("SM active"), percent(now.active), QStringLiteral("%"),
                       now.active ? QString() : noMetrics, beside(before.active, QStringLiteral(" %"))});
    figures.push_back({QObject::tr("DRAM read"), percent(now.read), QStringLiteral("%"),
                       now.read ? QObject::tr("of the peak") : noMetrics,
                       beside(before.read, QStringLiteral(" %"))});
    QString limit;
    if (now.launches && !now.launches->occupancy)
        limit = QObject::tr("GPU not described");
    else if (now.launches)
        limit = QObject::tr("at most, by %1").arg(QString::fromUtf8(wordOf(now.launches->occupancy->limit)));
    figures.push_back({QObject::tr("Occupancy"), percent(now.occupancy), QStringLiteral("%"), limit,
                       beside(before.occupancy, QStringLiteral(" %")),
                       QObject::tr("An upper bound, from the launch and the limits of the GPU")});
    const auto whole = [](const std::optional<double>& value) {
        return value ? wholeNumber(std::llround(*value)) : QString();
    };
    InsideFigure registers{QObject::tr("Registers"), whole(now.registers), {}, QObject::tr("a thread")};
    if (before.registers && !letter.isEmpty())
        registers.before = letter + QLatin1Char(' ') + whole(before.registers);
    if (now.launches) {
        const LaunchConfig& usual = now.launches->usual;
        registers.tip =
            QObject::tr("grid %1 × %2 × %3, block %4 × %5 × %6, shared memory %7, %8 of %9")
                .arg(usual.grid[0])
                .arg(usual.grid[1])
                .arg(usual.grid[2])
                .arg(usual.block[0])
                .arg(usual.block[1])
                .arg(usual.block[2])
                .arg(byteText(double(usual.staticShared) + double(usual.dynamicShared)))
                .arg(wholeNumber(now.launches->ofUsual), counted(now.launches->count, "launch", "launches"));
    }
    figures.push_back(registers);
    return figures;
}

} // namespace tilescope::ui
