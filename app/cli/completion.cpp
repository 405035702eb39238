// completion: what a shell suggests while a command is typed. The scripts pass the line to this program, so that they hold no
// verb and no option.

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "core/base/error.h"
#include "core/base/spelling.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

namespace tilescope::cli {

namespace {

constexpr std::string_view kBash = R"(# bash completion for tilescope
_tilescope()
{
    local line=${COMP_LINE:0:COMP_POINT} files word typed
    local -a answer
    COMPREPLY=()
    mapfile -t answer < <("${COMP_WORDS[0]/#\~/$HOME}" completion --line "$line" 2>/dev/null)
    files=${answer[0]:-none}
    typed=${line##*[[:space:]]}
    # bash replaces only what follows a colon or an equals sign, if these separate words.
    local breaks=${COMP_WORDBREAKS//[^:=]/} before= last=$typed
    if [[ -n $breaks ]]; then
        last=${typed##*["$breaks"]}
        before=${typed%"$last"}
    fi
    for word in "${answer[@]:1}"; do
        word=${word%%$'\t'*}
        COMPREPLY+=("${word#"$before"}")
    done
    [[ $files == none ]] && return
    local pattern=${files#files }
    local -a found
    mapfile -t found < <(compgen -d -- "$last"; compgen -f -X "!$pattern" -- "$last")
    ((${#found[@]})) || mapfile -t found < <(compgen -f -- "$last")
    COMPREPLY+=("${found[@]}")
    ((${#found[@]})) && compopt -o filenames 2>/dev/null
}
complete -F _tilescope tilescope
)";

constexpr std::string_view kZsh = R"(#compdef tilescope
# zsh completion for tilescope
_tilescope()
{
    local -a answer words_ described
    local files word
    answer=("${(@f)$("${(Q)words[1]}" completion --line "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
    files=${answer[1]:-none}
    for word in "${(@)answer[2,-1]}"; do
        [[ -n $word ]] || continue
        words_+=("${word%%$'\t'*}")
        described+=("${word/$'\t'/  -- }")
    done
    ((${#words_})) && compadd -l -d described -a words_
    [[ $files == none ]] && return
    _files -g "${files#files }" || _files
}
if [[ $funcstack[1] == _tilescope ]]; then
    _tilescope "$@"
else
    compdef _tilescope tilescope
fi
)";

constexpr std::string_view kFish = R"(# fish completion for tilescope
function __tilescope_complete
    set -l command (commandline -opc)
    set -l answer ($command[1] completion --line (commandline -cp | string collect) 2>/dev/null)
    set -q answer[1]; or return
    for word in $answer[2..-1]
        echo $word
    end
    if test "$answer[1]" != none
        set -l suffix (string replace -r '^files \*' '' -- $answer[1])
        if test -n "$suffix"
            __fish_complete_suffix (commandline -ct) $suffix
        else
            __fish_complete_path (commandline -ct)
        end
    end
end
complete -c tilescope -f -k -a '(__tilescope_complete)'
)";

struct Shell {
    std::string_view name;
    std::string_view script;
};

constexpr Shell kShells[] = {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};

/// The words of a line that is being typed, the last one not whole: quotes may be open, and nothing is an error.
std::vector<std::string> typedWords(std::string_view line)
{
    std::vector<std::string> words{""};
    char quote = 0;
    bool inWord = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quote ? c == quote : c == '\'' || c == '"') {
            quote = quote ? 0 : c;
            inWord = true;
        } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
            words.back() += line[++i];
            inWord = true;
        } else if (!quote && (c == ' ' || c == '\t' || c == '\n')) {
            if (inWord)
                words.emplace_back();
            inWord = false;
        } else {
            words.back() += c;
            inWord = true;
        }
    }
    return words;
}

void suggestVerbs(const std::string& typed, bool withHelp)
{
    for (const Verb& verb : verbs())
        if (verb.name.starts_with(typed))
            std::cout << verb.name << '\t' << verb.purpose << '\n';
    if (!withHelp)
        return;
    for (const std::string_view word :
         {"help\tprint the help of a verb", "--help\tlist the verbs", "--version\tprint the version"})
        if (word.starts_with(typed))
            std::cout << word << '\n';
}

/// Prints the suggestions for the last word of a line: first which files fit, then words.
void suggestFor(std::string_view line)
{
    std::vector<std::string> words = typedWords(line);
    words.erase(words.begin()); // the program
    if (words.size() < 2) {
        std::cout << "files *.tscope\n";
        suggestVerbs(words.empty() ? std::string() : words.front(), true);
        return;
    }
    const auto batch = std::find(words.begin(), words.end() - 1, "--batch");
    if (batch != words.end() - 1)
        std::rotate(words.begin(), batch, batch + 1);
    if (words.front() == "help") {
        std::cout << "none\n";
        if (words.size() == 2)
            suggestVerbs(words.back(), false);
        return;
    }
    const auto verb = std::ranges::find(verbs(), words.front(), &Verb::name);
    if (verb == verbs().end()) {
        std::cout << "files *.tscope\n"; // of the window
        return;
    }
    words.insert(words.begin() + 1, std::string(Arguments::kComplete));
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    verb->command(static_cast<int>(pointers.size()), pointers.data());
}

} // namespace

int completionCommand(int argc, char** argv)
{
    std::string shell;
    std::string line;
    Arguments arguments("completion bash|zsh|fish",
                        "Prints a script by which a shell completes verbs, options, sections, keys of specs, "
                        "studies, hosts and files.\n"
                        "Load it where the shell starts:\n"
                        "  bash, in ~/.bashrc               source <(tilescope completion bash)\n"
                        "  zsh, in ~/.zshrc after compinit  source <(tilescope completion zsh)\n"
                        "  fish, once                       tilescope completion fish > "
                        "~/.config/fish/completions/tilescope.fish",
                        "tilescope completion bash");
    arguments.positional("SHELL", shell, "bash, zsh or fish");
    arguments.option("--line TEXT", line,
                     "print the suggestions for a command line that is being typed; the scripts use it");
    arguments.suggest("SHELL", [] {
        std::vector<std::string> names;
        for (const Shell& known : kShells)
            names.emplace_back(known.name);
        return names;
    });
    if (!arguments.parse(argc, argv))
        return 0;
    if (!line.empty()) {
        suggestFor(line);
        return 0;
    }
    std::vector<std::string_view> names;
    for (const Shell& known : kShells) {
        if (known.name == shell) {
            std::cout << known.script;
            return 0;
        }
        names.push_back(known.name);
    }
    throw Error{.what = shell.empty() ? "no shell given" : "there are no completions for '" + shell + "'",
                .where = "tilescope completion",
                .remedy = didYouMean(shell, names)};
}

} // namespace tilescope::cli
