#include "core/session/supervisor/slurm_script.h"

#include "core/base/error.h"
#include "core/session/array_sbatch.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope::session {

namespace {

/// Inserts `lines` before the line that begins with `mark`.
void insertBefore(std::string& script, std::string_view mark, const std::string& lines)
{
    const std::size_t at = script.find("\n" + std::string(mark));
    if (at == std::string::npos)
        throw Error{.what = fmt::format("the template of job scripts has no line '{}'", mark),
                    .where = "array.sbatch",
                    .kind = ErrorKind::Failure};
    script.insert(at + 1, lines);
}

/// A here-document delimiter that is not a line of the text.
std::string endWord(std::string_view text)
{
    std::string word = "END_OF_SPEC";
    while (("\n" + std::string(text) + "\n").find("\n" + word + "\n") != std::string::npos)
        word += '_';
    return word;
}

std::string onHost(std::string_view host)
{
    return host.empty() ? std::string() : " --on " + shellWord(std::string(host));
}

/// A name that is valid for both a file and a job.
std::string fileWord(std::string_view name)
{
    std::string word;
    for (const char c : name)
        word += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' ? c : '_';
    while (word.starts_with('.'))
        word.erase(0, 1);
    return word.empty() ? "sweep" : word.substr(0, 80);
}

} // namespace

std::string batchLine(const std::filesystem::path& spec, const std::filesystem::path& file,
                      std::string_view host)
{
    return "tilescope --batch " + shellPath(spec) + " -o " + shellPath(file) + onHost(host);
}

std::string batchText(std::string_view yaml, const std::filesystem::path& file, std::string_view host)
{
    const std::string end = endWord(yaml);
    return fmt::format("tilescope --batch - -o {}{} <<'{}'\n{}{}{}\n", shellPath(file), onHost(host), end,
                       yaml, yaml.ends_with('\n') ? "" : "\n", end);
}

std::string slurmScript(std::string_view name, std::string_view yaml, const std::filesystem::path& folder,
                        std::int64_t tasks)
{
    const std::string word = fileWord(name);
    const std::string end = endWord(yaml);
    const bool closed = yaml.ends_with('\n');
    std::string script(kArraySbatch);
    insertBefore(script, "#SBATCH --nodes=",
                 fmt::format("#SBATCH --array=0-{}\n", std::max<std::int64_t>(tasks, 1) - 1));
    insertBefore(script, "# --- Which shard",
                 fmt::format("# --- This sweep: {} ---\n"
                             "# Submit it with: sbatch THIS_FILE. Put the files of all tasks together with\n"
                             "# `tilescope merge OUT/shard-*.tscope -o all.tscope`.\n"
                             "OUT=${{OUT:-{}}}\n"
                             "if [[ -z ${{SPEC:-}} ]]; then\n"
                             "    SPEC=$(mktemp -d)/{}.yaml\n"
                             "    cat >\"$SPEC\" <<'{}'\n{}{}{}\n"
                             "fi\n\n",
                             word, shellWord(folder.string()), word, end, yaml, closed ? "" : "\n", end));
    return script;
}

} // namespace tilescope::session
