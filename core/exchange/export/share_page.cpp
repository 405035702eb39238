#include "core/exchange/export/share_page.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/base/plural.h"
#include "core/base/sha256.h"
#include "core/base/version.h"
#include "core/exchange/export/export_text.h"
#include "core/exchange/export/packed_timeline.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/printed_table.h"
#include "core/exchange/tables/sections.h"
#include "core/exchange/tables/text.h"
#include "core/exchange/waiting/waiting_section.h"
#include "core/query/kernels/kernel_tables.h"
#include "core/query/runs/run_tables.h"
#include "core/query/timeline/timeline_reader.h"
#include "core/query/waiting/waiting_table.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <ostream>

namespace tilescope::exchange {

namespace {

using nlohmann::json;
using TextOf = std::function<std::string(std::string_view)>;

// The script consists of these files, in this order.
constexpr std::array kScripts{"data.js",   "colours.js",  "lanes.js",  "timeline.js", "input.js",
                              "memory.js", "counters.js", "tables.js", "page.js"};

std::string resource(const char* name)
{
    return installedText(resourcesDirectory() / "share" / name);
}

std::string script()
{
    std::string text = "(() => {\n\"use strict\";\n";
    for (const char* name : kScripts)
        text += resource(name);
    return text + "})();\n";
}

std::string escapedForHtml(std::string_view text)
{
    std::string out;
    for (const char c : validUtf8(text)) {
        if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            out += "&#" + std::to_string(static_cast<int>(c)) + ';';
        else
            out += c;
    }
    return out;
}

/// The source of a policy that allows exactly this text.
std::string hashSource(std::string_view text)
{
    const std::string hex = sha256(text);
    std::string digest;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        digest.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return "'sha256-" + base64(digest) + "'";
}

/// Replaces each `{{KEY}}` of the layout by its value, and nothing within the values.
std::string filled(std::string_view layout, const std::map<std::string, std::string, std::less<>>& values)
{
    std::string page;
    while (true) {
        const std::size_t open = layout.find("{{");
        const std::size_t close = layout.find("}}", open);
        page += layout.substr(0, open);
        if (open == std::string_view::npos || close == std::string_view::npos)
            return page;
        page += values.at(std::string(layout.substr(open + 2, close - open - 2)));
        layout.remove_prefix(close + 2);
    }
}

const char* wordOf(query::Lane::Kind kind)
{
    switch (kind) {
    case query::Lane::Kind::Ranges:
        return "ranges";
    case query::Lane::Kind::Frames:
        return "frames";
    case query::Lane::Kind::Thread:
        return "thread";
    case query::Lane::Kind::Stream:
        return "stream";
    case query::Lane::Kind::Busy:
        return "busy";
    case query::Lane::Kind::Memory:
        return "memory";
    case query::Lane::Kind::Counter:
        break;
    }
    return "counter";
}

json timelineJson(const query::Timeline& timeline, const PackedTimeline& packed, const TextOf& textOf)
{
    json names = json::array();
    for (const PackedTimeline::Name& each : packed.names) {
        const query::TimelineName& name = timeline.names[each.name];
        names.push_back({textOf(name.text), textOf(name.label), static_cast<std::size_t>(each.hue)});
    }
    json lanes = json::array();
    for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
        const query::Lane& lane = timeline.lanes[i];
        lanes.push_back({{"kind", wordOf(lane.kind)},
                         {"title", textOf(lane.title)},
                         {"detail", textOf(lane.detail)},
                         {"rows", packed.rows[i]}});
    }
    json curves = json::array();
    for (const PackedTimeline::Curve& curve : packed.curves) {
        const query::Lane& lane = timeline.lanes[curve.lane];
        json& made = curves.emplace_back(
            json{{"title", textOf(lane.title)}, {"detail", textOf(lane.detail)}, {"points", curve.points}});
        if (lane.kind == query::Lane::Kind::Counter) {
            made["counter"] = textOf(lane.counter);
            made["unit"] = textOf(lane.unit);
            made["end"] = lane.valuesEnd;
            if (!lane.holes.empty())
                made["holes"] = lane.holes;
        }
    }
    json steps = json::array();
    for (const query::TimelineStep& step : timeline.steps)
        steps.push_back({textOf(timeline.titleOf(step)), step.start, step.end});
    json sizes = json::array();
    for (const std::vector<std::uint64_t>& column : packed.columns)
        sizes.push_back(column.size());
    const auto [from, to] = timeline.interesting();
    return {{"length", timeline.length},  {"view", {from, to}},        {"names", std::move(names)},
            {"lanes", std::move(lanes)},  {"steps", std::move(steps)}, {"curves", std::move(curves)},
            {"columns", std::move(sizes)}};
}

json kernelsJson(const query::KernelsTable& table, const TextOf& textOf)
{
    json rows = json::array();
    for (const query::KernelRow& row : table.rows)
        rows.push_back({{"name", textOf(row.key)},
                        {"short", textOf(row.shortName)},
                        {"does", row.does},
                        {"hue", static_cast<std::size_t>(query::Hue(row.family))},
                        {"instances", row.instances},
                        {"total", row.total.count()},
                        {"min", row.shortest.count()},
                        {"max", row.longest.count()}});
    return rows;
}

/// The table of `show FILE waiting` as it prints it: titles, alignment, texts, and notes. Null without stacks of the host.
json waitingJson(const store::RunReader& reader, RunId run, const TextOf& textOf)
{
    constexpr std::size_t kMostRows = 200;
    const auto waiting = std::make_shared<const query::WaitingTable>(
        query::waiting(reader, {.run = run}, query::WaitingGroup::Line));
    if (waiting->rows.empty())
        return nullptr;
    Table table = tableOf(waiting);
    const std::size_t rows = std::min(table.rows, kMostRows);
    if (rows < table.rows)
        table.notes.push_back("The longest " + counted(static_cast<std::int64_t>(rows), "row") + " of " +
                              std::to_string(table.rows) + ".");
    json columns = json::array();
    for (const Printed& column : printed(table, rows)) {
        json cells = json::array();
        for (const std::string& cell : column.cells)
            cells.push_back(textOf(cell));
        columns.push_back({{"title", column.title}, {"number", column.right}, {"cells", std::move(cells)}});
    }
    json notes = json::array();
    for (const std::string& note : table.notes)
        notes.push_back(textOf(note));
    return {{"columns", std::move(columns)}, {"rows", rows}, {"notes", std::move(notes)}};
}

using Facts = std::vector<std::pair<std::string, std::string>>;

Facts factsOf(const store::RunReader& reader, const store::RunRecord& run, const SharePageOptions& options)
{
    Facts facts;
    const RunResult& result = run.result;
    facts.emplace_back("Status", wordOf(result.status));
    if (!result.reason.empty())
        facts.emplace_back("Reason", result.reason);
    if (const std::string lost = query::lossSentence(reader, run.run); !lost.empty())
        facts.emplace_back("Losses", lost);
    for (const EnvironmentEntry& entry : reader.environment(run.run)) {
        static const std::map<std::string_view, const char*> kShown{
            {"gpu.name", "GPU"},      {"cpu.model", "CPU"}, {"libtorch", "LibTorch"},
            {"cuda_runtime", "CUDA"}, {"driver", "Driver"}, {"host", "Host"}};
        const auto shown = kShown.find(entry.key);
        if (shown != kShown.end() && (entry.key != "host" || options.withIdentity))
            facts.emplace_back(shown->second, entry.value);
    }
    if (result.peakAllocated)
        facts.emplace_back("Peak allocated", sizeText(*result.peakAllocated));
    if (result.peakReserved)
        facts.emplace_back("Peak reserved", sizeText(*result.peakReserved));
    if (options.withIdentity)
        for (const TracedProcess& process : reader.topology(run.run).processes)
            if (!process.commandLine.empty())
                facts.emplace_back("Command", process.commandLine);
    return facts;
}

/// One run as the script reads it: the number of bytes of a JSON object in four bytes, the lowest first, the
/// object, the columns: of each the number of its planes in a byte, then the planes.
std::string packedRun(const store::RunReader& reader, RunId run, const SharePageOptions& options,
                      SharePageFigures& figures)
{
    const TextOf textOf = [&](std::string_view text) { return exportedText(text, options.withIdentity); };
    const auto never = [] { return false; };
    const std::optional<query::Timeline> timeline = query::readTimeline(reader, run, never);
    const PackedTimeline packed = pack(*timeline);
    const query::KernelsTable kernels = query::kernels(reader, {.run = run});
    json about = timelineJson(*timeline, packed, textOf);
    about["kernels"] = kernelsJson(kernels, textOf);
    about["waiting"] = waitingJson(reader, run, textOf);
    json facts = json::array();
    for (const auto& [title, value] : factsOf(reader, kernels.run, options))
        facts.push_back({title, textOf(value)});
    about["facts"] = std::move(facts);
    about["title"] = textOf(describeRun(kernels.run));
    const std::string text = about.dump();
    std::string bytes;
    for (int shift = 0; shift < 32; shift += 8)
        bytes.push_back(static_cast<char>(text.size() >> shift & 0xFF));
    bytes += text;
    std::vector<std::string> parts{std::move(bytes)};
    for (const std::vector<std::uint64_t>& column : packed.columns) {
        std::vector<std::string> planes = planesOf(column);
        parts.emplace_back(1, static_cast<char>(planes.size()));
        std::ranges::move(planes, std::back_inserter(parts));
    }
    figures.untraced += timeline->lanes.empty() ? 1 : 0;
    figures.boxes += packed.boxes;
    figures.kernels += kernels.rows.size();
    return deflated(parts);
}

} // namespace

SharePageFigures writeSharePage(std::ostream& out, const store::RunReader& reader,
                                std::span<const RunId> runs, const SharePageOptions& options)
{
    SharePageFigures figures{.runs = runs.size()};
    std::string data;
    for (const RunId run : runs) {
        const std::string bytes = packedRun(reader, run, options, figures);
        data += "<script type=\"application/octet-stream\" class=\"run\" data-run=\"" +
                std::to_string(run.value) + "\" data-size=\"" + std::to_string(bytes.size()) + "\">" +
                base91(bytes) + "</script>\n";
    }
    const std::string style = resource("share.css");
    const std::string code = script();
    const std::string page =
        filled(resource("share.html"),
               {{"title", escapedForHtml(options.title)},
                {"policy", "default-src 'none'; script-src " + hashSource(code) + "; style-src " +
                               hashSource(style) + "; base-uri 'none'; form-action 'none'"},
                {"style", style},
                {"program", escapedForHtml(programBanner())},
                {"data", data},
                {"script", code}});
    out << page;
    if (!out)
        throw Error{.what = "cannot be written",
                    .where = "the page",
                    .remedy = "check the space on its disk",
                    .kind = ErrorKind::Failure};
    figures.bytes = page.size();
    return figures;
}

} // namespace tilescope::exchange
