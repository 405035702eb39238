#include "core/analysis/kernels/disassembly.h"

#include "core/analysis/kernels/cubin.h"
#include "core/base/error.h"
#include "core/base/file_descriptor.h"
#include "core/base/search_path.h"
#include "core/base/spawn_words.h"
#include "core/base/temporary_path.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tilescope::analysis {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
using Texts = std::map<std::uint64_t, std::string>; ///< of a kernel's instructions, by offset

bool isProgram(const fs::path& file)
{
    std::error_code ignored;
    return fs::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
}

/// nvdisasm of the wheels in an installation of Python.
fs::path inPython(const fs::path& prefix)
{
    constexpr std::array kFolders{"triton/backends/nvidia/bin", "nvidia/cu13/bin", "nvidia/cuda_nvcc/bin"};
    std::error_code error;
    for (const fs::directory_entry& library : fs::directory_iterator(prefix / "lib", error)) {
        if (!library.path().filename().string().starts_with("python3"))
            continue;
        for (const char* packages : {"site-packages", "dist-packages"})
            for (const char* folder : kFolders)
                if (const fs::path file = library.path() / packages / folder / "nvdisasm"; isProgram(file))
                    return file;
    }
    return {};
}

/// Runs nvdisasm on some kernels of a module.
/// \return  whether it ended well before `until`
bool disassemble(const fs::path& nvdisasm, const fs::path& cubin, const std::string& indices,
                 const fs::path& output, Clock::time_point until)
{
    std::vector<std::string> words{nvdisasm.string(), "-c", "-fun", indices, cubin.string()};
    std::vector<std::string> variables = environmentWith({});
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t pid = 0;
    const int error = posix_spawn(&pid, words.front().c_str(), &files, nullptr, pointersTo(words).data(),
                                  pointersTo(variables).data());
    posix_spawn_file_actions_destroy(&files);
    if (error != 0)
        return false;
    int status = 0;
    for (;;) {
        const pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid)
            return status == 0; // it exited, with success
        if (ended < 0 && errno != EINTR)
            return false;
        if (Clock::now() >= until) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

/// "/*0110*/   HFMA2.MMA R4, -RZ, RZ, 2, 0 ;"
bool parseInstruction(std::string_view line, std::uint64_t& offset, std::string& text)
{
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || !line.substr(begin).starts_with("/*"))
        return false;
    line.remove_prefix(begin + 2);
    const char* const end = line.data() + line.size();
    const auto [next, error] = std::from_chars(line.data(), end, offset, 16);
    if (error != std::errc() ||
        !std::string_view(next, static_cast<std::size_t>(end - next)).starts_with("*/"))
        return false;
    std::string_view rest(next + 2, static_cast<std::size_t>(end - next) - 2);
    rest = rest.substr(0, rest.rfind(';'));
    const std::size_t from = rest.find_first_not_of(" \t");
    const std::size_t until = rest.find_last_not_of(" \t");
    if (from == std::string_view::npos)
        return false;
    text = rest.substr(from, until - from + 1);
    return true;
}

/// Reads what nvdisasm wrote, by kernel.
std::map<std::string, Texts> readTexts(const fs::path& output)
{
    constexpr std::string_view kSection = ".section\t";
    constexpr std::string_view kCode = ".text.";
    std::map<std::string, Texts> all;
    Texts* kernel = nullptr;
    std::ifstream in(output);
    for (std::string line; std::getline(in, line);) {
        if (const std::size_t at = line.find(kSection); at < 4) {
            const std::size_t name = line.find(kCode, at);
            kernel = name == std::string::npos
                         ? nullptr
                         : &all[line.substr(name + kCode.size(), line.find(',', name) - name - kCode.size())];
            continue;
        }
        std::uint64_t offset = 0;
        std::string text;
        if (kernel && parseInstruction(line, offset, text))
            kernel->emplace(offset, std::move(text));
    }
    return all;
}

} // namespace

fs::path findNvdisasm()
{
    if (const fs::path file = findProgram("nvdisasm"); !file.empty())
        return file;
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* folder = std::getenv(variable); folder && *folder == '/')
            if (const fs::path file = fs::path(folder) / "bin/nvdisasm"; isProgram(file))
                return file;
    if (const fs::path file = "/usr/local/cuda/bin/nvdisasm"; isProgram(file))
        return file;
    std::vector<fs::path> prefixes;
    for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
        if (const char* folder = std::getenv(variable); folder && *folder == '/')
            prefixes.emplace_back(folder);
    for (const char* name : {"python3", "python"})
        if (const fs::path program = findProgram(name); !program.empty())
            prefixes.push_back(program.parent_path().parent_path());
    prefixes.emplace_back("/usr/local");
    prefixes.emplace_back("/usr");
    if (const char* home = std::getenv("HOME"); home && *home == '/')
        prefixes.push_back(fs::path(home) / ".local");
    for (const fs::path& prefix : prefixes)
        if (const fs::path file = inPython(prefix); !file.empty())
            return file;
    return {};
}

void addLines(KernelSamples& samples)
{
    std::map<std::uint64_t, Cubin> cubins;
    for (const KernelCode& code : samples.code)
        cubins.try_emplace(code.cubin, code.code);
    for (SampledInstruction& each : samples.instructions) {
        const SampledKernel& kernel = samples.kernels[each.kernel];
        const auto cubin = cubins.find(kernel.cubin);
        if (cubin == cubins.end())
            continue;
        if (auto place = cubin->second.placeOf(kernel.symbol, each.offset)) {
            each.line = std::move(place->line);
            each.caller = std::move(place->caller);
            each.inlined = std::move(place->inlined);
        }
    }
}

bool addInstructions(KernelSamples& samples, const fs::path& nvdisasm, std::chrono::milliseconds longest)
{
    const Clock::time_point until = Clock::now() + longest;
    std::map<std::uint64_t, std::set<std::string>> wanted; // symbols by module
    for (const SampledInstruction& each : samples.instructions)
        if (each.text.empty())
            wanted[samples.kernels[each.kernel].cubin].insert(samples.kernels[each.kernel].symbol);
    if (nvdisasm.empty())
        return wanted.empty();
    fs::path made;
    try {
        made = newTemporaryFolder("code");
    } catch (const Error&) {
        return false; // the instructions stay without texts, as where there is no nvdisasm
    }
    const TemporaryPath folder(made);
    std::map<std::pair<std::uint64_t, std::string>, Texts> texts;
    bool isWhole = true;
    for (const KernelCode& code : samples.code) {
        const auto symbols = wanted.find(code.cubin);
        if (symbols == wanted.end())
            continue;
        const Cubin cubin(code.code);
        std::string indices;
        for (const std::string& symbol : symbols->second)
            if (const auto index = cubin.indexOf(symbol))
                indices += (indices.empty() ? "" : ",") + std::to_string(*index);
        if (indices.empty())
            continue;
        const fs::path file = folder.path() / "module.cubin";
        std::ofstream(file, std::ios::binary) << code.code;
        const fs::path output = folder.path() / "text";
        if (Clock::now() >= until || !disassemble(nvdisasm, file, indices, output, until)) {
            isWhole = false;
            continue;
        }
        for (auto& [symbol, found] : readTexts(output))
            texts[{code.cubin, symbol}] = std::move(found);
    }
    for (SampledInstruction& each : samples.instructions) {
        const SampledKernel& kernel = samples.kernels[each.kernel];
        const auto found = texts.find({kernel.cubin, kernel.symbol});
        if (!each.text.empty() || found == texts.end())
            continue;
        if (const auto text = found->second.find(each.offset); text != found->second.end())
            each.text = text->second;
    }
    return isWhole;
}

} // namespace tilescope::analysis
