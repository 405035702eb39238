#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/print_table.h"
#include "app/cli/shared_options.h"
#include "core/config/spec_file.h"

namespace tilescope::cli {

int presetsCommand(int argc, char** argv)
{
    std::string format = "table";
    Arguments arguments("presets [--format table|json|csv]", "Lists the model sizes for the key `size`.",
                        "tilescope presets --format json");
    tableFormatOption(arguments, format);
    if (!arguments.parse(argc, argv))
        return 0;

    const std::vector<config::SizePreset>& presets = config::sizePresets();
    const auto integer = [&](std::string key, std::string title, auto value) {
        return exchange::Column{
            .key = std::move(key), .title = std::move(title), .cell = [&presets, value](std::size_t row) {
                return exchange::Cell(static_cast<std::int64_t>(value(presets[row])));
            }};
    };
    exchange::Table table;
    table.rows = presets.size();
    table.columns.push_back({.key = "size", .title = "size", .cell = [&](std::size_t row) {
                                 return exchange::Cell(presets[row].name);
                             }});
    table.columns.push_back(integer("d_model", "d_model", [](const auto& p) { return p.dModel; }));
    table.columns.push_back(integer("d_ff", "d_ff", [](const auto& p) { return p.dFf; }));
    table.columns.push_back(integer("layers", "layers", [](const auto& p) { return p.layers; }));
    table.columns.push_back(integer("heads", "heads", [](const auto& p) { return p.heads; }));
    table.columns.push_back(integer("parameters", "parameters", [](const config::SizePreset& p) {
        return config::parameterCount(config::specFromOverrides(Workload::Lm, {{"size", p.name}}).front());
    }));
    const auto text = [&](std::string key, std::string title, auto value) {
        return exchange::Column{.key = std::move(key),
                                .title = std::move(title),
                                .cell = [&presets, value](std::size_t row) { return value(presets[row]); }};
    };
    table.columns.push_back(text("handouts", "course handouts", [](const config::SizePreset& p) {
        return p.handouts.empty() ? exchange::Cell() : exchange::Cell(p.handouts);
    }));
    table.columns.push_back(text("defaults", "further defaults", [](const config::SizePreset& p) {
        std::string keys;
        for (const auto& [key, value] : p.defaults)
            keys += (keys.empty() ? "" : ", ") + key + " " + value;
        return keys.empty() ? exchange::Cell() : exchange::Cell(keys);
    }));
    printTable(table, format);
    return 0;
}

} // namespace tilescope::cli
