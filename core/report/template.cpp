#include "core/report/template.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/base/spelling.h"
#include "core/config/yaml_tree.h"
#include "core/report/findings.h"
#include "core/report/run_facts.h"

#include <algorithm>
#include <functional>

namespace tilescope::report {

namespace {

using config::SpecValue;

/// Reads a template; each method reads one kind of node.
class Reader {
public:
    explicit Reader(std::string_view origin) : origin_(origin) {}

    Template read(std::string_view yaml)
    {
        Template made;
        const SpecValue root = config::readYaml(yaml, origin_);
        if (root.kind != SpecValue::Kind::Map)
            refuse("not a report's template", {});
        eachKey(
            root,
            {{"tables", [&](const SpecValue::Entry& entry) { list(entry, made.tables, &Reader::table); }},
             {"figures", [&](const SpecValue::Entry& entry) { list(entry, made.figures, &Reader::figure); }},
             {"findings",
              [&](const SpecValue::Entry& entry) { list(entry, made.findings, &Reader::finding); }}});
        return made;
    }

private:
    using Take = std::function<void(const SpecValue::Entry&)>;
    using Keys = std::vector<std::pair<std::string_view, Take>>;

    [[noreturn]] void refuse(std::string what, config::Position position, std::string remedy = {}) const
    {
        throw Error{.what = std::move(what),
                    .where = config::placeOf(origin_, position),
                    .remedy = std::move(remedy),
                    .kind = ErrorKind::Environment};
    }

    void eachKey(const SpecValue& map, const Keys& keys) const
    {
        if (map.kind != SpecValue::Kind::Map)
            refuse("expected a map here", map.position);
        for (const SpecValue::Entry& entry : map.entries()) {
            const auto found = std::ranges::find(keys, entry.key, &Keys::value_type::first);
            if (found == keys.end()) {
                std::vector<std::string_view> words;
                for (const auto& [word, take] : keys)
                    words.push_back(word);
                refuse("unknown key '" + entry.key + "'", entry.position, didYouMean(entry.key, words));
            }
            found->second(entry);
        }
    }

    template <class Item>
    void list(const SpecValue::Entry& entry, std::vector<Item>& into,
              Item (Reader::*item)(const SpecValue&) const) const
    {
        if (entry.value.kind != SpecValue::Kind::List)
            refuse("'" + entry.key + "' is not a list", entry.position);
        for (const SpecValue& node : entry.value.items)
            into.push_back((this->*item)(node));
    }

    Take text(std::string& into) const
    {
        return [this, &into](const SpecValue::Entry& entry) {
            if (entry.value.kind != SpecValue::Kind::Scalar)
                refuse("'" + entry.key + "' is not a text", entry.position);
            into = entry.value.text;
        };
    }

    Take metric(std::string& into) const
    {
        return [this, &into](const SpecValue::Entry& entry) {
            text(into)(entry);
            if (!isMetric(into))
                refuse("there is no metric '" + into + "'", entry.position);
        };
    }

    Take flag(bool& into) const
    {
        return [this, &into](const SpecValue::Entry& entry) {
            if (entry.value.text != "true" && entry.value.text != "false")
                refuse("'" + entry.key + "' is neither true nor false", entry.position);
            into = entry.value.text == "true";
        };
    }

    Take words(std::vector<std::string>& into) const
    {
        return [this, &into](const SpecValue::Entry& entry) {
            if (entry.value.kind != SpecValue::Kind::List)
                refuse("'" + entry.key + "' is not a list", entry.position);
            for (const SpecValue& item : entry.value.items)
                into.push_back(item.text);
        };
    }

    Take where(Where& into) const
    {
        return [this, &into](const SpecValue::Entry& entry) { into = keysOfRun(entry.value); };
    }

    Where keysOfRun(const SpecValue& node) const
    {
        if (node.kind != SpecValue::Kind::Map)
            refuse("this is not a map of keys", node.position);
        Where keys;
        for (const SpecValue::Entry& key : node.entries())
            keys.emplace_back(key.key, key.value.text);
        return keys;
    }

    Keys quantityKeys(Quantity& quantity) const
    {
        return {{"value", metric(quantity.value)},
                {"from", where(quantity.from)},
                {"over", metric(quantity.over)},
                {"over_from", where(quantity.overFrom)}};
    }

    static Keys joined(Keys keys, Keys more)
    {
        std::ranges::move(more, std::back_inserter(keys));
        return keys;
    }

    ColumnTemplate column(const SpecValue& node) const
    {
        ColumnTemplate column;
        eachKey(node, joined({{"heading", text(column.heading)}}, quantityKeys(column.quantity)));
        if (column.heading.empty() || column.quantity.value.empty())
            refuse("a column needs a heading and a value", node.position);
        return column;
    }

    TableTemplate table(const SpecValue& node) const
    {
        TableTemplate table;
        eachKey(node, {{"id", text(table.id)},
                       {"caption", text(table.caption)},
                       {"part", text(table.part)},
                       {"from", where(table.from)},
                       {"rows", words(table.rows)},
                       {"geometric_mean", flag(table.geometricMean)},
                       {"columns", [&](const SpecValue::Entry& entry) {
                            list(entry, table.columns, &Reader::column);
                        }}});
        if (table.id.empty() || table.rows.empty() || table.columns.empty())
            refuse("a table needs an id, rows and columns", node.position);
        return table;
    }

    FigureTemplate figure(const SpecValue& node) const
    {
        FigureTemplate figure;
        eachKey(node, {{"id", text(figure.id)},
                       {"caption", text(figure.caption)},
                       {"part", text(figure.part)},
                       {"from", where(figure.from)},
                       {"x", text(figure.x)},
                       {"y", text(figure.y)},
                       {"series", text(figure.series)},
                       {"facet", text(figure.facet)},
                       {"label", text(figure.label)},
                       {"fit", text(figure.fit)},
                       {"log_x", flag(figure.logX)},
                       {"log_y", flag(figure.logY)},
                       {"align_at", text(figure.alignAt)},
                       {"about_memory", flag(figure.aboutMemory)},
                       {"timelines", [&](const SpecValue::Entry& entry) {
                            list(entry, figure.timelines, &Reader::keysOfRun);
                        }}});
        const bool chart = !figure.x.empty() && !figure.y.empty();
        if (figure.id.empty() || chart == !figure.timelines.empty())
            refuse("a figure needs an id, and either x and y or timelines", node.position);
        return figure;
    }

    FindingTemplate finding(const SpecValue& node) const
    {
        FindingTemplate finding;
        eachKey(node, joined(
                          {
                              {"rule", text(finding.rule)},
                              {"say", text(finding.say)},
                              {"part", text(finding.part)},
                              {"by", words(finding.by)},
                              {"x", text(finding.x)},
                              {"series", text(finding.series)},
                              {"first", text(finding.first)},
                              {"second", text(finding.second)},
                              {"figure", text(finding.figure)},
                          },
                          quantityKeys(finding.quantity)));
        const std::vector<std::string_view> rules = ruleNames();
        if (std::ranges::find(rules, finding.rule) == rules.end())
            refuse("unknown rule '" + finding.rule + "'", node.position, didYouMean(finding.rule, rules));
        return finding;
    }

    std::string origin_;
};

} // namespace

Template parseTemplate(std::string_view yaml, std::string_view origin)
{
    return Reader(origin).read(yaml);
}

Template loadTemplate(std::string_view study)
{
    const std::filesystem::path file =
        resourcesDirectory() / "studies" / (std::string(study) + ".report.yaml");
    return parseTemplate(installedText(file), file.string());
}

} // namespace tilescope::report
