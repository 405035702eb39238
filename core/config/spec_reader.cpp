#include "core/base/error.h"
#include "core/config/comments.h"
#include "core/config/spec_document.h"
#include "core/config/wording.h"
#include "core/config/yaml_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace tilescope::config {

namespace {

/// The value of an entry. An empty value gets the position of its key.
SpecValue valueOf(const SpecValue::Entry& entry)
{
    SpecValue value = entry.value;
    if (value.kind == SpecValue::Kind::Missing)
        value.position = entry.position;
    return value;
}

/// Converts the tree of a spec to a document.
class DocumentReader {
public:
    explicit DocumentReader(SpecDocument& document) : document_(document) {}

    void read(const SpecValue& root)
    {
        if (root.kind == SpecValue::Kind::Missing)
            refuse({}, "the spec is empty", "begin with `workload: attention` or `workload: lm`");
        if (root.kind != SpecValue::Kind::Map)
            refuse(root.position, "a spec is a map of keys, not a " + kindName(root),
                   root.text.find(':') == std::string::npos
                       ? "begin with `workload: attention` or `workload: lm`"
                       : "write a space after the colon");
        for (const SpecValue::Entry& entry : root.entries()) {
            if (entry.key == "fixed")
                readFixed(entry);
            else if (entry.key == "sweep")
                readSweep(entry);
            else
                addFixed(entry, false);
        }
        // In the order of the file.
        std::stable_partition(document_.fixed.begin(), document_.fixed.end(),
                              [](const SpecDocument::Entry& entry) { return !entry.underFixed; });
    }

    /// Lines of `fixed:` and `sweep:`; 0 if absent.
    int fixedLine() const { return fixedLine_; }
    int sweepLine() const { return sweepLine_; }

private:
    [[noreturn]] void refuse(Position position, std::string what, std::string remedy) const
    {
        throw Error{.what = std::move(what),
                    .where = placeOf(document_.origin, position),
                    .remedy = std::move(remedy)};
    }

    static std::string kindName(const SpecValue& node)
    {
        return node.kind == SpecValue::Kind::List  ? "list"
               : node.kind == SpecValue::Kind::Map ? "map"
                                                   : "word";
    }

    using Positions = std::unordered_map<std::string, Position>;

    void requireNew(const SpecValue::Entry& entry)
    {
        refuseIfIn(seen_, entry);
        refuseIfIn(seenInPoints_, entry);
        seen_.emplace(entry.key, entry.position);
    }

    void refuseIfIn(const Positions& positions, const SpecValue::Entry& entry) const
    {
        const auto seen = positions.find(entry.key);
        if (seen != positions.end())
            refuse(entry.position, "the key " + shown(entry.key) + " is given twice",
                   fmt::format("it is given at line {} already; give each key once: at top level, under "
                               "fixed or under sweep",
                               seen->second.line));
    }

    void addFixed(const SpecValue::Entry& entry, bool underFixed)
    {
        requireNew(entry);
        document_.fixed.push_back({.key = entry.key,
                                   .value = valueOf(entry),
                                   .position = entry.position,
                                   .underFixed = underFixed});
    }

    void readFixed(const SpecValue::Entry& fixed)
    {
        fixedLine_ = fixed.position.line;
        if (fixed.value.kind == SpecValue::Kind::Missing)
            return;
        if (fixed.value.kind != SpecValue::Kind::Map)
            refuse(fixed.value.position, "fixed takes a map of keys, not a " + kindName(fixed.value),
                   "write fixed: {batch: 8, …}");
        for (const SpecValue::Entry& entry : fixed.value.entries())
            addFixed(entry, true);
    }

    void readSweep(const SpecValue::Entry& sweep)
    {
        sweepLine_ = sweep.position.line;
        switch (sweep.value.kind) {
        case SpecValue::Kind::Missing:
            return;
        case SpecValue::Kind::Map:
            for (const SpecValue::Entry& entry : sweep.value.entries())
                addAxis(entry);
            return;
        case SpecValue::Kind::List:
            readPoints(sweep.value);
            return;
        case SpecValue::Kind::Scalar:
            refuse(sweep.value.position, "sweep takes a map of lists or a list of maps, not a word",
                   "write sweep: {seq_len: [256, 1024], …}");
        }
    }

    void addAxis(const SpecValue::Entry& entry)
    {
        requireNew(entry);
        SpecDocument::Axis axis{.key = entry.key, .position = entry.position};
        SpecValue value = valueOf(entry);
        if (value.kind != SpecValue::Kind::List)
            axis.values.push_back(std::move(value));
        else if (value.items.empty())
            refuse(entry.value.position, "sweep gives " + entry.key + " no value",
                   "write at least one, or remove the key");
        else
            axis.values = std::move(value.items);
        document_.axes.push_back(std::move(axis));
    }

    void readPoints(const SpecValue& list)
    {
        if (list.items.empty())
            refuse(list.position, "sweep lists no points", "write at least one, or remove sweep");
        for (const SpecValue& item : list.items) {
            if (item.kind != SpecValue::Kind::Map)
                refuse(item.position, "a point of sweep is a map of keys, not a " + kindName(item),
                       "write - {seq_len: 256, backend: naive}");
            SpecDocument::Point point;
            for (const SpecValue::Entry& entry : item.entries()) {
                refuseIfIn(seen_, entry);
                seenInPoints_.emplace(entry.key, entry.position);
                point.push_back({.key = entry.key, .value = valueOf(entry), .position = entry.position});
            }
            document_.points.push_back(std::move(point));
        }
    }

    SpecDocument& document_;
    int fixedLine_ = 0;
    int sweepLine_ = 0;
    Positions seen_;
    Positions seenInPoints_;
};

} // namespace

SpecDocument parseDocument(std::string_view yaml, std::string_view origin)
{
    SpecDocument document;
    document.origin = origin;
    DocumentReader reader(document);
    reader.read(readYaml(yaml, origin));
    attachComments(document, yaml, reader.fixedLine(), reader.sweepLine());
    return document;
}

} // namespace tilescope::config
