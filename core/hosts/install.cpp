#include "core/hosts/install.h"

#include "core/base/terminal_text.h"

#include <algorithm>
#include <utility>

namespace tilescope::hosts {

namespace {

constexpr int kPresent = 40;
constexpr int kDiffers = 41;
constexpr int kAbsent = 42;

std::string firstLine(std::string_view text)
{
    constexpr std::size_t kMostShown = 300;
    return escapeForTerminal(text.substr(0, std::min(text.find('\n'), kMostShown)));
}

Error failure(const SshLink& link, const CommandOutcome& outcome)
{
    const auto says = [&](std::string_view words) { return outcome.err.find(words) != std::string::npos; };
    Error error{.what = {}, .where = link.host().name, .remedy = {}, .kind = ErrorKind::Environment};
    if (says("No space left") || says("quota")) {
        error.what = "there is no space for Tilescope's programs (" + firstLine(outcome.err) + ")";
        error.remedy =
            "make room there, or set XDG_CACHE_HOME to another disk in ~/.profile and as a set-up line";
    } else if (outcome.code == kDiffers) {
        error.what = "what arrived there differs from what was sent (" + firstLine(outcome.err) + ")";
        error.remedy = "try again; check the disk there if it stays so";
    } else if (says("not found")) {
        error.what = "a program is missing there (" + firstLine(outcome.err) + ")";
        error.remedy = "install tar and sha256sum (coreutils) there";
    } else {
        error.what = "Tilescope cannot be copied there (" + firstLine(outcome.err) + ")";
        error.remedy = "check that ~/.cache there is writable";
    }
    return error;
}

} // namespace

bool install(const SshLink& link, const Bundle& bundle, const CopyProgress& progress, std::stop_token stop)
{
    const std::string folder = std::string(kHostCache) + "/" + quotedForHost(bundle.folderName());
    // A look first: the copy below begins with sending.
    const CommandOutcome look = link.run("test -d " + folder + " && exit " + std::to_string(kPresent) +
                                             "; exit " + std::to_string(kAbsent),
                                         {}, stop);
    if (look.code == kPresent)
        return false;
    if (look.code != kAbsent)
        throw noShell(link.host(), look);
    std::vector<ArchivedFile> files = bundle.files;
    files.push_back({.local = {}, .text = bundle.manifest, .name = "manifest"});
    TarStream archive(std::move(files));
    Bytes copied;
    const auto next = [&] {
        const std::string_view piece = archive.next();
        copied += Bytes{std::int64_t(piece.size())};
        if (progress)
            progress(std::min(copied, archive.size()), archive.size());
        return piece;
    };
    const std::string checked = "echo " + quotedForHost(bundle.digest + "  manifest") +
                                " | sha256sum -c - >/dev/null && sha256sum -c manifest >/dev/null";
    const CommandOutcome outcome =
        link.run("umask 077; set -e; c=" + std::string(kHostCache) +
                     "; mkdir -p \"$c\"; t=$(mktemp -d \"$c/part-XXXXXX\"); "
                     "trap 'rm -rf \"$t\"' EXIT; trap 'exit 1' HUP INT TERM; cd \"$t\"; tar -xf -; "
                     "{ " +
                     checked + "; } || exit " + std::to_string(kDiffers) +
                     "; cd /; "
                     // Another process may have installed it meanwhile; -T: not into its folder.
                     "mv -T \"$t\" " +
                     folder + " 2>/dev/null || test -d " + folder,
                 next, stop);
    if (outcome.code != 0)
        throw failure(link, outcome);
    return true;
}

std::string removeFiles(const SshLink& link, std::stop_token stop)
{
    constexpr int kRunning = 43;
    const CommandOutcome outcome =
        link.run("c=" + std::string(kHostCache) +
                     "; for j in \"$c\"/jobs/*/; do test ! -d \"$j\" || test -e \"$j/status\" || exit " +
                     std::to_string(kRunning) +
                     "; done; printf %s \"$c\"; "
                     "rm -rf \"$c\"/[0-9]*-???????????? \"$c\"/part-?????? \"$c\"/jobs \"$c\"/snapshots",
                 {}, stop);
    if (outcome.code == kRunning)
        throw Error{.what = "work is running there, or was not fetched",
                    .where = link.host().name,
                    .remedy = "see tilescope hosts jobs " + link.host().name};
    if (outcome.code != 0)
        throw Error{.what = "not everything could be removed (" + firstLine(outcome.err) + ")",
                    .where = link.host().name,
                    .kind = ErrorKind::Environment};
    return firstLine(outcome.out);
}

std::string hostCommand(const SshLink& link, const Bundle& bundle, const std::string& arguments)
{
    // Without exec: of a program that a signal ends, ssh says the same as of a lost connection; a shell exits with 128
    // and the signal.
    return link.withSetUp(std::string(kHostCache) + "/" + quotedForHost(bundle.folderName()) +
                          "/bin/tilescope " + arguments + "; exit $?");
}

} // namespace tilescope::hosts
