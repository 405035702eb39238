#include "core/query/kernels/kernel_sources.h"

#include "core/base/sha256.h"
#include "core/store/kernel_sample_reader.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace tilescope::query {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargest = 8 << 20; // bytes

std::vector<std::string> linesOf(const std::string& text)
{
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line); line.clear()) {
        if (line.ends_with('\r'))
            line.pop_back();
        lines.push_back(std::move(line));
    }
    return lines;
}

KernelSourceFile read(const KernelSource& source)
{
    KernelSourceFile file{.isRecorded = !source.text.empty()};
    std::error_code error;
    const std::uintmax_t size = fs::file_size(source.file, error);
    std::string text;
    if (!error && size <= kLargest) {
        std::ifstream in(source.file, std::ios::binary);
        text.assign(std::istreambuf_iterator<char>(in), {});
        file.isOnDisk = !source.digest.empty() && sha256(text) == source.digest;
    }
    if (file.isRecorded)
        file.lines = linesOf(source.text);
    else if (file.isOnDisk)
        file.lines = linesOf(text);
    else if (error)
        file.why = source.file + " is not on this machine: record with --sources to keep its text.";
    else
        file.why =
            source.file +
            " is not as it was when the kernels were compiled: record with --sources to keep its text.";
    return file;
}

} // namespace

std::string KernelSourceFile::line(std::uint32_t number) const
{
    return number > 0 && number <= lines.size() ? lines[number - 1] : std::string();
}

std::map<std::string, KernelSourceFile> kernelSources(const store::RunReader& reader, RunId run)
{
    std::map<std::string, KernelSourceFile> files;
    for (const KernelSource& source : store::kernelSamples(reader.file(), run, true).sources)
        files.emplace(source.file, read(source));
    return files;
}

} // namespace tilescope::query
