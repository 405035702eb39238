#include "core/exchange/export/stack_formats.h"

#include "core/base/error.h"
#include "core/exchange/export/export_text.h"
#include "core/exchange/export/gzip_stream.h"
#include "core/exchange/tables/text.h"

#include <protozero/pbf_writer.hpp>

#include <array>
#include <ostream>
#include <string>

namespace tilescope::exchange {

namespace {

/// A name as one frame of a folded stack.
std::string foldedName(std::string_view name)
{
    constexpr unsigned char kDelete = 0x7f;
    std::string plain(name.empty() ? "?" : name);
    for (char& c : plain)
        if (c == ';')
            c = ':';
        else if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) == kDelete)
            c = ' ';
    return plain;
}

} // namespace

ExportedTree exportedStacks(const store::RunReader& reader, const store::RunRecord& run,
                            const ExportOptions& options)
{
    query::CallTreeTable table = query::callTree(
        reader, {.run = run.run}, {.scope = query::CallTreeScope::Recording, .weight = options.weight});
    if (table.tree.totalCount() == 0 && options.weight != query::CallWeight::Time)
        throw Error{.what = "the run has nothing of the weight '" + std::string(wordOf(options.weight)) +
                            "'" + (table.whyEmpty.empty() ? "" : ": " + table.whyEmpty),
                    .where = reader.file().string(),
                    .remedy = "leave out --weight, or see `tilescope help record`"};
    if (table.tree.totalCount() == 0)
        throw Error{.what = "run " + std::to_string(run.run.value) + " has neither GPU activities nor ops",
                    .where = reader.file().string(),
                    .remedy = "record it with trace: kernels or full"};
    table.tree.renameAll(
        [&options](const std::string& name) { return exportedText(name, options.withIdentity); });
    return {.tree = std::move(table.tree), .weight = table.weight, .onGpu = table.onGpu};
}

ExportedWords wordsOf(const ExportedTree& exported)
{
    switch (exported.weight) {
    case query::CallWeight::Allocated:
        return {"allocated bytes", "allocated", "bytes", "allocations", Unit::Bytes};
    case query::CallWeight::Flops:
        return {"FLOPs", "flops", "count", "ops", Unit::Flops};
    case query::CallWeight::Moved:
        return {"bytes moved", "moved", "bytes", "ops", Unit::Bytes};
    case query::CallWeight::Idle:
        return {"idle time of the GPU", "idle_time", "nanoseconds", "samples", Unit::Nanoseconds};
    case query::CallWeight::Samples:
        return {"samples of instructions", "samples", "count", "samples", Unit::None};
    default:
        return exported.onGpu
                   ? ExportedWords{"GPU time", "gpu_time", "nanoseconds", "activities", Unit::Nanoseconds}
                   : ExportedWords{"self time of ops", "op_time", "nanoseconds", "ops", Unit::Nanoseconds};
    }
}

void writeFolded(std::ostream& out, const ExportedTree& exported)
{
    const query::CallTree& stacks = exported.tree;
    std::vector<std::string> names;
    names.reserve(stacks.names().size());
    for (const std::string& name : stacks.names())
        names.push_back(foldedName(name));
    for (query::CallTree::Node node = 0; node < stacks.entries().size(); ++node) {
        if (stacks.entries()[node].amount == 0)
            continue;
        const char* separator = "";
        for (const std::uint32_t name : stacks.stackOf(node)) {
            out << separator << names[name];
            separator = ";";
        }
        out << ' ' << stacks.entries()[node].amount << '\n';
    }
}

void writeSpeedscope(std::ostream& out, const ExportedTree& exported, std::string_view name)
{
    const query::CallTree& stacks = exported.tree;
    const ExportedWords words = wordsOf(exported);
    out << "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\": "
           "\"Tilescope\",\n"
           "\"name\": "
        << jsonString(name) << ",\n\"shared\": {\"frames\": [";
    const char* separator = "\n";
    for (const std::string& frame : stacks.names()) {
        out << separator << "{\"name\": " << jsonString(frame) << '}';
        separator = ",\n";
    }
    out << "]},\n\"profiles\": [{\"type\": \"sampled\", \"name\": \"" << words.title << "\", \"unit\": \""
        << (std::string_view(words.unit) == "count" ? "none" : words.unit)
        << "\", \"startValue\": 0, \"endValue\": " << stacks.totalAmount() << ",\n\"samples\": [";
    separator = "\n";
    for (query::CallTree::Node node = 0; node < stacks.entries().size(); ++node) {
        if (stacks.entries()[node].amount == 0)
            continue;
        out << separator << '[';
        const char* comma = "";
        for (const std::uint32_t frame : stacks.stackOf(node)) {
            out << comma << frame;
            comma = ", ";
        }
        out << ']';
        separator = ",\n";
    }
    out << "],\n\"weights\": [";
    separator = "";
    for (const query::CallTree::Entry& entry : stacks.entries())
        if (entry.amount != 0) {
            out << separator << entry.amount;
            separator = ", ";
        }
    out << "]}]}\n";
}

void writePprof(std::ostream& out, const ExportedTree& exported, std::int64_t startedUnixNs)
{
    const query::CallTree& stacks = exported.tree;
    // Field numbers of profile.proto.
    enum Profile : std::uint32_t {
        SampleType = 1,
        Sample = 2,
        Location = 4,
        Function = 5,
        StringTable = 6,
        TimeNanos = 9,
        DurationNanos = 10,
        DefaultSampleType = 14
    };
    const ExportedWords names = wordsOf(exported);
    const std::array<const char*, 5> words{"", names.key, names.unit, names.counts, "count"};
    GzipStream zip(out);
    std::string bytes;
    const auto flush = [&] {
        zip.stream().write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        bytes.clear();
    };
    protozero::pbf_writer profile(bytes);
    for (const std::int64_t type : {1, 3}) {
        protozero::pbf_writer value(profile, SampleType);
        value.add_int64(1, type);
        value.add_int64(2, type + 1);
    }
    for (const char* word : words)
        profile.add_string(StringTable, word);
    for (const std::string& name : stacks.names())
        profile.add_string(StringTable, name);
    profile.add_int64(TimeNanos, startedUnixNs);
    profile.add_int64(DurationNanos, stacks.totalAmount());
    profile.add_int64(DefaultSampleType, 1);
    flush();
    for (std::uint64_t i = 0; i < stacks.names().size(); ++i) {
        {
            protozero::pbf_writer function(profile, Function);
            function.add_uint64(1, i + 1);
            function.add_int64(2, static_cast<std::int64_t>(i + words.size()));
        }
        {
            protozero::pbf_writer location(profile, Location);
            location.add_uint64(1, i + 1);
            protozero::pbf_writer line(location, 4);
            line.add_uint64(1, i + 1);
        }
        flush();
    }
    for (query::CallTree::Node node = 0; node < stacks.entries().size(); ++node) {
        const query::CallTree::Entry& entry = stacks.entries()[node];
        if (entry.count == 0)
            continue;
        {
            protozero::pbf_writer sample(profile, Sample);
            std::vector<std::uint64_t> locations; // innermost first
            for (query::CallTree::Node at = node; at != query::CallTree::kRoot;
                 at = stacks.entries()[at].parent)
                locations.push_back(std::uint64_t{stacks.entries()[at].name} + 1);
            sample.add_packed_uint64(1, locations.begin(), locations.end());
            const std::array<std::int64_t, 2> values{entry.amount, entry.count};
            sample.add_packed_int64(2, values.begin(), values.end());
        }
        flush();
    }
    zip.finish();
}

} // namespace tilescope::exchange
