// hosts: the other machines that --on and HOST:PATH name.

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/import_progress.h"
#include "app/cli/local_time.h"
#include "app/cli/notes.h"
#include "app/cli/on_host.h"
#include "app/cli/print_findings.h"
#include "app/cli/progress.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/base/terminal_text.h"
#include "core/exchange/tables/table.h"
#include "core/hosts/host_check.h"
#include "core/hosts/host_list.h"
#include "core/hosts/install.h"
#include "core/session/protocol/event_stream.h"
#include "core/session/protocol/stop_signals.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

namespace tilescope::cli {

namespace {

using hosts::Host;
using hosts::HostKind;
using hosts::HostList;

struct HostsArguments {
    std::string action;
    std::string name;
    std::string kind;
    std::string address;
    std::vector<std::string> setUp;
    std::vector<std::string> sbatch;
    std::string tasks;
    bool local = false;
    bool files = false;
    std::string job;
    std::string output;
    std::string format = "text";
};

/// \throws Error (Usage)  options of another action
void requireActionFits(const HostsArguments& given)
{
    const bool hasHostOptions = !given.kind.empty() || !given.address.empty() || !given.setUp.empty() ||
                                !given.sbatch.empty() || !given.tasks.empty() || given.local;
    if (hasHostOptions && given.action != "add")
        throw Error{.what = "--kind, --address, --local, --set-up, --sbatch and --tasks describe a host",
                    .where = "tilescope hosts",
                    .remedy = "give them to tilescope hosts add NAME"};
    if ((!given.job.empty() || !given.output.empty()) && given.action != "attach")
        throw Error{.what = "only attach takes a job and -o",
                    .where = "tilescope hosts " + given.action,
                    .remedy = "leave them out"};
    if (given.job.empty() && given.action == "attach" && !given.name.empty())
        throw Error{.what = "no job given",
                    .where = "tilescope hosts attach",
                    .remedy = "tilescope hosts jobs " + given.name + " lists them"};
    if (given.files && given.action != "remove")
        throw Error{.what = "is an option of remove",
                    .where = "--files",
                    .remedy = "write tilescope hosts remove NAME --files"};
    if (given.name.empty() && given.action != "list")
        throw Error{.what = "no host given",
                    .where = "tilescope hosts " + given.action,
                    .remedy = "write tilescope hosts " + given.action + " NAME"};
    if (!given.name.empty() && given.action == "list")
        throw Error{.what = "lists all hosts and takes no name",
                    .where = "tilescope hosts list",
                    .remedy = "tilescope hosts check NAME examines one"};
}

void listHosts(const HostList& all, const std::string& format)
{
    std::vector<Host> shown = all.hosts();
    for (const std::string& name : all.sshNames())
        shown.push_back(*all.find(name));
    exchange::Table table;
    table.rows = shown.size();
    table.whyEmpty = "there are no hosts: tilescope hosts add NAME --address USER@HOST adds one";
    const auto add = [&](exchange::Column column) { table.columns.push_back(std::move(column)); };
    add({.key = "host", .title = "host", .cell = [&](std::size_t i) { return shown[i].name; }});
    add({.key = "kind", .title = "kind", .cell = [&](std::size_t i) {
             return shown[i].kind == HostKind::Slurm ? "slurm" : "ssh";
         }});
    add({.key = "address", .title = "address", .cell = [&](std::size_t i) {
             return shown[i].isLocal ? "this machine" : shown[i].address;
         }});
    add({.key = "from", .title = "from", .cell = [&](std::size_t i) {
             return shown[i].isStored ? "tilescope hosts add" : "~/.ssh/config";
         }});
    add({.key = "set_up",
         .title = "set-up",
         .cell =
             [&](std::size_t i) {
                 std::string lines;
                 for (const std::string& line : shown[i].setUp)
                     lines += (lines.empty() ? "" : "; ") + line;
                 return lines;
             },
         .elidable = true});
    if (format == "json")
        return writeJson(std::cout, table);
    writeTerminal(std::cout, table, exchange::styleOfStandardOutput());
}

int addHost(HostList& all, const HostsArguments& given)
{
    // Options that are not given keep what the host has.
    Host host = all.find(given.name).value_or(Host{.name = given.name});
    if (!given.kind.empty())
        host.kind = given.kind == "slurm" ? HostKind::Slurm : HostKind::Ssh;
    if (!given.address.empty())
        host.address = given.address;
    if (!given.setUp.empty())
        host.setUp = given.setUp;
    if (!given.sbatch.empty())
        host.sbatch = given.sbatch;
    if (!given.tasks.empty())
        host.tasks = int(wholeNumber(given.tasks, "--tasks", 1, Host::kMostTasks));
    if (given.local) {
        host.isLocal = true;
        if (given.address.empty())
            host.address = host.name;
    } else if (!given.address.empty()) {
        host.isLocal = false;
    }
    all.add(host);
    all.save();
    notes() << given.name << " is in the list; examine it with tilescope hosts check " << given.name << '\n';
    return 0;
}

int examineHost(const HostList& all, const HostsArguments& given)
{
    constexpr std::size_t kTopicWidth = 12; // of "connection" and two spaces
    const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
    hosts::SshLink link(all.get(given.name));
    std::vector<machine::Finding> findings;
    checkHost(
        link, hosts::Bundle::ofThisProgram(),
        [&](const machine::Finding& finding) {
            findings.push_back(finding);
            if (given.format == "text")
                printFinding(finding, kTopicWidth);
        },
        signals.first());
    if (given.format == "json")
        printFindings(findings, given.format);
    return exitCodeOf(findings);
}

int listJobs(const HostsArguments& given)
{
    const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
    hosts::RemoteHost host = hostNamed(given.name);
    host.prepare(signals.first());
    const std::vector<hosts::JobEntry> entries = hosts::RemoteJob::list(host, signals.first());
    exchange::Table table;
    table.rows = entries.size();
    table.whyEmpty = "no work lies there";
    const auto add = [&](exchange::Column column) { table.columns.push_back(std::move(column)); };
    add({.key = "job", .title = "job", .cell = [&](std::size_t i) { return entries[i].id; }});
    add({.key = "state", .title = "state", .cell = [&](std::size_t i) { return entries[i].state; }});
    add({.key = "started",
         .title = "started",
         .cell = [&](std::size_t i) { return localTimeText(entries[i].startedUnixNs); },
         .audience = exchange::Audience::People});
    add({.key = "started_unix_ns",
         .title = {},
         .cell = [&](std::size_t i) { return entries[i].startedUnixNs; },
         .audience = exchange::Audience::Programs});
    add({.key = "output",
         .title = "file here",
         .cell = [&](std::size_t i) { return entries[i].output; },
         .elidable = true});
    add({.key = "label",
         .title = "command",
         .cell = [&](std::size_t i) { return entries[i].label; },
         .elidable = true});
    if (given.format == "json")
        writeJson(std::cout, table);
    else
        writeTerminal(std::cout, table, exchange::styleOfStandardOutput());
    return 0;
}

int attach(const HostsArguments& given)
{
    std::optional<Progress> progress;
    const auto show = [&](const std::vector<session::SweepPoint>& points) {
        progress.emplace(points, styleHere(), notes(), std::cerr);
        return [&](const session::Event& event) {
            if (given.format == "json")
                std::cout << session::toJsonLine(event) << std::endl;
            else
                progress->take(event);
        };
    };
    return attachToHost(given.name, given.job, given.output, show);
}

int removeHost(HostList& all, const HostsArguments& given)
{
    if (given.files) {
        const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
        hosts::SshLink link(all.get(given.name));
        link.open(signals.first());
        const auto removed = hosts::removeFiles(link, signals.first());
        notes() << "removed " << escapeForTerminal(removed) << " there\n";
        link.close();
    }
    all.remove(given.name);
    all.save();
    notes() << given.name << " is no longer in the list\n";
    return 0;
}

} // namespace

int hostsCommand(int argc, char** argv)
{
    HostsArguments given;
    Arguments arguments(
        "hosts [list|add|check|jobs|attach|remove] [NAME] [options]",
        "Lists, adds, examines or removes the other machines that --on NAME and NAME:PATH mean. The names "
        "of\n"
        "~/.ssh/config are hosts, too. Connections are those of OpenSSH, with your keys and known_hosts.",
        "tilescope hosts add gpubox --address me@10.0.4.17 --set-up 'source ~/venv/bin/activate'");
    arguments.positional("ACTION", given.action,
                         "list (the default), add, check, jobs (work that lies there), attach or remove");
    arguments.positional("NAME", given.name, "name of the host");
    arguments.positional("JOB", given.job, "with attach: the work to follow and to fetch, from jobs");
    arguments.output("-o,--output", given.output,
                     "with attach: the file that gets its runs; default: the one it was started for");
    arguments.option("--address", given.address,
                     "with add: USER@HOST, HOST or a name of ~/.ssh/config; default: NAME");
    arguments.choice(
        "--kind", given.kind, {"ssh", "slurm"},
        "with add: ssh, where work starts at once (the default), or the login node of a Slurm cluster");
    arguments.repeated(
        "--set-up", given.setUp,
        "with add: a line for bash before anything runs there, such as 'module load cuda'; may be "
        "repeated");
    arguments.flag("--local", given.local,
                   "with add --kind slurm: this machine is the login node, and nothing goes through ssh");
    arguments.repeated("--sbatch", given.sbatch,
                       "with add: an option for sbatch, such as --sbatch=--partition=gpu; may be repeated");
    arguments.option("--tasks", given.tasks,
                     "with add: tasks of Slurm among which the points of a sweep are divided at most (16)");
    arguments.flag("--files", given.files,
                   "with remove: also remove Tilescope's cache there: its programs and finished work");
    arguments.choice("--format", given.format, {"text", "json"},
                     "output format of list, check, jobs and attach");
    arguments.appendix(
        "exit codes of check: 0 nothing is missing; 4 something is missing, with its remedy\n");
    constexpr std::array<std::string_view, 6> kActions{"list", "add", "check", "jobs", "attach", "remove"};
    arguments.suggest("ACTION",
                      [&kActions] { return std::vector<std::string>(kActions.begin(), kActions.end()); });
    arguments.suggest("NAME", suggestedHosts);
    if (!arguments.parse(argc, argv))
        return 0;
    if (given.action.empty())
        given.action = "list";
    if (std::ranges::find(kActions, given.action) == kActions.end())
        throw Error{.what = "unknown action '" + given.action + "'",
                    .where = "tilescope hosts",
                    .remedy = didYouMean(given.action, kActions)};
    requireActionFits(given);
    HostList all = HostList::ofUser();
    try {
        if (given.action == "add")
            return addHost(all, given);
        if (given.action == "check")
            return examineHost(all, given);
        if (given.action == "jobs")
            return listJobs(given);
        if (given.action == "attach")
            return attach(given);
        if (given.action == "remove")
            return removeHost(all, given);
    } catch (const hosts::Stopped&) {
        throw Cancelled();
    }
    listHosts(all, given.format);
    return 0;
}

} // namespace tilescope::cli
