#include "core/config/spec_file.h"

#include "core/base/error.h"
#include "core/base/file_descriptor.h"
#include "core/base/input_file.h"
#include "core/config/spec_document.h"
#include "core/config/utf8.h"
#include "core/config/yaml_tree.h"
#include "core/model/text.h"

#include <fmt/format.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilescope::config {

namespace {

[[noreturn]] void refuseFile(const std::filesystem::path& file, std::string what, std::string remedy)
{
    throw Error{.what = std::move(what),
                .where = madePrintable(file.string(), PATH_MAX),
                .remedy = std::move(remedy)};
}

/// Reads to the end, but at most one block beyond the maximum size of a spec.
std::string readAll(int descriptor, const std::filesystem::path& name)
{
    std::string text;
    std::vector<char> buffer(65536); // the stack may be small
    while (text.size() <= kMaximumYamlBytes) {
        const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            refuseFile(name, std::string("cannot be read: ") + std::strerror(errno), "check the disk");
        if (got == 0)
            break;
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
}

/// The content of the file, limited like readAll().
std::string readBounded(const std::filesystem::path& file)
{
    const FileDescriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!descriptor || ::fstat(descriptor.get(), &status) != 0) {
        if (errno == ENOENT)
            refuseFile(file, "no such file", "name a spec, or study:NAME for a study of Tilescope");
        refuseFile(file, std::string("cannot be read: ") + std::strerror(errno), remedyForUnreadable(errno));
    }
    if (S_ISDIR(status.st_mode))
        refuseFile(file, "is a folder, not a spec", "name a YAML file in it");
    if (S_ISREG(status.st_mode) && static_cast<std::size_t>(status.st_size) > kMaximumYamlBytes)
        refuseFile(
            file,
            fmt::format("too large for a spec ({:.1f} MiB)", static_cast<double>(status.st_size) / (1 << 20)),
            "at most 4 MiB; write a sweep as one list per key, not as every point");
    return readAll(descriptor.get(), file);
}

void applyOverrides(SpecDocument& document, const Overrides& overrides, std::string_view prefix)
{
    for (const auto& [key, value] : overrides)
        document.set(key, value, std::string(prefix) + madePrintable(key, 80));
}

} // namespace

std::vector<ExperimentSpec> loadSpecFile(const std::filesystem::path& file, const Overrides& overrides)
{
    SpecDocument document = loadDocument(file);
    applyOverrides(document, overrides, "--set ");
    return expand(document);
}

std::vector<ExperimentSpec> loadSpecFromInput(const Overrides& overrides)
{
    const std::string origin = "<stdin>";
    return parseSpec(readAll(STDIN_FILENO, origin), origin, overrides);
}

SpecDocument loadDocument(const std::filesystem::path& file)
{
    // A file name may contain terminal control sequences.
    return parseDocument(readBounded(file), madePrintable(file.string(), PATH_MAX));
}

std::vector<ExperimentSpec> parseSpec(std::string_view yaml, std::string_view origin,
                                      const Overrides& overrides)
{
    SpecDocument document = parseDocument(yaml, origin);
    applyOverrides(document, overrides, "--set ");
    return expand(document);
}

std::vector<ExperimentSpec> specFromOverrides(Workload workload, const Overrides& overrides)
{
    SpecDocument document;
    document.set("workload", wordOf(workload));
    applyOverrides(document, overrides, "--");
    return expand(document);
}

} // namespace tilescope::config
