// cache: the recordings of imported files.

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/file_cache.h"
#include "app/cli/local_time.h"
#include "app/cli/notes.h"
#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/base/terminal_text.h"
#include "core/exchange/import/import_cache.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/table.h"

#include <iostream>

namespace tilescope::cli {

namespace {

using exchange::sizeText;

void list(const exchange::ImportCache& cache, const std::string& format)
{
    const std::vector<exchange::ImportCache::Entry> entries = cache.entries();
    exchange::Table table;
    table.rows = entries.size();
    table.whyEmpty = "the import cache is empty";
    const auto add = [&](exchange::Column column) { table.columns.push_back(std::move(column)); };
    add({.key = "source",
         .title = "source",
         .cell = [&](std::size_t i) { return entries[i].name.empty() ? "unknown" : entries[i].name; },
         .elidable = true,
         .keep = 2});
    add({.key = "bytes",
         .title = "size",
         .cell = [&](std::size_t i) { return entries[i].size.count; },
         .unit = exchange::Unit::Bytes});
    add({.key = "used",
         .title = "last use",
         .cell = [&](std::size_t i) { return localTimeText(entries[i].usedUnixNs); },
         .audience = exchange::Audience::People});
    add({.key = "used_unix_ns",
         .title = {},
         .cell = [&](std::size_t i) { return entries[i].usedUnixNs; },
         .audience = exchange::Audience::Programs});
    add({.key = "open", .title = "open", .cell = [&](std::size_t i) { return entries[i].isOpen; }});
    add({.key = "file",
         .title = {},
         .cell = [&](std::size_t i) { return entries[i].file.string(); },
         .audience = exchange::Audience::Programs});
    if (format == "json")
        return writeJson(std::cout, table);
    writeTerminal(std::cout, table, exchange::styleOfStandardOutput());
    Bytes total;
    for (const auto& entry : entries)
        total += entry.size;
    if (!entries.empty())
        std::cout << counted(std::ssize(entries), "recording") << ", " << sizeText(total) << " of at most "
                  << sizeText(cache.limit()) << ", in " << escapeForTerminal(cache.folder().string()) << '\n';
    const FileCache plugins = FileCache::ofPlugins();
    if (!plugins.files.empty())
        std::cout << counted(plugins.count, "plug-in") << " of tilescope record, " << sizeText(plugins.size)
                  << ", in " << escapeForTerminal(plugins.folder.string()) << '\n';
    const FileCache models = FileCache::ofCompiledModels();
    if (models.count > 0)
        std::cout << counted(models.count, "model") << " of compile: inductor, " << sizeText(models.size)
                  << ", in " << escapeForTerminal(models.folder.string()) << '\n';
}

} // namespace

int cacheCommand(int argc, char** argv)
{
    std::string action;
    std::string format = "table";
    Arguments arguments(
        "cache [clear] [--format table|json]",
        "Lists the recordings that Tilescope made of other programs' traces when it opened them. `clear` "
        "removes\nthose that are not open, the plug-ins of tilescope record and the models of compile: "
        "inductor. The\nrecordings are in $XDG_CACHE_HOME/tilescope/imports, otherwise "
        "~/.cache/tilescope/imports,\nand take at most 10 GiB: the least recently used are removed first. "
        "TILESCOPE_IMPORT_CACHE sets another\nlimit, such as 20GiB; 0 keeps nothing.",
        "tilescope cache clear");
    arguments.positional("clear", action, "remove the recordings; without it: list them");
    arguments.choice("--format", format, {"table", "json"}, "output format");
    if (!arguments.parse(argc, argv))
        return 0;
    const auto cache = exchange::ImportCache::ofUser();
    if (action.empty()) {
        list(cache, format);
        return 0;
    }
    if (action != "clear")
        throw Error{.what = "unknown action '" + action + "'",
                    .where = "tilescope cache",
                    .remedy = "write tilescope cache, or tilescope cache clear"};
    const FileCache plugins = FileCache::ofPlugins();
    plugins.clear();
    const FileCache models = FileCache::ofCompiledModels();
    models.clear();
    const exchange::ImportCache::Cleared cleared = cache.clear();
    notes() << "removed " << counted(cleared.removed, "recording") << " (" << sizeText(cleared.freed) << ")";
    if (!plugins.files.empty())
        notes() << " and " << counted(plugins.count, "plug-in") << " (" << sizeText(plugins.size) << ")";
    if (!models.files.empty())
        notes() << " and " << counted(models.count, "model") << " of compile: inductor ("
                << sizeText(models.size) << ")";
    if (cleared.open > 0)
        notes() << "; " << counted(cleared.open, "recording") << plural(cleared.open, " is", " are")
                << " open and " << plural(cleared.open, "stays", "stay");
    notes() << '\n';
    return 0;
}

} // namespace tilescope::cli
