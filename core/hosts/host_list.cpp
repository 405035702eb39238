#include "core/hosts/host_list.h"

#include "core/base/environment_variable.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/output_file.h"
#include "core/base/spelling.h"
#include "core/hosts/json_fields.h"

#include <nlohmann/json.hpp>

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

namespace tilescope::hosts {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr Bytes kMostList{1 << 20};
constexpr std::size_t kMostName = 64;

bool isNameCharacter(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9') || character == '.' || character == '_' || character == '-';
}

bool isPlainWord(std::string_view text, std::size_t most)
{
    return !text.empty() && text.size() <= most && text.front() != '-' && text.front() != '.' &&
           std::ranges::all_of(text, isNameCharacter);
}

void requireLine(const std::string& line, const char* option)
{
    constexpr std::size_t kMostLine = 4096;
    const bool hasControl = std::ranges::any_of(line, [](char character) {
        const auto byte = static_cast<unsigned char>(character);
        return byte < 0x20 || byte == 0x7f;
    });
    if (hasControl || line.size() > kMostLine)
        throw Error{.what = hasControl ? "a line has control characters" : "a line is too long",
                    .where = option,
                    .remedy = "write one command per " + std::string(option)};
}

std::vector<std::string> textsIn(const Json& object, const char* key)
{
    std::vector<std::string> texts;
    if (const auto found = object.find(key); found != object.end() && found->is_array())
        for (const Json& each : *found)
            if (each.is_string())
                texts.push_back(each.get<std::string>());
    return texts;
}

/// Lower case; OpenSSH's keywords are compared so.
std::string lowered(std::string text)
{
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    return text;
}

void collectNames(const fs::path& file, int depth, std::vector<std::string>& names)
{
    constexpr int kMostDepth = 8; // as OpenSSH's own limit on includes, rounded down
    std::error_code error;
    if (depth > kMostDepth || !fs::is_regular_file(file, error) ||
        fs::file_size(file, error) > std::uintmax_t(kMostList.count))
        return;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        std::ranges::replace(line, '=', ' ');
        std::istringstream words(line);
        std::string keyword;
        words >> keyword;
        keyword = lowered(keyword);
        for (std::string word; (keyword == "host" || keyword == "include") && words >> word;) {
            if (keyword == "host") {
                if (isHostName(word) && std::ranges::find(names, word) == names.end())
                    names.push_back(word);
                continue;
            }
            if (word.starts_with("~/"))
                word = environmentVariable("HOME") + word.substr(1);
            glob_t found{};
            const fs::path pattern =
                fs::path(word).is_absolute() ? fs::path(word) : file.parent_path() / word;
            if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
                for (std::size_t i = 0; i < found.gl_pathc; ++i)
                    collectNames(found.gl_pathv[i], depth + 1, names);
            globfree(&found);
        }
    }
}

} // namespace

bool isHostName(std::string_view text)
{
    return isPlainWord(text, kMostName);
}

void requireAddress(std::string_view text)
{
    constexpr std::size_t kMostHost = 253;
    const std::size_t at = text.find('@');
    const std::string_view host = at == std::string_view::npos ? text : text.substr(at + 1);
    const bool hasUser = at == std::string_view::npos || isPlainWord(text.substr(0, at), kMostName);
    if (hasUser && isPlainWord(host, kMostHost))
        return;
    throw Error{.what = "'" + std::string(text.substr(0, kMostHost)) + "' is not the address of a host",
                .where = "--address",
                .remedy = "write HOST or USER@HOST; ~/.ssh/config can give a port and more to a name"};
}

std::vector<std::string> namesOfSshConfig(const fs::path& file)
{
    std::vector<std::string> names;
    collectNames(file, 0, names);
    return names;
}

HostList::HostList(fs::path file, fs::path sshConfig) : file_(std::move(file))
{
    read();
    for (const std::string& name : namesOfSshConfig(sshConfig))
        if (std::ranges::find(hosts_, name, &Host::name) == hosts_.end())
            sshNames_.push_back(name);
}

HostList HostList::ofUser()
{
    const std::string home = environmentVariable("HOME");
    std::string folder = environmentVariable("XDG_CONFIG_HOME");
    if (folder.empty() && home.empty())
        throw Error{.what = "neither XDG_CONFIG_HOME nor HOME is set",
                    .where = "list of hosts",
                    .remedy = "set HOME to your home folder",
                    .kind = ErrorKind::Environment};
    if (folder.empty())
        folder = home + "/.config";
    return HostList(fs::path(folder) / "tilescope/hosts.json",
                    home.empty() ? fs::path() : fs::path(home) / ".ssh/config");
}

void HostList::read()
{
    struct stat facts {};
    if (stat(file_.c_str(), &facts) != 0)
        return; // no host was added yet
    if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        throw Error{.what = "can be written by other users, and its lines run on your hosts",
                    .where = file_.string(),
                    .remedy = "look at it, then run chmod 600 on it"};
    const Json list = Json::parse(readInputFile(file_, kMostList, "list of hosts"), nullptr, false);
    const Error damaged{.what = "is not a list of hosts",
                        .where = file_.string(),
                        .remedy = "move it away, then add the hosts again with tilescope hosts add"};
    if (!list.is_object() || !list.contains("hosts") || !list["hosts"].is_array())
        throw damaged;
    for (const Json& each : list["hosts"]) {
        if (!each.is_object() || !each.contains("name") || !each["name"].is_string())
            throw damaged;
        Host host{.name = each["name"].get<std::string>()};
        host.kind = each.value("kind", Json()) == "slurm" ? HostKind::Slurm : HostKind::Ssh;
        if (const auto address = each.find("address"); address != each.end() && address->is_string())
            host.address = address->get<std::string>();
        host.setUp = textsIn(each, "set_up");
        host.sbatch = textsIn(each, "sbatch");
        host.isLocal = flagIn(each, "local");
        if (const std::int64_t tasks = numberIn(each, "tasks"); tasks > 0 && tasks <= Host::kMostTasks)
            host.tasks = int(tasks);
        try {
            add(std::move(host));
        } catch (const Error& error) {
            throw Error{.what = error.where + ": " + error.what,
                        .where = file_.string(),
                        .remedy = "mend that entry, or move the file away and add the hosts again"};
        }
    }
}

std::optional<Host> HostList::find(std::string_view name) const
{
    if (const auto found = std::ranges::find(hosts_, name, &Host::name); found != hosts_.end())
        return *found;
    if (std::ranges::find(sshNames_, name) != sshNames_.end())
        return Host{.name = std::string(name), .address = std::string(name), .isStored = false};
    return {};
}

Host HostList::get(std::string_view name) const
{
    if (auto host = find(name))
        return *std::move(host);
    std::vector<std::string_view> names(sshNames_.begin(), sshNames_.end());
    for (const Host& host : hosts_)
        names.push_back(host.name);
    const std::string_view near = nearestWord(name, names);
    throw Error{.what = "no host of this name",
                .where = std::string(name.substr(0, kMostName)),
                .remedy = near.empty()
                              ? "tilescope hosts lists the hosts; tilescope hosts add NAME adds one"
                              : "did you mean '" + std::string(near) + "'? tilescope hosts lists the hosts"};
}

void HostList::add(Host host)
{
    if (!isHostName(host.name))
        throw Error{.what = "'" + host.name.substr(0, kMostName) + "' is not a name for a host",
                    .where = "tilescope hosts",
                    .remedy = "use letters, digits and ._- and begin with a letter or a digit"};
    if (host.address.empty())
        host.address = host.name;
    requireAddress(host.address);
    for (const std::string& line : host.setUp)
        requireLine(line, "--set-up");
    for (const std::string& option : host.sbatch) {
        requireLine(option, "--sbatch");
        if (!option.starts_with('-'))
            throw Error{.what = "'" + option + "' is not an option of sbatch",
                        .where = "--sbatch",
                        .remedy = "write it like --sbatch=--partition=gpu"};
        const auto isFor = [&](std::initializer_list<std::string_view> names) {
            return std::ranges::any_of(names, [&](std::string_view name) {
                const std::string_view rest =
                    std::string_view(option).substr(option.starts_with(name) ? name.size() : 0);
                // A short option may have its value behind it: -a0-3.
                return option.starts_with(name) &&
                       (!name.starts_with("--") || rest.empty() || rest.front() == '=');
            });
        };
        if (isFor({"--array", "-a"}))
            throw Error{.what = "Tilescope numbers the tasks of an array itself",
                        .where = "--sbatch=" + option,
                        .remedy = "leave it out; --tasks gives the number of tasks"};
        if (isFor({"--wrap", "--output", "-o", "--error", "-e", "--chdir", "-D", "--parsable", "--wait", "-W",
                   "--test-only", "--quiet", "-Q", "--help", "-h", "--version", "-V", "--requeue"}))
            throw Error{.what =
                            "Tilescope gives sbatch an option of its own for it, or needs what it changes",
                        .where = "--sbatch=" + option,
                        .remedy = "leave it out"};
    }
    if (!host.sbatch.empty() && host.kind != HostKind::Slurm)
        throw Error{.what = "requires --kind slurm", .where = "--sbatch", .remedy = "add --kind slurm"};
    if (host.tasks < 1 || host.tasks > Host::kMostTasks)
        throw Error{.what = std::to_string(host.tasks) + " is not a number of tasks",
                    .where = "--tasks",
                    .remedy = "give 1 to " + std::to_string(Host::kMostTasks)};
    if (host.tasks != Host::kUsualTasks && host.kind != HostKind::Slurm)
        throw Error{.what = "requires --kind slurm", .where = "--tasks", .remedy = "add --kind slurm"};
    if (host.isLocal && host.kind != HostKind::Slurm)
        throw Error{.what = "is this machine, where work without Slurm needs no host",
                    .where = "--local",
                    .remedy = "add --kind slurm, or run without --on"};
    if (host.isLocal && host.address != host.name)
        throw Error{.what = "is this machine and has no address",
                    .where = "--local",
                    .remedy = "leave --address out"};
    host.isStored = true;
    std::erase(sshNames_, host.name);
    if (const auto found = std::ranges::find(hosts_, host.name, &Host::name); found != hosts_.end())
        *found = std::move(host);
    else
        hosts_.push_back(std::move(host));
}

void HostList::remove(std::string_view name)
{
    if (std::erase_if(hosts_, [name](const Host& host) { return host.name == name; }) > 0)
        return;
    const bool isInConfig = std::ranges::find(sshNames_, name) != sshNames_.end();
    get(name); // throws where there is no such host at all
    throw Error{.what = isInConfig ? "is not in the list but in ~/.ssh/config" : "is not in the list",
                .where = std::string(name),
                .remedy = "remove it from that file"};
}

void HostList::save() const
{
    Json list = Json::array();
    for (const Host& host : hosts_)
        list.push_back({{"name", host.name},
                        {"kind", host.kind == HostKind::Slurm ? "slurm" : "ssh"},
                        {"address", host.address},
                        {"set_up", host.setUp},
                        {"sbatch", host.sbatch},
                        {"tasks", host.tasks},
                        {"local", host.isLocal}});
    std::error_code error;
    fs::create_directories(file_.parent_path(), error);
    if (error)
        throw Error{.what = "its folder cannot be created (" + error.message() + ")",
                    .where = file_.string(),
                    .remedy = "check the permissions of the folders above",
                    .kind = ErrorKind::Failure};
    OutputFile output(file_);
    output.write([&](std::ostream& out) {
        out << Json{{"version", 1}, {"hosts", std::move(list)}}.dump(1, ' ', false,
                                                                     Json::error_handler_t::replace)
            << '\n';
    });
    output.commit();
    fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write, error);
}

} // namespace tilescope::hosts
