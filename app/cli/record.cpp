#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/recorded_program.h"
#include "app/cli/sweep_command.h"
#include "core/base/current_error.h"
#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/base/shell_word.h"
#include "core/base/terminal_text.h"
#include "core/exchange/import/importer.h"
#include "core/exchange/text.h"
#include "core/record/command_line.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* kCudaVariable = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxVariable = "NVTX_INJECTION64_PATH";

void requireNoOtherTool()
{
    for (const char* variable : {kCudaVariable, kNvtxVariable})
        if (const char* value = std::getenv(variable); value && *value)
            throw Error{.what = "another tool is set to trace this program: " + std::string(value),
                        .where = variable,
                        .mend = "unset it, or run the program without tilescope record"};
}

/// A library that others may write would run in the user's programs.
void requireSafe(const fs::path& path)
{
    struct stat facts {};
    if (stat(path.c_str(), &facts) != 0)
        throw Error{.what = "is missing",
                    .where = path.string(),
                    .mend = "install Tilescope with its library",
                    .kind = ErrorKind::Environment};
    const bool isOwn = facts.st_uid == 0 || facts.st_uid == geteuid();
    if (!isOwn || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        throw Error{.what = "can be written by other users, so it is not loaded into a program",
                    .where = path.string(),
                    .mend = isOwn ? "run chmod go-w on it" : "install Tilescope as root or as yourself",
                    .kind = ErrorKind::Environment};
}

fs::path recorderLibrary()
{
    const fs::path library = executablePath().parent_path().parent_path() / "lib/libtilescope_record.so";
    std::error_code ignored;
    const fs::path real = fs::canonical(library, ignored);
    if (real.empty())
        requireSafe(library);
    requireSafe(real);
    requireSafe(real.parent_path());
    return real;
}

/// A folder beside the output that only the user can read.
fs::path makeWorkingFolder(const fs::path& output)
{
    std::string name = fs::absolute(output).string() + ".recording-XXXXXX";
    if (!mkdtemp(name.data()))
        throw Error{.what = "no folder can be created beside it",
                    .where = output.string(),
                    .mend = "check that its folder exists and is writable"};
    return name;
}

/// Python ignores PYTHONPATH after these options.
bool ignoresBootstrap(const std::vector<std::string>& command)
{
    if (!fs::path(command.front()).filename().string().starts_with("python"))
        return false;
    for (std::size_t i = 1; i < command.size() && command[i].starts_with('-'); ++i)
        if (!command[i].starts_with("--") && command[i].find_first_of("IES") != std::string::npos)
            return true;
    return false;
}

/// The name of the run: the command, or the program alone.
std::string nameOf(const std::vector<std::string>& command, bool programOnly)
{
    constexpr std::size_t kMostName = 80;
    const std::string line =
        programOnly ? fs::path(command.front()).filename().string() : record::maskedCommandLine(command);
    return exchange::validUtf8(line.substr(0, kMostName));
}

/// Joins what the processes wrote. The program has ended: an error is printed, and the working files stay.
void join(const fs::path& folder, const fs::path& output, const std::string& name)
{
    try {
        if (fs::is_empty(folder)) {
            fs::remove(folder);
            std::cerr
                << "tilescope record: the program used neither CUDA, NVTX nor PyTorch's modules; nothing "
                   "was recorded"
                << std::endl;
            return;
        }
        const std::array named{folder};
        const exchange::ImportResult joined =
            exchange::importFiles(exchange::importableFiles(named), output, {}, name);
        fs::remove_all(folder);
        std::cerr << "tilescope record: run " << joined.run.value << " of "
                  << escapeForTerminal(output.string()) << std::endl;
    } catch (...) {
        std::cerr << "tilescope record: " << currentError().sentence() << "\ntilescope record: to try again: "
                  << "tilescope import " << shellWord(folder.string()) << " -o FILE" << std::endl;
    }
}

} // namespace

int recordCommand(int argc, char** argv)
{
    const auto end =
        std::find_if(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
    std::string output;
    bool noModules = false;
    bool noCommandLine = false;
    Arguments arguments(
        "record [-o FILE] -- COMMAND…",
        "Runs a program and records its GPU kernels, its NVTX ranges and, of PyTorch, its modules "
        "and steps. The\nprogram is not changed and its exit status is passed on. All of its "
        "processes become one run.",
        "tilescope record -o t.tscope -- python train.py");
    arguments.output("-o,--output", output,
                     "the .tscope file to add to; default: tilescope-DATE-TIME.tscope");
    arguments.flag("--no-modules", noModules, "do not record PyTorch's modules, optimizers and data loaders");
    arguments.flag("--no-command-line", noCommandLine, "do not store the command lines of the processes");
    if (!arguments.parse(static_cast<int>(end - argv), argv))
        return 0;
    const std::vector<std::string> command(end == argv + argc ? end : end + 1, argv + argc);
    if (command.empty())
        throw Error{.what = "no command given",
                    .where = "tilescope record",
                    .mend = "write it behind two dashes: tilescope record -- python train.py"};
    requireNoOtherTool();
    const fs::path library = recorderLibrary();
    const fs::path file = output.empty() ? newFileName() : fs::path(output);
    if (output.empty())
        std::cerr << "tilescope record: recording into " << file.string() << std::endl;
    if (!noModules && ignoresBootstrap(command))
        std::cerr << "tilescope record: Python's options -I, -E and -S keep modules from being recorded"
                  << std::endl;

    const fs::path folder = makeWorkingFolder(file);
    RecordedProgram program(command);
    program.set(kCudaVariable, library.string());
    program.set(kNvtxVariable, library.string());
    program.set("TILESCOPE_RECORD_FOLDER", folder.string());
    program.set("TILESCOPE_RECORD_CLOCK", hostClock());
    if (noCommandLine)
        program.set("TILESCOPE_RECORD_NO_COMMAND_LINE", "1");
    if (!noModules) {
        const char* path = std::getenv("PYTHONPATH");
        const std::string bootstrap = fs::canonical(resourcesDirectory() / "record").string();
        program.set("PYTHONPATH", path && *path ? bootstrap + ":" + path : bootstrap);
    }
    try {
        program.run();
    } catch (...) {
        std::error_code ignored;
        fs::remove_all(folder, ignored);
        throw;
    }
    join(folder, file, nameOf(command, noCommandLine));
    return program.pass();
}

} // namespace tilescope::cli
