#include "app/cli/arguments.h"
#include "app/cli/ceilings.h"
#include "app/cli/commands.h"
#include "app/cli/file_cache.h"
#include "app/cli/on_host.h"
#include "app/cli/print_findings.h"
#include "app/cli/shared_options.h"
#include "app/cli/sweep_command.h"
#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/exchange/import/import_cache.h"
#include "core/exchange/tables/number.h"
#include "core/machine/machine.h"

#include <iostream>

namespace tilescope::cli {

namespace {

using machine::Finding;
using Verdict = Finding::Verdict;

/// The size of the import cache.
Finding importCache()
{
    const auto cache = exchange::ImportCache::ofUser();
    const auto entries = cache.entries();
    Bytes total;
    for (const auto& entry : entries)
        total += entry.size;
    return {.verdict = Verdict::Ok,
            .topic = "import cache",
            .finding = entries.empty()
                           ? "empty"
                           : counted(std::ssize(entries), "recording") + ", " + exchange::sizeText(total) +
                                 " of at most " + exchange::sizeText(cache.limit()) + ", in " +
                                 cache.folder().string(),
            .remedy = {}};
}

/// The plug-ins that `tilescope record` has for other versions of PyTorch than that of this build.
Finding plugins()
{
    const FileCache cache = FileCache::ofPlugins();
    std::string names;
    for (const auto& file : cache.files)
        names += (names.empty() ? "" : ", ") + file.filename().string();
    return {.verdict = Verdict::Ok,
            .topic = "plug-ins of record",
            .finding = cache.files.empty()
                           ? "none besides the one for PyTorch 2.11"
                           : names + ", " + exchange::sizeText(cache.size) + ", in " + cache.folder.string(),
            .remedy = {}};
}

/// The models of compile: inductor.
Finding compiledModels()
{
    const FileCache cache = FileCache::ofCompiledModels();
    return {.verdict = Verdict::Ok,
            .topic = "compiled models",
            .finding = cache.files.empty()
                           ? "none"
                           : counted(cache.count, "model") + ", " + exchange::sizeText(cache.size) + ", in " +
                                 cache.folder.string(),
            .remedy = {}};
}

} // namespace

int doctorCommand(int argc, char** argv)
{
    std::string format = "text";
    std::string on;
    CeilingsRequest ceilings;
    Arguments arguments(
        "doctor [--format text|json] [--on HOST] [--ceilings [-o FILE] [--device DEVICE] [--force]]",
        "Checks what this machine supports and prints a remedy for everything that is "
        "missing.\nExit code 0: nothing is missing; 4: something is missing.",
        "tilescope doctor");
    arguments.choice("--format", format, {"text", "json"}, "output format");
    arguments.flag("--ceilings", ceilings.asked, "instead measure the ceilings of a device; takes seconds");
    arguments.output("-o,--output", ceilings.file,
                     "save the ceilings in this file, for the rooflines of its runs");
    deviceOption(arguments, ceilings.device);
    arguments.flag("--force", ceilings.force, "save a calibration although the host was busy");
    arguments.option("--on", on, "check this host instead (tilescope hosts)");
    arguments.suggest("--on", suggestedHosts);
    if (!arguments.parse(argc, argv))
        return 0;
    ceilings.format = format;
    ceilings.commandLine = commandLineOf(argc, argv);
    const bool hasCeilings =
        ceilings.asked || !ceilings.file.empty() || !ceilings.device.empty() || ceilings.force;
    if (!on.empty() && hasCeilings)
        throw Error{.what = "checks a host, and does not measure its ceilings",
                    .where = "--on",
                    .remedy = "leave out --ceilings and its options"};
    if (!on.empty())
        return commandOnHost(on, {.arguments = {"doctor", "--format=" + format}, .label = "tilescope doctor"},
                             {});
    if (hasCeilings)
        return measureCeilings(ceilings, std::cout);
    std::vector<Finding> findings = machine::examine();
    findings.push_back(importCache());
    findings.push_back(plugins());
    findings.push_back(compiledModels());
    printFindings(findings, format);
    return exitCodeOf(findings);
}

} // namespace tilescope::cli
