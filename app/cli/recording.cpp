#include "app/cli/recording.h"

#include "app/cli/import_progress.h"
#include "app/cli/on_host.h"
#include "core/base/plural.h"
#include "core/base/shell_word.h"
#include "core/base/terminal_text.h"
#include "core/exchange/import/import_cache.h"

#include <iostream>
#include <map>

namespace tilescope::cli {

namespace {

std::string sentenceOf(const exchange::CachedImport& import, const std::filesystem::path& named)
{
    const std::string name = escapeForTerminal(named.string());
    std::string text;
    if (!import.isNew)
        text = "using the recording that was imported from " + name;
    else if (import.fallback.empty())
        text = "imported " + name + " into the import cache (tilescope cache)";
    else
        text = "imported " + name + " for this command only: " + escapeForTerminal(import.fallback);
    if (import.lost > 0)
        text += "; " + counted(import.lost, "record") + plural(import.lost, " was", " were") +
                " lost (tilescope show " + shellPath(named) + " losses)";
    return text;
}

/// By recording in the import cache: the path that the user gave. Main thread only.
std::map<std::string, std::string>& namedRecordings()
{
    static std::map<std::string, std::string> named;
    return named;
}

} // namespace

void rememberNamed(const std::filesystem::path& file, const std::filesystem::path& named)
{
    namedRecordings()[file.string()] = named.string();
    namedRecordings()[shellPath(file)] = shellPath(named);
}

Recording recordingOf(const std::filesystem::path& named)
{
    std::vector<std::filesystem::path> sources = fetchedFiles(named.string());
    if (sources.empty())
        sources.push_back(named);
    if (sources.size() == 1 && !exchange::isForeign(sources.front())) {
        if (sources.front() != named)
            rememberNamed(sources.front(), named);
        return {.file = sources.front()};
    }
    std::shared_ptr<const exchange::CachedImport> import;
    const auto cache = exchange::ImportCache::ofUser();
    withImportProgress([&](const exchange::ImportWatch& watch) { import = cache.open(sources, watch); });
    std::cerr << sentenceOf(*import, named) << std::endl;
    rememberNamed(import->file, named);
    return {.file = import->file, .import = import};
}

std::vector<Recording> recordingsOf(const std::vector<std::string>& named)
{
    std::vector<Recording> recordings;
    for (const std::string& each : named)
        recordings.push_back(recordingOf(each));
    return recordings;
}

std::string asNamed(std::string text)
{
    for (const auto& [file, named] : namedRecordings())
        if (const std::size_t at = text.find(file); at != std::string::npos)
            text.replace(at, file.size(), named);
    return text;
}

} // namespace tilescope::cli
