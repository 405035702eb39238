#include "core/engine/lm/compiled_model.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/paths.h"
#include "core/base/sha256.h"
#include "core/engine/common/device.h"
#include "core/engine/common/failure.h"
#include "core/engine/common/program_run.h"
#include "core/engine/lm/lm.h"
#include "core/model/attention_backend.h"
#include "core/model/text.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h> // at::get_cpu_capability
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/util/StringUtil.h>
#include <torch/version.h>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tilescope::engine {

namespace fs = std::filesystem;

namespace {

constexpr int kCannot = 77; // exit status of export.py if it cannot compile on this machine

fs::path exporter()
{
    return resourcesDirectory() / "inductor" / "export.py";
}

fs::path noteOf(const fs::path& package)
{
    return fs::path(package).replace_extension(".note");
}

/// The file with the compiler's output; it exists only if the compiler failed.
fs::path logOf(const fs::path& package)
{
    return fs::path(package).replace_extension(".log");
}

/// Repeats checks of spec files, because not all specs come from files.
void requireCompilable(const ExperimentSpec& spec)
{
    if (spec.checkpointing.kind != Checkpointing::Kind::None)
        throw Unsupported{
            c10::str("TorchInductor chooses itself what it recomputes, so compile: inductor does not "
                     "support checkpointing: ",
                     toText(spec.checkpointing))};
    if (spec.precision == Precision::Fp32x6)
        throw Unsupported{
            "compile: inductor has the products of LibTorch and does not support precision: fp32x6"};
    if (!traitsOf(spec.backend).inductorCompiles)
        throw Unsupported{c10::str("compile: inductor compiles attention too and does not support backend: ",
                                   wordOf(spec.backend))};
}

/// The spec that the exporter reads. Values that do not affect the package are fixed, so that specs share a
/// package.
std::string exportSpec(const ExperimentSpec& spec, const Device& device)
{
    const bool hasBackward = spec.mode != Mode::Forward;
    std::ostringstream json;
    json << R"({"torch": ")" << TORCH_VERSION << R"(", "device": ")" << (device.isCuda() ? "cuda" : "cpu")
         << R"(", "threads": )" << (device.isCuda() ? 1 : at::get_num_threads()) << R"(, "batch": )"
         << spec.batch << R"(, "context": )" << spec.context << R"(, "vocab": )" << spec.vocab
         << R"(, "d_model": )" << spec.dModel << R"(, "d_ff": )" << spec.dFf << R"(, "layers": )"
         << spec.layers << R"(, "heads": )" << spec.heads << R"(, "norm_epsilon": )" << kNormEpsilon
         << R"(, "precision": ")" << wordOf(spec.precision) << R"(", "backend": ")" << wordOf(spec.backend)
         << R"(", "loss": ")" << (hasBackward ? wordOf(spec.loss) : "") << R"(", "backward": )"
         << (hasBackward ? "true" : "false") << R"(, "deterministic": )"
         << (spec.deterministic ? "true" : "false") << '}';
    return json.str();
}

/// The properties of the device that generated code depends on.
std::string architectureOf(const Device& device)
{
    if (device.isCuda()) {
        const cudaDeviceProp& gpu = *at::cuda::getDeviceProperties(device.torch().index());
        return c10::str(gpu.name, " ", gpu.major, ".", gpu.minor);
    }
    std::ifstream processors("/proc/cpuinfo");
    for (std::string line; std::getline(processors, line);)
        if (line.starts_with("flags"))
            return line;
    return at::get_cpu_capability();
}

fs::path cacheFolder()
{
    const fs::path cache = userCacheDirectory();
    if (cache.empty())
        throw Unsupported{"compiled models have no place: neither XDG_CACHE_HOME nor HOME is set"};
    const fs::path folder = cache / "inductor";
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (!failed)
        fs::permissions(folder, fs::perms::owner_all, failed);
    if (failed)
        throw Unsupported{c10::str("compiled models cannot be stored: ", folder.string(), ": ",
                                   failed.message(), "; set XDG_CACHE_HOME to a folder that you can write")};
    return folder;
}

/// Whether the package exists. Throws if another user can change it, because a package is a program.
bool isThere(const fs::path& package)
{
    struct stat found {};
    if (lstat(package.c_str(), &found) != 0)
        return false;
    if (S_ISREG(found.st_mode) && found.st_uid == geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return true;
    throw Error{.what = "is a program that others can change, so it is not loaded",
                .where = package.string(),
                .remedy = "remove it; it is made again",
                .kind = ErrorKind::Failure};
}

/// The Python of TILESCOPE_PYTHON, the Python whose site-packages contain LibTorch, or python3.
std::string pythonOfTorch()
{
    if (const char* named = std::getenv("TILESCOPE_PYTHON"); named && *named)
        return named;
    Dl_info library{};
    if (dladdr(reinterpret_cast<void*>(&at::get_cpu_capability), &library) != 0 && library.dli_fname) {
        // …/bin/python3 and …/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so
        std::error_code none;
        fs::path root = fs::weakly_canonical(library.dli_fname, none);
        for (int i = 0; i < 6; ++i)
            root = root.parent_path();
        if (const fs::path python = root / "bin/python3"; fs::exists(python, none))
            return python.string();
    }
    return "python3";
}

[[noreturn]] void refuse(const ProgramEnd& end, const fs::path& log)
{
    if (end.code == kNotStarted)
        throw Unsupported{c10::str("this model is not compiled yet, and ", end.lastLine,
                                   "; name a Python with torch ", TORCH_VERSION,
                                   " in TILESCOPE_PYTHON, then run tilescope compile SPEC")};
    if (end.code == kCannot)
        throw Unsupported{c10::str("this model is not compiled yet, and ", end.lastLine,
                                   ", then run tilescope compile SPEC")};
    throw Error{.what = c10::str("TorchInductor cannot compile this model (", condensed(end.lastLine), ")"),
                .where = "compile: inductor",
                .remedy = c10::str("the compiler's output is in ", log.string()),
                .kind = ErrorKind::Failure};
}

std::vector<EnvironmentEntry> timed(std::chrono::steady_clock::duration duration)
{
    return {{kCompileTime, c10::str(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()),
             "ms"}};
}

void make(const std::string& spec, const CompiledModel& model, const std::stop_token& stop)
{
    const auto began = std::chrono::steady_clock::now();
    const TemporaryPath folder(model.package, TemporaryPath::Kind::Folder);
    const fs::path made = folder.path() / "made.pt2";
    const fs::path output = folder.path() / "output";
    const auto end = runProgram({pythonOfTorch(), "-B", exporter().string(), spec, made.string()},
                                {{"TORCHINDUCTOR_CACHE_DIR", (folder.path() / "inductor").string()},
                                 {"TRITON_CACHE_DIR", (folder.path() / "triton").string()},
                                 {"TMPDIR", folder.path().string()}},
                                output, stop);
    if (!end)
        return;
    std::error_code ignored;
    if (end->code != 0) {
        fs::rename(output, logOf(model.package), ignored);
        refuse(*end, logOf(model.package));
    }
    fs::remove(logOf(model.package), ignored);
    fs::permissions(made, fs::perms::owner_read | fs::perms::owner_write);
    moveIntoPlace(made, model.package);
    model.store(timed(std::chrono::steady_clock::now() - began));
}

} // namespace

std::vector<EnvironmentEntry> CompiledModel::notes() const
{
    std::vector<EnvironmentEntry> notes;
    std::ifstream stream(noteOf(package));
    for (std::string line; std::getline(stream, line);) {
        std::istringstream words(line);
        EnvironmentEntry note;
        if (words >> note.key >> note.value) {
            words >> note.unit;
            notes.push_back(std::move(note));
        }
    }
    return notes;
}

void CompiledModel::store(const std::vector<EnvironmentEntry>& notes) const
{
    std::string text;
    for (const EnvironmentEntry& note : notes)
        text += note.key + ' ' + note.value + ' ' + note.unit + '\n';
    try {
        writeOutput(noteOf(package), text);
        fs::permissions(noteOf(package), fs::perms::owner_read | fs::perms::owner_write);
    } catch (const Error&) {
    } catch (const fs::filesystem_error&) {
    }
}

void CompiledModel::remove() const
{
    std::error_code ignored;
    fs::remove(package, ignored);
    fs::remove(noteOf(package), ignored);
}

CompiledModel compiledModel(const ExperimentSpec& spec, const Device& device, const std::stop_token& stop,
                            const std::function<void()>& onCompile)
{
    requireCompilable(spec);
    const std::string json = exportSpec(spec, device);
    Sha256 key;
    for (const std::string& part : {json, architectureOf(device), installedText(exporter())})
        key.add(part + '\n');
    const CompiledModel model{.package = cacheFolder() / (key.digest() + ".pt2")};
    if (!isThere(model.package)) {
        if (onCompile)
            onCompile();
        make(json, model, stop);
    }
    return model;
}

} // namespace tilescope::engine
