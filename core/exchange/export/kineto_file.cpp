#include "core/exchange/export/kineto_file.h"

#include <fmt/format.h>

#include <set>
#include <string>

namespace tilescope::exchange {

namespace fs = std::filesystem;

KinetoFile::KinetoFile(const fs::path& path, std::span<const fs::path> inputs) : output_(path, inputs)
{
    if (path.extension() == ".gz")
        zip_.emplace(output_.stream());
}

void KinetoFile::text(std::string_view text)
{
    output_.write([&](std::ostream& plain) { (zip_ ? zip_->stream() : plain) << text; });
}

void KinetoFile::event(std::string_view json)
{
    output_.write(
        [&](std::ostream& plain) { (zip_ ? zip_->stream() : plain) << (isFirst_ ? "\n" : ",\n") << json; });
    isFirst_ = false;
}

void KinetoFile::finish()
{
    if (zip_)
        output_.write([&](std::ostream&) { zip_->finish(); });
}

void KinetoFile::commit()
{
    output_.commit();
}

std::vector<fs::path> kinetoPaths(const fs::path& path, const ExportTopology& topology)
{
    const std::vector<ExportedProcess>& processes = topology.processes();
    if (processes.size() == 1)
        return {path};
    std::set<std::int32_t> ranks;
    for (const ExportedProcess& process : processes)
        if (process.rank)
            ranks.insert(*process.rank);
    const bool haveRanks = ranks.size() == processes.size();
    std::string name = path.filename().string();
    std::string ending;
    for (const std::string_view part : {".gz", ".json"})
        if (name.ends_with(part) && name.size() > part.size()) {
            ending.insert(0, part);
            name.resize(name.size() - part.size());
        }
    std::vector<fs::path> paths;
    for (std::size_t i = 0; i < processes.size(); ++i)
        paths.push_back(path.parent_path() /
                        (haveRanks ? fmt::format("{}_rank{}{}", name, *processes[i].rank, ending)
                                   : fmt::format("{}_process{}{}", name, i, ending)));
    return paths;
}

} // namespace tilescope::exchange
