#include "core/store/rows/string_map.h"

#include <algorithm>
#include <string>

namespace tilescope::store {

std::size_t LaunchHash::operator()(const LaunchConfig& launch) const noexcept
{
    RowDigest digest;
    for (const auto* sizes : {&launch.grid, &launch.block, &launch.cluster}) {
        digest.add(static_cast<std::int64_t>(std::uint64_t{(*sizes)[0]} << 32 | (*sizes)[1]));
        digest.add(std::int64_t{(*sizes)[2]});
    }
    digest.add(
        static_cast<std::int64_t>(std::uint64_t{launch.registersPerThread} << 32 | launch.staticShared));
    digest.add(static_cast<std::int64_t>(std::uint64_t{launch.dynamicShared} << 32 | launch.localPerThread));
    return digest.value();
}

StringMap::StringMap(SQLite::Database& database, ChunkWriter& chunks, const StringTable& strings)
    : strings_(strings), textIds_(database),
      findKernelName_(database, "select 1 from kernel_name where id = ?"),
      insertText_(database, chunks, "string", {"id", "text"}),
      insertKernelName_(database, chunks, "kernel_name", {"id", "short"}),
      insertLaunch_(database, chunks, "launch",
                    {"id", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "cluster_x",
                     "cluster_y", "cluster_z", "registers", "static_shared", "dynamic_shared", "local"}),
      database_(database)
{
    // First of all, so that the words get the smallest ids.
    for (std::size_t set = 0; set < kWordSets; ++set) {
        const auto words = wordsOf(static_cast<WordSet>(set));
        for (std::size_t value = 0; value < words.size(); ++value)
            if (!words[value].empty())
                words_[set][value] = intern(words[value]);
    }
    loadLaunches();
}

void StringMap::loadLaunches()
{
    SQLite::Statement rows(database_, "select * from launch");
    while (rows.executeStep()) {
        const auto number = [&rows](int column) { return rows.getColumn(column).getUInt(); };
        launches_.emplace(LaunchConfig{{number(1), number(2), number(3)},
                                       {number(4), number(5), number(6)},
                                       {number(7), number(8), number(9)},
                                       number(10),
                                       number(11),
                                       number(12),
                                       number(13)},
                          rows.getColumn(0).getInt64());
    }
}

std::int64_t StringMap::intern(std::string_view text)
{
    if (const auto known = textIds_.find(text))
        return *known;
    const std::int64_t id = insertText_.insert({}, {text});
    textIds_.add(text, id);
    return id;
}

std::int64_t StringMap::internKernel(std::string_view text)
{
    const std::int64_t id = intern(text);
    addKernelName(id, text);
    return id;
}

std::int64_t StringMap::text(StringId id)
{
    if (!id)
        return kNull;
    if (id.value < ids_.size() && ids_[id.value] != 0)
        return ids_[id.value];
    return addText(id);
}

std::int64_t StringMap::addText(StringId id)
{
    const std::int64_t ours = intern(strings_.text(id));
    if (id.value >= ids_.size()) {
        ids_.resize(std::max<std::size_t>(id.value + 1, 2 * ids_.size()));
        hasShortName_.resize(ids_.size());
    }
    ids_[id.value] = ours;
    const MutexLock lock(givenMutex_);
    given_.emplace(ours, id);
    return ours;
}

std::optional<std::string_view> StringMap::givenText(std::int64_t id) const
{
    const MutexLock lock(givenMutex_);
    const auto found = given_.find(id);
    return found == given_.end() ? std::nullopt : std::optional(strings_.text(found->second));
}

std::int64_t StringMap::kernelName(StringId id)
{
    const std::int64_t ours = text(id);
    if (ours != kNull && !hasShortName_[id.value]) {
        addKernelName(ours, strings_.text(id));
        hasShortName_[id.value] = true;
    }
    return ours;
}

void StringMap::addKernelName(std::int64_t id, std::string_view text)
{
    findKernelName_.bind(1, id);
    const bool known = findKernelName_.executeStep();
    findKernelName_.reset();
    if (!known)
        insertKernelName_.insertAs(id, {}, {intern(shortKernelName(text))});
}

std::int64_t StringMap::launch(const LaunchConfig& launch)
{
    const auto [place, isNew] = launches_.try_emplace(launch, 0);
    if (!isNew)
        return place->second;
    const auto cell = [](std::uint32_t value) { return Cell(static_cast<std::int64_t>(value)); };
    place->second = insertLaunch_.insert(
        {}, {cell(launch.grid[0]), cell(launch.grid[1]), cell(launch.grid[2]), cell(launch.block[0]),
             cell(launch.block[1]), cell(launch.block[2]), cell(launch.cluster[0]), cell(launch.cluster[1]),
             cell(launch.cluster[2]), cell(launch.registersPerThread), cell(launch.staticShared),
             cell(launch.dynamicShared), cell(launch.localPerThread)});
    return place->second;
}

} // namespace tilescope::store
