#include "core/hosts/slurm.h"

#include "core/hosts/ssh_link.h"
#include "core/machine/program_output.h"

namespace tilescope::hosts {

std::vector<std::string> sbatchWords(const JobFolder& folder, const std::vector<std::string>& words,
                                     const std::vector<std::string>& options, const std::string& cwd)
{
    std::string line = "exec";
    for (const std::string& word : words)
        line += ' ' + quotedForHost(word);
    std::vector<std::string> all{"sbatch", "--wait", "--parsable", "--job-name=tilescope", "--no-requeue"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--output=" + folder.file("out").string(),
                           "--error=" + folder.file("err").string(), "--open-mode=append"});
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

std::string slurmState(const std::string& number)
{
    return machine::outputOf({"squeue", "--noheader", "--jobs=" + number, "--format=%T %r"}, {}, false).text;
}

void cancelSlurmJob(const std::string& number)
{
    machine::outputOf({"scancel", number}, {}, false);
}

void pauseSlurmJob(const std::string& number)
{
    if (slurmState(number).starts_with("PENDING"))
        return cancelSlurmJob(number);
    machine::outputOf({"scancel", "--batch", "--signal=USR1", number}, {}, false);
}

} // namespace tilescope::hosts
