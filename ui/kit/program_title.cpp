#include "ui/kit/program_title.h"

#include "core/base/error.h"
#include "core/base/shell_word.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

namespace tilescope::ui {

namespace {

// The longest first.
constexpr std::array<std::string_view, 12> kSuffixes = {
    ".pt.trace.json.gz", ".trace.json.gz", ".pt.trace.json", ".trace.json", ".json.gz", ".json",
    ".nsys-rep",         ".xplane.pb",     ".pickle",        ".pkl",        ".sqlite",  ".rpd"};
constexpr std::array<std::string_view, 3> kScripts = {".py", ".ipynb", ".sh"};

/// Programs that start another one, which the title names.
constexpr std::array<std::string_view, 27> kLaunchers = {
    "accelerate", "chrt",   "conda", "coverage", "deepspeed", "env",     "exec",     "ipython", "mpiexec",
    "mpirun",     "nice",   "nohup", "numactl",  "pdm",       "pipenv",  "poetry",   "pypy3",   "setsid",
    "srun",       "stdbuf", "sudo",  "taskset",  "time",      "timeout", "torchrun", "uv",      "xvfb-run"};
/// Modules that start another one.
constexpr std::array<std::string_view, 4> kLauncherModules = {
    "torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch", "coverage"};

std::string_view withoutFolder(std::string_view path)
{
    const std::size_t slash = path.find_last_of('/');
    return slash == std::string_view::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

bool isAnyOf(const auto& list, std::string_view word)
{
    return std::ranges::find(list, word) != std::end(list);
}

bool endsWithAnyOf(const auto& endings, std::string_view word)
{
    return std::ranges::any_of(endings, [word](std::string_view ending) {
        return word.size() > ending.size() && word.ends_with(ending);
    });
}

bool isPython(std::string_view program)
{
    constexpr std::string_view kPython = "python";
    return program.starts_with(kPython) &&
           program.find_first_not_of("0123456789.t", kPython.size()) == std::string_view::npos;
}

bool isAssignment(std::string_view word)
{
    const std::size_t equals = word.find('=');
    return equals != std::string_view::npos && equals > 0 && word[0] != '-' &&
           word.substr(0, equals).find('/') == std::string_view::npos;
}

std::string joined(std::string_view first, const std::vector<std::string>& words, std::size_t from)
{
    std::string text(first);
    for (std::size_t i = from; i < words.size(); ++i)
        text.append(" ").append(words[i]);
    return text;
}

/// The place of the word that names what runs, and whether it is a module. The number of words: there is none.
std::pair<std::size_t, bool> programOf(const std::vector<std::string>& words)
{
    std::size_t at = 0;
    while (at < words.size() && isAssignment(words[at]))
        ++at;
    const std::size_t first = at;
    if (at == words.size())
        return {at, false};
    const std::string_view program = withoutFolder(words[at]);
    if (!isPython(program) && !isAnyOf(kLaunchers, program))
        return {at, false};
    for (++at; at < words.size(); ++at) {
        const std::string_view word = words[at];
        if (word == "-c")
            return {first, false}; // the code itself is no title
        if (word == "-m" && at + 1 < words.size() && !isAnyOf(kLauncherModules, words[at + 1]))
            return {at + 1, true};
        if (endsWithAnyOf(kScripts, word) && word[0] != '-')
            return {at, false};
    }
    // A program that is no script, behind launchers whose options are not known: the last word with a folder.
    for (at = words.size() - 1; at > first; --at)
        if (words[at].find('/') != std::string::npos && words[at][0] != '-' && !isAssignment(words[at]))
            return {at, false};
    return {first, false};
}

} // namespace

std::string programTitle(std::string_view name)
{
    // "rank0.json.gz and 1 more" is several files, "rank0 +1".
    constexpr std::string_view kAnd = " and ";
    const std::size_t end = std::min(name.find(' '), name.size());
    std::string_view more = name.substr(end);
    more = more.starts_with(kAnd) ? more.substr(kAnd.size()) : std::string_view{};
    for (const std::string_view suffix : kSuffixes)
        if (const std::string_view file = name.substr(0, end);
            file.size() > suffix.size() && file.ends_with(suffix) && (end == name.size() || !more.empty()))
            return std::string(withoutFolder(file.substr(0, file.size() - suffix.size()))) +
                   (more.empty() ? std::string() : " +" + std::string(more.substr(0, more.find(' '))));
    std::vector<std::string> words;
    try {
        words = splitShellWords(name);
    } catch (const Error&) {
        return std::string(name); // a sentence, or cut in a quote
    }
    const auto [at, isModule] = programOf(words);
    if (at >= words.size())
        return std::string(name);
    return joined(isModule ? std::string_view(words[at]) : withoutFolder(words[at]), words, at + 1);
}

} // namespace tilescope::ui
