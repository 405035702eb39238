#include "core/hosts/slurm.h"

#include "core/base/number_text.h"
#include "core/hosts/ssh_link.h"
#include "core/machine/program_output.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace tilescope::hosts {

namespace {

bool isOneOf(std::string_view word, std::initializer_list<std::string_view> words)
{
    return std::ranges::find(words, word) != words.end();
}

/// Whether an option of sbatch says which GPUs or nodes a job gets.
bool choosesGpus(const std::string& option)
{
    constexpr std::array<std::string_view, 6> kOptions{"--gres", "--gpus", "-G", "--nodes", "-N", "--tres"};
    return std::ranges::any_of(kOptions, [&](std::string_view each) { return option.starts_with(each); });
}

/// In patterns of sbatch a per cent sign begins a variable.
std::string asPattern(const std::string& path)
{
    std::string pattern;
    for (const char character : path)
        pattern += character == '%' ? std::string("%%") : std::string(1, character);
    return pattern;
}

} // namespace

std::string taskFile(const char* name, int task, int tasks)
{
    return tasks > 1 ? std::string(name) + "-" + std::to_string(task) : name;
}

std::vector<std::string> sbatchWords(const JobFolder& folder, const std::vector<std::string>& words,
                                     const std::vector<std::string>& options, const std::string& cwd,
                                     int tasks, int gpus)
{
    // Signals reach the work, not a shell around it.
    std::string line = "exec";
    for (const std::string& word : words)
        line += ' ' + quotedForHost(word);
    std::vector<std::string> all{"sbatch", "--parsable", "--job-name=tilescope", "--no-requeue"};
    if (tasks > 1)
        all.push_back("--array=0-" + std::to_string(tasks - 1));
    if (gpus > 1 && std::ranges::none_of(options, choosesGpus))
        all.insert(all.end(), {"--nodes=1", "--gres=gpu:" + std::to_string(gpus)});
    all.insert(all.end(), options.begin(), options.end());
    // The work has files of its own; this one tells why it did not start.
    all.insert(all.end(), {"--output=" + asPattern(folder.file("node").string()) + (tasks > 1 ? "-%a" : ""),
                           "--open-mode=append"});
    if (!cwd.empty())
        all.push_back("--chdir=" + cwd);
    all.push_back("--wrap=" + line);
    return all;
}

std::string slurmNumber(const JobFolder& folder)
{
    const std::string text = textOfFile(folder.file(kSlurmFile)); // NUMBER or NUMBER;CLUSTER
    return text.substr(0, text.find_first_not_of("0123456789"));
}

bool SlurmTask::hasEnded() const
{
    return wasEndedBySlurm() || isOneOf(state, {"COMPLETED", "FAILED", "CANCELLED"});
}

bool SlurmTask::wasEndedBySlurm() const
{
    return isOneOf(
        state, {"TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "REVOKED"});
}

SlurmTasks parseSlurmTasks(std::string_view text)
{
    SlurmTasks tasks;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find('|');
        const std::size_t second = line.find('|', first + 1);
        if (first == std::string::npos || second == std::string::npos)
            continue;
        // A job that is no array has no number of a task.
        const int task = parseNumber<int>(line.substr(0, first)).value_or(0);
        tasks[task] = {.state = line.substr(first + 1, second - first - 1),
                       .reason = line.substr(second + 1)};
    }
    return tasks;
}

SlurmTasks slurmTasks(const std::string& number, bool& isKnown)
{
    const auto answer = machine::outputOf(
        {"squeue", "--noheader", "--array", "--states=all", "--jobs=" + number, "--format=%K|%T|%r"}, {},
        true);
    isKnown = answer.text.find("Invalid job id") == std::string::npos;
    return answer.code == 0 ? parseSlurmTasks(answer.text) : SlurmTasks();
}

std::string queueText(const SlurmTasks& tasks, int of)
{
    std::string pending;
    int running = 0;
    for (const auto& [number, task] : tasks) {
        if (task.state == "PENDING" && pending.empty())
            pending = "PENDING " + task.reason;
        else if (task.state != "PENDING" && !task.hasEnded())
            ++running;
    }
    if (running == 0)
        return pending;
    return of == 1 ? "RUNNING"
                   : "RUNNING " + std::to_string(running) + " of " + std::to_string(of) + " tasks" +
                         (pending.empty() ? "" : ", others " + pending);
}

void signalSlurmJob(const std::string& number, std::string_view signal)
{
    if (signal != "USR1") {
        machine::outputOf({"scancel", number}, {}, false);
        return;
    }
    machine::outputOf({"scancel", "--state=PENDING", number}, {}, false);
    machine::outputOf({"scancel", "--batch", "--signal=USR1", number}, {}, false);
}

} // namespace tilescope::hosts
