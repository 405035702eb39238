#include "app/cli/record_torch.h"

#include "app/cli/arguments.h"
#include "app/cli/file_cache.h"
#include "app/cli/recorded_program.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/paths.h"
#include "core/base/search_path.h"
#include "core/base/spawn_words.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

std::optional<std::int64_t> parseRate(const std::string& text)
{
    constexpr std::int64_t kLeast = 10;
    constexpr std::int64_t kMost = 10'000;
    const auto rate = parseNumber<std::int64_t>(text);
    return rate && *rate >= kLeast && *rate <= kMost ? rate : std::nullopt;
}

} // namespace

fs::path bootstrapFolder()
{
    return fs::canonical(resourcesDirectory() / "record");
}

fs::path bootstrapCopy(const fs::path& folder)
{
    return folder / "python";
}

void TorchOptions::addTo(Arguments& arguments)
{
    arguments.flag("--no-modules", noModules, "do not record PyTorch's modules, optimizers and data loaders");
    arguments.flag("--no-memory", noMemory, "do not record PyTorch's allocations");
    arguments.flag("--ops", ops, "record PyTorch's ops with the shapes of their tensors");
    arguments.flag("--stacks", stacks, "record the calls of Python functions");
    arguments.option(
        "--host-samples", hostSamples,
        "RATE: note which line of Python runs at each launch, and that many times a second in between, for "
        "`tilescope show FILE waiting`: 10 to 10000 (default 500), lowered by itself where the cores are "
        "full; off: never");
}

void TorchOptions::prepare(RecordedProgram& program, const fs::path& library, const fs::path& folder) const
{
    std::string wanted = "steps";
    for (const auto& [word, isWanted] :
         {std::pair{"modules", !noModules}, {"memory", !noMemory}, {"ops", ops}, {"stacks", stacks}})
        if (isWanted)
            wanted += "," + std::string(word);
    program.setOption("torch", wanted);
    if (hostSamples != "off" && !parseRate(hostSamples))
        throw Error{.what = "'" + hostSamples + "' is not a number of samples a second from 10 to 10000",
                    .where = "--host-samples",
                    .remedy = "give such a number, or off"};
    program.setOption("host_samples", hostSamples);
    const fs::path cache = FileCache::ofPlugins().folder;
    program.setOption("plugins",
                      cache.string() + (cache.empty() ? "" : ":") + library.parent_path().string());
    const fs::path bootstrap = bootstrapCopy(folder);
    fs::create_directory(bootstrap);
    for (const fs::directory_entry& entry : fs::directory_iterator(bootstrapFolder()))
        if (entry.path().extension() == ".py")
            fs::copy_file(entry.path(), bootstrap / entry.path().filename());
    const char* path = std::getenv("PYTHONPATH");
    if (!path || !*path)
        program.setOption("no_path", "1");
    program.set("PYTHONPATH", path && *path ? bootstrap.string() + ":" + path : bootstrap.string());
}

void buildPlugin(const std::string& python)
{
    const fs::path cache = FileCache::ofPlugins().folder;
    if (cache.empty())
        throw Error{.what = "neither XDG_CACHE_HOME nor HOME is set",
                    .where = "tilescope record --build-plugin",
                    .remedy = "set one of them to a folder that you can write",
                    .kind = ErrorKind::Environment};
    const std::string script = (fs::canonical(resourcesDirectory() / "record/plugin") / "build.py").string();
    const std::string folder = cache.string();
    std::cout.flush();
    const std::string program = findProgram(python).string();
    std::vector<std::string> words{python, script, folder};
    std::vector<std::string> variables = environmentWith({});
    errno = ENOENT;
    if (!program.empty())
        execve(program.c_str(), pointersTo(words).data(), pointersTo(variables).data());
    throw Error{.what = "cannot be started: " + std::string(std::strerror(errno)),
                .where = python,
                .remedy = "name the Python that has PyTorch: tilescope record --build-plugin -- PYTHON"};
}

} // namespace tilescope::cli
